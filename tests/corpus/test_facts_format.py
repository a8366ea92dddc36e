"""Every recording has its facts beside it, in the one format that `tests/recordings/README.md` describes."""

import json
from pathlib import Path

import pytest

FOLDER = Path(__file__).resolve().parents[1] / "recordings"
FACTS = sorted(FOLDER.glob("*.facts.json"))

TEXT = (str, type(None))
NUMBER = (int, float, type(None))
ANYTHING = (object,)

RUN = {
    "root": (str,),
    "query": TEXT,
    "answer": TEXT,
    "agents": (list,),
    "tool_calls": (list,),
    "llm_calls": (int, type(None)),
    "models": (list,),
    "tokens": (dict, type(None)),
    "cost_usd": NUMBER,
    "retrievals": (list,),
    "handoffs": (list,),
    "tool_definitions": (list, type(None)),
    "session_id": TEXT,
    "user_id": TEXT,
}
TOOL_CALL = {
    "name": (str,),
    "arguments": ANYTHING,
    "result": ANYTHING,
    "status": (str,),
    "control": (bool,),
    "origin": (str,),
    "call_id": TEXT,
}
TOKENS = dict.fromkeys(("input", "output", "cache_read", "cache_write", "reasoning"), (int, type(None)))
RETRIEVAL = {"query": TEXT, "documents": (list,)}
DOCUMENT = {"id": TEXT, "score": NUMBER}
HANDOFF = {"from": TEXT, "to": TEXT}

STATUSES = {"ok", "error", "retry", "not_run", "unknown"}
ORIGINS = {"span", "message"}
# What a run should tell; where it does not, `not_in_spans` says why.
EXPLAINED = ("query", "answer", "agents", "llm_calls", "models", "tokens", "tool_definitions", "session_id")
EXPLAINED_OF_CALLS = ("arguments", "result", "call_id")
REASONS = {*RUN, *(f"tool_calls.{key}" for key in TOOL_CALL), "retrievals.query", "retrievals.documents"} - {"root"}


def unlike(where: str, value: object, *, shape: dict[str, tuple[type, ...]], part: bool = False) -> list[str]:
    """What is wrong with one object: keys that are missing or too many, values of another type."""
    if not isinstance(value, dict):
        return [f"{where} is no object"]
    wrong = [f"{where}.{key} is too many" for key in value if key not in shape]
    wrong += [f"{where}.{key} is missing" for key in shape if key not in value and not part]
    for key, types in shape.items():
        is_flag = isinstance(value.get(key), bool) and bool not in types and object not in types
        if key in value and (is_flag or not isinstance(value[key], types)):
            wrong.append(f"{where}.{key} is {type(value[key]).__name__}")
    return wrong


def unlike_run(where: str, run: dict, *, part: bool = False) -> list[str]:
    """What is wrong with one run; a part of a run may leave keys out."""
    wrong = unlike(where, run, shape=RUN, part=part)
    for name, shape in (("tool_calls", TOOL_CALL), ("retrievals", RETRIEVAL), ("handoffs", HANDOFF)):
        for at, item in enumerate(run.get(name, [])):
            wrong += unlike(f"{where}.{name}[{at}]", item, shape=shape)
    for call in run.get("tool_calls", []):
        wrong += [f"{where}: no status {call['status']!r}"] if call["status"] not in STATUSES else []
        wrong += [f"{where}: no origin {call['origin']!r}"] if call["origin"] not in ORIGINS else []
    for document in (document for retrieval in run.get("retrievals", []) for document in retrieval["documents"]):
        wrong += unlike(f"{where}.documents", document, shape=DOCUMENT)
    for name in ("agents", "models", "tool_definitions"):
        wrong += [f"{where}.{name} holds {item!r}" for item in run.get(name) or [] if not isinstance(item, str)]
    if run.get("tokens") is not None:
        wrong += unlike(f"{where}.tokens", run["tokens"], shape=TOKENS)
    return wrong


def unexplained(run: dict, *, reasons: dict[str, str]) -> list[str]:
    """The facts that are absent without a reason."""
    absent = [key for key in EXPLAINED if run[key] is None or (run[key] == [] and key in ("agents", "models"))]
    for key in EXPLAINED_OF_CALLS:
        absent += [f"tool_calls.{key}"] if any(call[key] is None for call in run["tool_calls"]) else []
    return [key for key in absent if key not in reasons]


def test_each_recording_has_its_facts() -> None:
    """A recording without facts, or facts without a recording, is an error."""
    recordings = {
        path.name.removesuffix(".json")
        for path in FOLDER.glob("*.json")
        if not path.name.endswith((".facts.json", ".logs.json"))
    }
    assert recordings == {path.name.removesuffix(".facts.json") for path in FACTS}
    assert recordings


@pytest.mark.parametrize("path", FACTS, ids=lambda path: path.name.removesuffix(".facts.json"))
def test_facts_have_the_format(path: Path) -> None:
    """The keys are exactly those of the format and every value has its type."""
    facts = json.loads(path.read_text(encoding="utf-8"))
    has_logs = path.with_name(path.name.replace(".facts.json", ".logs.json")).exists()
    expected = {"runs", "not_in_spans", "without_logs"} if has_logs else {"runs", "not_in_spans"}
    assert expected == set(facts)
    assert facts["runs"]
    wrong = [error for at, run in enumerate(facts["runs"]) for error in unlike_run(f"runs[{at}]", run)]
    if has_logs:
        other = dict(facts["without_logs"])
        reasons = other.pop("not_in_spans")
        wrong += [f"no such fact: {key!r}" for key in reasons if key not in REASONS]
        wrong += unlike_run("without_logs", other, part=True)
    nothing: list[str] = []
    assert nothing == wrong


@pytest.mark.parametrize("path", FACTS, ids=lambda path: path.name.removesuffix(".facts.json"))
def test_absent_facts_are_explained(path: Path) -> None:
    """A fact that the spans do not hold has a reason, and no reason is given for anything but a fact."""
    facts = json.loads(path.read_text(encoding="utf-8"))
    reasons = facts["not_in_spans"]
    strange = [key for key, reason in reasons.items() if key not in REASONS or not (isinstance(reason, str) and reason)]
    missing = [key for run in facts["runs"] for key in unexplained(run, reasons=reasons)]
    nothing: list[str] = []
    assert nothing == strange
    assert nothing == missing


def test_the_check_finds_what_it_looks_for() -> None:
    """A missing key, a strange key, a wrong type, an unknown status and an unexplained gap are all found."""
    run = json.loads(FACTS[0].read_text(encoding="utf-8"))["runs"][0]
    bad = {**run, "llm_calls": True, "query": None, "extra": 1}
    del bad["answer"]
    bad["tool_calls"] = [{**run["tool_calls"][0], "status": "fine"}]
    expected = ["r.extra is too many", "r.answer is missing", "r.llm_calls is bool", "r: no status 'fine'"]
    assert expected == unlike_run("r", bad)
    gap = ["query"]
    assert gap == unexplained({**run, "query": None, "session_id": "s", "tool_definitions": []}, reasons={})
