"""Chains that search and then ask a model: the filled prompt is not what the user asked."""

from __future__ import annotations

import json

import pytest

from spanwise.model.trace import Run
from tests.making import chat, run_of, span, user

QUESTION = "What is known of France's people?"
DOCUMENT = "INSEE estimates that 68.4 million people lived in France."
FILLED = f"Answer from this context:\n{DOCUMENT}\n\nQuestion: {QUESTION}"


def chain(*, asked: str, content: str | None = DOCUMENT, query: str | None = QUESTION, searched_at: int = 10) -> Run:
    """A run of a chain whose own span records no input; `content` is that of the document that was found."""
    document = {"id": "d1", "score": 0.9} if content is None else {"id": "d1", "content": content}
    found = {"gen_ai.operation.name": "retrieval", "gen_ai.retrieval.documents": json.dumps([document])}
    if query is not None:
        found["gen_ai.retrieval.query.text"] = query
    return run_of(
        span(1, name="chain", attributes={"gen_ai.operation.name": "invoke_workflow"}, end=999),
        span(searched_at, parent=1, name="retrieval", attributes=found, end=searched_at + 5),
        chat(50, parent=1, sent=[user(asked)]),
    )


@pytest.mark.parametrize(
    ("asked", "content", "query", "expected"),
    [
        (FILLED, DOCUMENT, QUESTION, QUESTION),
        (FILLED, None, QUESTION, QUESTION),
        (FILLED.replace("\n", " "), DOCUMENT, QUESTION, QUESTION),
        (FILLED, DOCUMENT, "population France", None),
        (FILLED, DOCUMENT, None, None),
        (QUESTION, DOCUMENT, QUESTION, QUESTION),
        (f"Be brief. {QUESTION}", None, QUESTION, f"Be brief. {QUESTION}"),
        ("Tell me of France.\nThanks.", DOCUMENT, "France", "Tell me of France.\nThanks."),
        ("Tell me of\nFrance", None, "France", "Tell me of\nFrance"),
    ],
)
def test_the_question_of_a_chain(asked: str, content: str | None, query: str | None, expected: str | None) -> None:
    """A prompt that holds a document, or a line that ends in what was searched for, is no question."""
    assert expected == chain(asked=asked, content=content, query=query).query


def test_a_search_after_the_model_was_asked() -> None:
    """What an agent searches for is the model's wording: the user's message stays the question."""
    assert FILLED == chain(asked=FILLED, searched_at=70).query


def test_the_chain_within() -> None:
    """Where the template hides the question, a chain within the run may record what it was called with."""
    found = {
        "gen_ai.operation.name": "retrieval",
        "gen_ai.retrieval.documents": json.dumps([{"id": "d1", "content": DOCUMENT}]),
    }
    given = {"traceloop.span.kind": "workflow", "traceloop.entity.input": json.dumps({"inputs": {"question": "Why?"}})}
    run = run_of(
        span(1, name="graph", attributes={"gen_ai.operation.name": "invoke_workflow"}, end=999),
        span(2, parent=1, name="graph.workflow", attributes=given, end=998),
        span(10, parent=2, name="retrieval", attributes=found, end=15),
        chat(50, parent=2, sent=[user(FILLED)]),
    )
    assert "Why?" == run.query


@pytest.mark.parametrize(("variable", "expected"), [(QUESTION, QUESTION), ("What else?", FILLED)])
def test_the_variables_of_a_template(variable: str, expected: str) -> None:
    """A model call that records its template's variables tells the question, if that stands in the prompt."""
    more = {"gen_ai.prompt.variable.question": variable}
    assert expected == run_of(chat(50, parent=None, sent=[user(FILLED)], **more)).query


def test_the_prompt_of_a_query_engine() -> None:
    """Where no search stands in the run, the question is taken out of LlamaIndex's own prompt."""
    line = "-" * 21
    filled = f"Context information is below.\n{line}\n{DOCUMENT}\n{line}\nUse it.\nQuery: {QUESTION}\nAnswer: "
    assert QUESTION == run_of(chat(1, parent=None, sent=[user(filled)])).query
    other = filled.removeprefix("Context")
    assert other == run_of(chat(1, parent=None, sent=[user(other)])).query
