"""What is deployed beside the metrics: alert rules that promtool tests, and a dashboard whose queries are run."""

from __future__ import annotations

import json
import math
import re
import subprocess
import threading
import time
from collections.abc import Iterator, Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
import yaml

from spanwise.fleet import Check, aggregate
from spanwise.model.result import RunResult
from spanwise.model.score import Score
from spanwise.sinks.prometheus import CONTENT_TYPE, PrometheusSink
from tests.servers import Prometheus, promtool, wait_for
from tests.sinks.test_prometheus import result_of

pytestmark = pytest.mark.once

CHECKS = {check.name: check for check in aggregate([]).checks}
RULES = Path("deploy/prometheus/spanwise-alerts.yml")
DASHBOARD = Path("deploy/grafana/spanwise.json")


def run_promtool(*arguments: str | Path) -> str:
    """What promtool says; it must find nothing wrong."""
    done = subprocess.run(
        [str(promtool()), *map(str, arguments)], capture_output=True, text=True, check=False, timeout=60
    )
    assert 0 == done.returncode, done.stdout + done.stderr
    return done.stdout


def alerts(root: Path) -> list[dict[str, str]]:
    """The alerts that the rules may raise."""
    groups = yaml.safe_load((root / RULES).read_text(encoding="utf-8"))["groups"]
    return [rule for group in groups for rule in group["rules"] if "alert" in rule]


def test_promtool_accepts_the_rules(root: Path) -> None:
    """Every rule is one that Prometheus takes."""
    assert "SUCCESS" in run_promtool("check", "rules", root / RULES)


def test_the_rules_have_the_bounds_of_the_fleet_table(root: Path) -> None:
    """Each check of `spanwise score` has two alerts, at its target and at its bound, in its direction."""
    found = {}
    for rule in alerts(root):
        if "check" in rule["labels"]:
            read = re.search(r" ([<>]) ([\d.]+) and ", rule["expr"])
            assert read is not None
            found[rule["labels"]["check"], rule["labels"]["severity"]] = (read[1], float(read[2]))
    expected = {}
    for check in CHECKS.values():
        sign = "<" if check.above else ">"
        expected[check.name, "warning"] = (sign, check.target)
        expected[check.name, "critical"] = (sign, check.alert)
    assert expected == found


def inputs(check: Check, value: float) -> Mapping[str, float]:
    """How much each series grows in a minute, so that the check comes to this value."""
    runs = {'spanwise_runs_total{agent="a"}': 1.0}
    scored = 'spanwise_scores_total{name="latency",agent="a",status="scored",label="%s"}'
    of: Mapping[str, Mapping[str, float]] = {
        "tool selection": {
            'spanwise_score_sum{name="tool_selection",agent="a"}': value,
            'spanwise_score_count{name="tool_selection",agent="a"}': 1.0,
        },
        "mean score": {
            'spanwise_score_sum{name="overall",agent="a"}': value,
            'spanwise_score_count{name="overall",agent="a"}': 1.0,
        },
        "redundancy rate": {
            'spanwise_redundant_tool_calls_total{agent="a"}': value,
            'spanwise_comparable_tool_calls_total{agent="a"}': 1.0,
        },
        "recovery": {
            'spanwise_recovered_failures_total{agent="a"}': value,
            'spanwise_failures_total{agent="a"}': 1.0,
        },
        "latency compliance": {scored % "alert": 1.0 - value, **({scored % "ok": value} if value else {})},
    }
    return {**runs, **of[check.name]}


@pytest.mark.parametrize("name", CHECKS)
def test_an_alert_is_raised_past_its_bound_only(name: str, root: Path, tmp_path: Path) -> None:
    """Within the target there is no alert, past it a warning, past the bound a critical one, too; not for few runs."""
    check = CHECKS[name]
    step = 0.03 if check.above else -0.03
    cases: list[tuple[float, float, list[str]]] = [
        (check.target + step, 1.0, []),
        ((check.target + check.alert) / 2, 1.0, ["warning"]),
        (check.alert - step, 1.0, ["warning", "critical"]),
        (0.0 if check.above else 1.0, 1.0, ["warning", "critical"]),
        (check.alert - step, 0.1, []),
    ]
    tests = []
    for value, runs, severities in cases:
        series = [
            {"series": of, "values": f"0+{growth * (runs if of.startswith('spanwise_runs') else 1)}x120"}
            for of, growth in inputs(check, value).items()
        ]
        raised = [
            {
                "eval_time": "2h",
                "alertname": rule["alert"],
                "exp_alerts": [said(check, rule, value)] if rule["labels"]["severity"] in severities else [],
            }
            for rule in alerts(root)
            if rule["labels"].get("check") == name
        ]
        tests.append({"interval": "1m", "input_series": series, "alert_rule_test": raised})
    file = tmp_path / "tests.yml"
    file.write_text(json.dumps({"rule_files": [str(root / RULES)], "evaluation_interval": "1m", "tests": tests}))
    assert "SUCCESS" in run_promtool("test", "rules", file)


def said(check: Check, rule: Mapping[str, object], value: float) -> dict[str, object]:
    """The alert as it is raised."""
    should = "above" if check.above else "below"
    words = f"{check.name} of a is {value:.2f}; it should be {should} {check.target:.2f}"
    return {"exp_labels": {**rule["labels"], "agent": "a"}, "exp_annotations": {"summary": words}}


def test_a_refusal_is_an_alert(root: Path, tmp_path: Path) -> None:
    """What is refused raises an alert by its reason."""
    series = [{"series": 'spanwise_refused_total{reason="queue"}', "values": "0x10 1+1x60"}]
    raised = {"exp_labels": {"severity": "warning", "reason": "queue"}}
    raised["exp_annotations"] = {"summary": "runs or results are refused: queue"}
    test = {"eval_time": "1h", "alertname": "SpanwiseRefusing", "exp_alerts": [raised]}
    tests = [{"interval": "1m", "input_series": series, "alert_rule_test": [test]}]
    file = tmp_path / "tests.yml"
    file.write_text(json.dumps({"rule_files": [str(root / RULES)], "evaluation_interval": "1m", "tests": tests}))
    assert "SUCCESS" in run_promtool("test", "rules", file)


class Scraped(BaseHTTPRequestHandler):
    """Gives what the sink of its server tells."""

    def do_GET(self) -> None:
        """Answer with the metrics."""
        body = self.server.sink.text().encode()
        self.send_response(200)
        self.send_header("Content-Type", CONTENT_TYPE)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Nothing is logged."""


@pytest.fixture(scope="module")
def prometheus(root: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Prometheus]:
    """A Prometheus server that has scraped a sink while runs came, with the rules."""
    sink = PrometheusSink(lambda: {"queue": int(time.monotonic() * 10)})
    with ThreadingHTTPServer(("127.0.0.1", 0), Scraped) as server:
        server.sink = sink
        threading.Thread(target=server.serve_forever, daemon=True).start()
        target = f"127.0.0.1:{server.server_port}"
        with Prometheus(tmp_path_factory.mktemp("prometheus"), target=target, rules=root / RULES) as started:
            sink.emit([told(1), told(2)])
            # The server looks for its targets after five seconds; what is there at the first scrape has not grown.
            assert wait_for(lambda: 2 == value_of(started, "sum(spanwise_runs_total)"))
            for number in range(3, 26):
                sink.emit([told(number)])
                time.sleep(0.1)
            assert wait_for(lambda: 25 == value_of(started, "sum(spanwise_runs_total)"))
            yield started
        server.shutdown()


def told(number: int) -> RunResult:
    """A run with scores of every kind, every other one worse than the one before."""
    result = result_of(number, name=f"agent {number % 2}", calls=2 + number % 2)
    more = (
        Score(name="tool_selection", value=0.7, label="alert"),
        Score(name="cost", value=0.01, unit="USD"),
        Score(name="grounding", status="not_measurable", reason="no documents"),
        Score(name="broken", status="error", reason="ValueError: x"),
    )
    kept = tuple(score for score in result.scores if score.name not in {one.name for one in more})
    return RunResult(run=result.run, scores=(*kept, *more))


def value_of(server: Prometheus, query: str) -> float | None:
    """The value of a query with one result."""
    found = server.ask("query", query=query)["data"]["result"]
    return float(found[0]["value"][1]) if found else None


def near(expected: float, value: float | None) -> bool:
    """The value is there, and is the expected one within a hundredth."""
    return value is not None and math.isclose(expected, value, abs_tol=0.01)


def queries(root: Path) -> list[tuple[str, str]]:
    """Each panel's title with each of its queries."""
    panels = json.loads((root / DASHBOARD).read_text(encoding="utf-8"))["panels"]
    return [(panel["title"], target["expr"]) for panel in panels for target in panel["targets"]]


def filled(query: str) -> str:
    """The query as Grafana sends it, for all agents."""
    for name, value in (("$__rate_interval", "1m"), ("$__range", "5m"), ("$agent", ".*")):
        query = query.replace(name, value)
    assert "$" not in query
    return query


def test_every_query_of_the_dashboard_gives_data(root: Path, prometheus: Prometheus) -> None:
    """A real server answers each query of each panel with numbers, at one time and over a range."""
    silent = []
    now = time.time()
    for title, query in queries(root):
        at_once = prometheus.ask("query", query=filled(query))
        ranged = prometheus.ask("query_range", query=filled(query), start=str(now - 5), end=str(now), step="1")
        values = [float(one["value"][1]) for one in at_once.get("data", {}).get("result", ())]
        many = [float(value) for one in ranged.get("data", {}).get("result", ()) for _, value in one["values"]]
        if not values or not many or all(map(math.isnan, values)) or all(map(math.isnan, many)):
            silent.append((title, query, at_once, ranged))
    assert [] == silent
    assert len(queries(root)) >= 15


def test_the_dashboard_lists_the_agents(root: Path, prometheus: Prometheus) -> None:
    """The variable of the dashboard finds the agents, and each panel asks the chosen data source."""
    document = json.loads((root / DASHBOARD).read_text(encoding="utf-8"))
    variable = next(one for one in document["templating"]["list"] if one["name"] == "agent")
    read = re.fullmatch(r"label_values\((\w+), (\w+)\)", variable["query"]["query"])
    assert read is not None
    found = prometheus.ask(f"label/{read[2]}/values", **{"match[]": read[1]})
    assert ["agent 0", "agent 1"] == found["data"]
    assert {"${datasource}"} == {panel["datasource"]["uid"] for panel in document["panels"]}
    assert len(document["panels"]) == len({panel["id"] for panel in document["panels"]})


def test_the_dashboard_shows_the_targets_of_the_fleet_table(root: Path) -> None:
    """The colours of the five checks change at their bounds."""
    panels = {
        panel["title"].lower(): [step["value"] for step in panel["fieldConfig"]["defaults"]["thresholds"]["steps"]]
        for panel in json.loads((root / DASHBOARD).read_text(encoding="utf-8"))["panels"]
        if "thresholds" in panel["fieldConfig"]["defaults"]
    }
    assert {name: [None, *sorted((check.alert, check.target))] for name, check in CHECKS.items()} == panels


def test_the_rules_work_on_a_real_server(prometheus: Prometheus) -> None:
    """What is recorded from scraped runs is what they were: the mean of tool selection, half the calls repeated."""
    # A rule that is evaluated while a scrape is written sees a part of it, so the last word counts.
    assert wait_for(lambda: near(0.7, value_of(prometheus, "agent:spanwise_tool_selection:mean1h")))
    assert wait_for(lambda: near(1.0, value_of(prometheus, "agent:spanwise_recovery:ratio1h")))
    groups = prometheus.ask("rules")["data"]["groups"]
    rules = [rule for group in groups for rule in group["rules"]]
    assert [] == [rule for rule in rules if rule["health"] == "err"]
