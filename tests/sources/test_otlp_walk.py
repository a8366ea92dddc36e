"""OTLP/JSON in the envelopes of others' APIs, and documents of which a part is not what it should be."""

from __future__ import annotations

import gzip
from typing import Any

import pytest

from spanwise.model.raw import RawSpan
from tests.sources.otlp import Outcome, dump, json_document, made

BEFORE, AFTER = made("before"), made("after")


def batches(document: dict[str, Any]) -> dict[str, Any]:
    """The document under the key of Tempo's first API."""
    return {"batches": document["resourceSpans"]}


@pytest.mark.parametrize(
    "document",
    [
        batches(json_document([BEFORE])),
        {"trace": json_document([BEFORE]), "metrics": {}, "status": "COMPLETE"},
        {"result": json_document([BEFORE])},
    ],
    ids=["Tempo", "Tempo 2", "Jaeger 3"],
)
@pytest.mark.parametrize("indent", [None, 2], ids=["line", "indented"])
def test_answers_of_query_apis_are_otlp(document: dict[str, Any], indent: int | None) -> None:
    """What Tempo's and Jaeger's APIs give is read as the document that it holds, one of them or one on each line."""
    outcome = Outcome(dump(document, document, indent=indent))
    assert (["before"] * 2, []) == (outcome.names, outcome.messages)


def test_an_envelope_within_an_envelope_is_none() -> None:
    """However deep such keys are nested, only the outermost leads to a document."""
    text = b'{"trace": ' * 5_000 + dump(json_document([BEFORE])).strip() + b"}" * 5_000
    outcome = Outcome(text)
    assert ([], ["made: this is not OTLP: it holds neither resourceSpans nor resourceLogs"]) == (
        outcome.names,
        outcome.messages,
    )


@pytest.mark.parametrize("attributes", [7, "text", True, 1e30])
def test_attributes_of_a_resource_that_are_no_list_are_left_out(attributes: object) -> None:
    """Spans are read whatever stands in the place of their resource's attributes, and it is counted."""
    document = json_document([BEFORE, AFTER])
    document["resourceSpans"][0]["resource"]["attributes"] = attributes
    outcome = Outcome(dump(document))
    assert (["before", "after"], []) == (outcome.names, outcome.messages)
    assert {"attributes of a resource that are no list: left out": 1} == outcome.tally.repairs
    assert [{}, {}] == [span.scope.resource for span in outcome.records if isinstance(span, RawSpan)]


@pytest.mark.parametrize("lost", [1, 40], ids=["checksum", "spans"])
def test_compressed_data_that_break_off_cost_only_what_comes_behind(lost: int) -> None:
    """Of a document whose compressed bytes end too early, all spans that were expanded are given, and one error."""
    whole = dump(json_document([made(f"span {number}") for number in range(40)]), indent=1)
    outcome = Outcome(gzip.compress(whole)[:-lost])
    assert outcome.names[:10] == [f"span {number}" for number in range(10)]
    assert ["the file ends in the middle of its gzip data"] == [error.rpartition(": ")[2] for error in outcome.messages]


def test_what_follows_compressed_data_costs_nothing_before_it() -> None:
    """Bytes behind the compressed document are an error, and the document is read."""
    outcome = Outcome(gzip.compress(dump(json_document([BEFORE]))) + b"leftover")
    assert (["before"], 1) == (outcome.names, len(outcome.messages))
