"""The claims of an answer with their verdicts: a table for people, one object for programs."""

from __future__ import annotations

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from spanwise.grounding.answers import Judged, Verdicts
from spanwise.report.escapes import visible
from spanwise.report.terminal import print_table, say, shown

_STYLES = {"supported": "green", "unsupported": "yellow", "contradicted": "red", "not_checkable": "dim"}


def show_grounding(to: Console, said: Verdicts) -> None:
    """Print the verdict on each claim, and the score."""
    table = Table(box=box.ROUNDED, border_style="dim", header_style="dim")
    table.add_column("verdict", no_wrap=True)
    table.add_column("claim", overflow="fold", ratio=2)
    table.add_column("evidence", overflow="fold", ratio=3)
    for one in said.claims:
        table.add_row(
            Text(one.verdict.replace("_", " "), style=_STYLES[one.verdict]), Text(shown(one.claim)), _evidence(one)
        )
    if said.claims:
        print_table(to, table)
    value = "nothing to check" if said.value is None else f"grounding {said.value:.2f}"
    say(to, (value, "bold"))
    if said.more:
        say(to, (f"only the first {len(said.claims)} claims were judged", "yellow"))


def _evidence(one: Judged) -> Text:
    out = Text()
    if one.reason:
        out.append(f"{visible(one.reason)}\n" if one.quote else visible(one.reason))
    if one.quote:
        out.append(f"{visible(one.span_id)}: ", style="dim")
        out.append(shown(one.quote))
    return out


def to_grounded(said: Verdicts) -> dict[str, object]:
    """The score and the claims, with places in the answer and in the evidence."""
    return {
        "schema": "spanwise.ground/1",
        "value": said.value,
        "complete": not said.more,
        "claims": [
            {
                "claim": one.claim,
                "start": one.start,
                "end": one.end,
                "verdict": one.verdict,
                "score": round(one.score, 4),
                "reason": one.reason,
                "evidence": None
                if one.piece < 0
                else {"source": one.span_id, "quote": one.quote, "start": one.first, "end": one.last},
            }
            for one in said.claims
        ],
    }
