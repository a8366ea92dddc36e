"""What became of the results of tool calls."""

from __future__ import annotations

import json

import pytest

from spanwise.model.calls import Retrieval, Said, ToolCall
from spanwise.model.dataflow import flows_of
from spanwise.model.raw import RawSpan
from spanwise.model.trace import Run
from tests.making import agent, chat, run_of, says, span, tool, user


def run(*spans: RawSpan, query: str = "q", answer: str | None = "Nothing.") -> Run:
    """A run with a query and an answer."""
    fields = {"gen_ai.input.messages": json.dumps([user(query)])}
    if answer is not None:
        fields["gen_ai.output.messages"] = json.dumps([says(answer)])
    return run_of(agent(1, **fields), *spans)


def fate(result: object, answer: str | None, *, query: str = "q", arguments: object = None) -> tuple[str, str]:
    """What became of the result of one call, and the word that tells."""
    given = {"id": 1} if arguments is None else arguments
    told = run(tool(10, parent=1, arguments=given, result=result), query=query, answer=answer)
    (flow,) = flows_of(told, told.work)
    return flow.fate, flow.word


@pytest.mark.parametrize(
    ("result", "answer", "word"),
    [
        ("the Thermowell", "A thermowell.", "thermowell"),
        ({"city": "Rome", "name": "Anderson"}, "In Rome", "rome"),
        (68400000, "68.4 million", "684"),
        (6840000.0, "6,840,000 in all", "6840000"),
        (1082.6772, "about 1,083", "1083"),
        (0.8537, "85 %", "85"),
        ("3.996", "4.0 it is", "4"),
        ([100, 200], "200", "200"),
        ("order ORD-4711", "It is 4711.", "4711"),
        ("key a1b2", "a1b2", "a1b2"),
        ("line\nThermowell", "thermowell", "thermowell"),
        ("\u00c4rmelkanal", "\u00e4rmelkanal", "\u00e4rmelkanal"),
        ("\u5929\u6c1425", "25\u5ea6", "25"),
    ],
)
def test_read(result: object, answer: str, word: str) -> None:
    """Words and numbers are found again in another case and form."""
    assert ("read", word) == fate(result, answer)


@pytest.mark.parametrize(
    ("result", "answer"),
    [("the Thermowell", "A valve."), (4711, "4712"), ({"name": "Anderson"}, "Bob"), ("a\\b Thermowell", "x")],
)
def test_unread(result: object, answer: str) -> None:
    """Something telling was returned, and nothing of it is found again."""
    assert ("unread", "") == fate(result, answer)


@pytest.mark.parametrize(
    "result", ["ok", True, 7, {"status": "success"}, "no such row", "\u5929\u6c14\u5f88\u597d\u5929\u6c14\u5f88\u597d"]
)
def test_plain(result: object) -> None:
    """What holds nothing telling cannot be looked for, text without spaces between its words among it."""
    assert ("plain", "") == fate(result, "Some answer.")


def test_known_before() -> None:
    """What the query or the call itself said proves nothing; digits that the call passed in may come out again."""
    assert ("plain", "") == fate("thermowell", "thermowell", query="a thermowell?")
    assert ("plain", "") == fate("thermowell", "thermowell", arguments={"q": "thermowell"})
    assert ("plain", "") == fate(6840000, "no number", arguments={"x": "68.4 million"})
    assert ("unread", "") == fate("thermowell valve_99123", "thermowell", query="a thermowell?")


def test_telling_words_first() -> None:
    """Of several words found again the most telling one is named."""
    assert ("read", "thermowell") == fate("1 sort of thermowell", "1 thermowell")


def test_readers() -> None:
    """The nearest later call that has something of a result has read it; hand-overs and retrievals read too."""
    spans = [
        tool(10, parent=1, name="a", arguments={"x": 1}, result="alphabet"),
        tool(20, parent=1, name="b", arguments={"q": "alphabet"}, result="betatron"),
        span(
            30,
            parent=1,
            attributes={"gen_ai.operation.name": "retrieval", "gen_ai.retrieval.query.text": "betatron"},
        ),
        tool(40, parent=1, name="c", arguments={"q": "x"}, result="gammaray"),
        tool(50, parent=1, name="transfer_to_x", arguments={"about": "gammaray alphabet"}),
    ]
    told = run(*spans)
    readers = [flow.reader for flow in flows_of(told, told.work)]
    assert ["b", "betatron", "transfer_to_x"] == [
        reader.name if isinstance(reader, ToolCall) else reader.query if isinstance(reader, Retrieval) else ""
        for reader in readers
    ]


def test_messages() -> None:
    """What a model said after a call has read its result; the message that was said last is named."""
    spans = [
        tool(10, parent=1, name="a", arguments={"x": 1}, result="alphabet"),
        tool(11, parent=1, name="b", arguments={"x": 1}, result="betatron", end=60),
        chat(30, parent=1, got=[says("The alphabet and the betatron.")]),
        chat(70, parent=1, got=[says("Again the alphabet.")]),
    ]
    told = run(*spans)
    first, second = flows_of(told, told.work)
    assert ("read", "alphabet", "unread") == (first.fate, first.word, second.fate)
    assert isinstance(first.reader, Said)
    assert 70 == first.reader.start_ns


def test_messages_are_read_last() -> None:
    """No message is read for results that are found elsewhere, or hold nothing that could be found."""
    spans = [
        tool(10, parent=1, name="a", arguments={"x": 1}, result="thermowell"),
        tool(20, parent=1, name="b", arguments={"x": 1}, result="ok"),
        chat(30, parent=1, got=[says("x")]),
    ]
    told = run(*spans, answer="A thermowell.")
    assert ["read", "plain"] == [flow.fate for flow in flows_of(told, told.work)]
    assert "said" not in told.__dict__
    unread = run(*spans, answer="None.")
    assert ["unread", "plain"] == [flow.fate for flow in flows_of(unread, unread.work)]
    assert "said" in unread.__dict__


def test_messages_that_are_not_recorded() -> None:
    """A message that nobody recorded may have read what came before it; the last one is the answer, if there is one."""
    call = tool(10, parent=1, arguments={"x": 1}, result="alphabet")
    early, late, last = chat(2, parent=1), chat(30, parent=1), chat(50, parent=1)
    for spans, said in (((early, last), "unread"), ((early, late, last), "unknown"), ((late,), "unread")):
        told = run(call, *spans)
        assert [said] == [flow.fate for flow in flows_of(told, told.work)]
    told = run(call, last, answer=None)
    assert ["unknown"] == [flow.fate for flow in flows_of(told, told.work)]


def test_the_deaf_read_nothing() -> None:
    """The arguments of a deaf call prove no use."""
    spans = [
        tool(10, parent=1, name="a", arguments={"x": 1}, result="alphabet"),
        tool(20, parent=1, name="b", arguments={"q": "alphabet"}, result="ok"),
    ]
    told = run(*spans)
    assert ["read", "plain"] == [flow.fate for flow in flows_of(told, told.work)]
    assert ["unread"] == [flow.fate for flow in flows_of(told, told.work[:1], deaf={id(told.work[1])})]


def test_unknown() -> None:
    """Without the result, the answer or later arguments nothing can be told, unless something is found."""
    assert "unknown" == fate(None, "x")[0]
    assert "unknown" == fate("[REDACTED]", "x")[0]
    assert "unknown" == fate("thermowell", None)[0]
    assert "unknown" == fate("thermowell " + "x " * 10_000, "none")[0]
    cut = tool(10, parent=1, arguments={"id": 1})
    for answer, said in (("none", "unknown"), ("thermowell", "read")):
        cut.attributes = {**cut.attributes, "gen_ai.tool.call.result": '{"a": "thermowell, and mo'}
        told = run(cut, answer=answer)
        assert [said] == [flow.fate for flow in flows_of(told, told.work)]
    bare = [
        tool(10, parent=1, name="a", arguments={"x": 1}, result="alphabet"),
        tool(20, parent=1, name="b", result="x"),
    ]
    told = run(*bare)
    assert ["unknown", "plain"] == [flow.fate for flow in flows_of(told, told.work)]
    silent = span(20, parent=1, attributes={"gen_ai.operation.name": "retrieval"})
    told = run(bare[0], silent)
    assert ["unknown"] == [flow.fate for flow in flows_of(told, told.work)]


def test_values_of_any_kind() -> None:
    """Values that are no text are read as JSON, and what JSON does not know as nothing."""
    told = run(tool(10, parent=1, arguments={"id": 1}, result="x"), answer="thermowell")
    (call,) = told.work
    for raw, said in (({"a": "thermowell"}, "read"), ({"a": object()}, "plain"), ("\\ thermowell", "read")):
        call.raw_result = raw
        assert [said] == [flow.fate for flow in flows_of(told, [call])]
    call.memo, call.raw_result = None, {"a": "thermowell"}
    assert ["read"] == [flow.fate for flow in flows_of(told, [call])]
