"""A project of Langfuse behind its public API, as servers of today and those before list it."""

from __future__ import annotations

import base64
from datetime import datetime
from typing import Any

from tests.sinks.langfuse_server import Answer

START = 1_794_982_380
TRUNCATED = 200
GROUPS = {
    "basic": "name level statusMessage version environment bookmarked public userId sessionId isRootObservation",
    "time": "completionStartTime createdAt updatedAt",
    "io": "input output",
    "metadata": "metadata",
    "model": "model internalModelId modelParameters",
    "usage": "usageDetails costDetails totalCost usagePricingTierName",
    "prompt": "promptId promptName promptVersion",
    "metrics": "latency timeToFirstToken",
    "trace_context": "tags release traceName",
}
CORE = "id traceId startTime endTime projectId parentObservationId type"


def moment(second: float) -> str:
    """A time so many seconds after the project's first trace."""
    return datetime.fromtimestamp(START + second).astimezone().isoformat(timespec="milliseconds")


class Project:
    """Traces of an agent with two tools; each asks twice for the same thing."""

    def __init__(self, traces: int, *, every_s: float = 10.0) -> None:
        self.traces = [self._trace(number, number * every_s) for number in range(traces)]
        self.rows = [row for number in range(traces) for row in self._observations(number, number * every_s)]
        self.largest = 1_000
        """How many rows the server can give at once before it fails."""
        self.asked: list[tuple[str, dict[str, list[str]]]] = []
        self.has_v2 = True
        self.others: set[str] = set()
        """Traces whose row is missing."""

    def __call__(self, path: str, query: dict[str, list[str]]) -> Answer | None:
        """What the API says."""
        self.asked.append((path, query))
        if path == "/api/public/v2/observations" and self.has_v2:
            return self._v2(query)
        if path == "/api/public/observations":
            return self._numbered(self.rows, query, "startTime", "StartTime")
        if path == "/api/public/traces":
            known = [one for one in self.traces if one["id"] not in self.others]
            return self._numbered(known, query, "timestamp", "Timestamp")
        return None

    def _trace(self, number: int, second: float) -> dict[str, Any]:
        return {
            "id": f"{number + 1:032x}",
            "timestamp": moment(second),
            "name": "question",
            "input": "How tall is K2?",
            "output": "8611 m",
            "sessionId": f"s-{number % 3}",
            "userId": "u-1",
            "environment": "prod" if number % 2 else "dev",
            "tags": ["old"],
            "metadata": {},
            "public": False,
            "observations": [f"{number + 1:012x}{place:04x}" for place in range(4)],
            "scores": [],
        }

    def _observations(self, number: int, second: float) -> list[dict[str, Any]]:
        def row(place: int, kind: str, name: str, begin: float, end: float, **more: Any) -> dict[str, Any]:
            return {
                "id": f"{number + 1:012x}{place:04x}",
                "traceId": f"{number + 1:032x}",
                "projectId": "p",
                "parentObservationId": f"{number + 1:012x}0000" if place else None,
                "type": kind,
                "name": name,
                "startTime": moment(second + begin),
                "endTime": moment(second + end),
                "level": "DEFAULT",
                "environment": "prod" if number % 2 else "dev",
                "sessionId": f"s-{number % 3}",
                "userId": "u-1",
                "traceName": "question",
                "tags": ["old"],
                **more,
            }

        asked = {"input": '{"q": "K2"}', "output": "8611 m"}
        return [
            row(0, "AGENT", "helper", 0.0, 5.0, input="How tall is K2?", output="8611 m", isRootObservation=True),
            row(1, "TOOL", "search", 0.5, 1.0, **asked),
            row(2, "TOOL", "search", 1.5, 2.0, **asked),
            row(3, "GENERATION", "chat", 2.5, 4.5, model="m-1", usageDetails={"input": 10, "output": 5, "total": 15}),
        ]

    def _kept(
        self, rows: list[dict[str, Any]], query: dict[str, list[str]], key: str, word: str
    ) -> list[dict[str, Any]]:
        """The rows within the window, the newest first."""
        kept = rows
        for name, sign in ((f"from{word}", 1), (f"to{word}", -1)):
            if name in query:
                at = datetime.fromisoformat(query[name][0])
                assert at.tzinfo is not None
                kept = [row for row in kept if sign * (datetime.fromisoformat(row[key]) - at).total_seconds() >= 0]
        if "environment" in query:
            kept = [row for row in kept if row["environment"] in query["environment"]]
        if "sessionId" in query:
            kept = [row for row in kept if row["sessionId"] in query["sessionId"]]
        return sorted(kept, key=lambda row: (datetime.fromisoformat(row[key]), row["id"]), reverse=True)

    def _v2(self, query: dict[str, list[str]]) -> Answer:
        from langfuse.api.core.pydantic_utilities import parse_obj_as
        from langfuse.api.observations.types.observations_v2response import ObservationsV2Response

        known = "fields expandMetadata limit cursor fromStartTime toStartTime environment sessionId".split()
        limit = int(query["limit"][0])
        if set(query) - set(known) or not 1 <= limit <= 1_000:
            return 400, {"message": f"Invalid query {sorted(query)}"}, {}
        groups = query["fields"][0].split(",")
        if unknown := set(groups) - {"core", *GROUPS}:
            return 400, {"message": f"Unknown groups {sorted(unknown)}"}, {}
        begin = int(base64.b64decode(query["cursor"][0])) if "cursor" in query else 0
        rows = self._kept(self.rows, query, "startTime", "StartTime")
        if min(limit, len(rows) - begin) > self.largest:
            return 500, {"message": "Response too large"}, {}
        names = [*CORE.split(), *(name for group in groups for name in GROUPS.get(group, "").split())]
        shown = [{name: row.get(name) for name in names} for row in rows[begin : begin + limit]]
        expanded = query.get("expandMetadata", [""])[0].split(",")
        for row in shown:
            held = row.get("metadata")
            if isinstance(held, dict):
                row["metadata"] = {
                    key: value if key in expanded else str(value)[:TRUNCATED] for key, value in held.items()
                }
        more = begin + limit < len(rows)
        meta = {"cursor": base64.b64encode(str(begin + limit).encode()).decode()} if more else {}
        parse_obj_as(ObservationsV2Response, {"data": shown, "meta": meta})
        return 200, {"data": shown, "meta": meta}, {}

    def _numbered(self, rows: list[dict[str, Any]], query: dict[str, list[str]], key: str, word: str) -> Answer:
        page, limit = int(query["page"][0]), int(query["limit"][0])
        if limit > 100 or (word == "StartTime" and "sessionId" in query):
            return 400, {"message": "Invalid query"}, {}
        kept = self._kept(rows, query, key, word)
        pages = -(-len(kept) // limit)
        shown = kept[(page - 1) * limit : page * limit]
        return 200, {"data": shown, "meta": {"page": page, "limit": limit, "totalPages": pages}}, {}
