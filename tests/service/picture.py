"""The whole picture: an app, a Collector, scorers, a backend; and what may happen to each while traces are sent."""

from __future__ import annotations

import signal
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path

from tests.service.backend import Backend, backend
from tests.service.collector import APPS_HTTP, HANDOFF, ONE_MACHINE, SCORED, SCORERS, SCORES, TAIL_SAMPLING, Collector
from tests.service.scorers import Scorer
from tests.service.tally import Expected, Tally, tally
from tests.service.traffic import App, expected, interleaved, plan


class Picture:
    """A Collector, three scorers and a backend, all running, for the length of a block.

    Args:
        otelcol: The Collector's program.
        folder: Where everything keeps its files.
        configs: The Collector's configuration.
        command: What `serve` is a verb of; this environment's `spanwise` where nothing else is named.
        environment: More variables of the scorers.
        settings: More settings of `[serve]`, as TOML.
    """

    def __init__(
        self,
        otelcol: Path,
        folder: Path,
        *,
        configs: Sequence[Path] = ONE_MACHINE,
        command: Sequence[str] = (),
        environment: Mapping[str, str] | None = None,
        settings: str = "",
    ) -> None:
        self._otelcol, self._folder, self._configs = otelcol, folder, configs
        self._command, self._environment, self._settings = command, environment, settings
        self._stack = ExitStack()
        self.backend: Backend
        self.collector: Collector
        self.scorers: list[Scorer] = []
        self._begun = self._runs = 0

    def __enter__(self) -> Picture:
        with ExitStack() as stack:
            self.backend = stack.enter_context(backend())
            environment = {"SPANWISE_BACKEND": self.backend.url}
            self.collector = Collector(
                self._otelcol, self._folder / "collector", configs=self._configs, environment=environment
            )
            for _ in SCORERS:
                self.scorers.append(stack.enter_context(self._scorer()))
            self.collector.balance_over([one.port for one in self.scorers])
            stack.enter_context(self.collector)
            for one in self.scorers:
                one.ready()
            self._stack = stack.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def _scorer(self) -> Scorer:
        self._begun += 1
        return Scorer(
            self._folder / f"scorer-{self._begun}",
            scores_to=self.collector.url(SCORES),
            handoff_to=self.collector.url(HANDOFF),
            spans_to=self.collector.url(SCORED) if self._configs == TAIL_SAMPLING else "",
            command=self._command,
            environment=self._environment,
            settings=self._settings,
        )

    def add_scorer(self) -> Scorer:
        """Start one more scorer, which the Collector does not know yet."""
        one = self._stack.enter_context(self._scorer())
        self.scorers.append(one)
        one.ready()
        return one

    def rebalance(self) -> None:
        """Have the Collector balance over the scorers that there are now."""
        self.collector.balance_over([one.port for one in self.scorers])
        self.collector.reload()

    def grow(self) -> None:
        """Add a scorer as docs/collector.md says: those there give their traces back, the list grows, all start."""
        self.add_scorer()
        for one in self.scorers[:-1]:
            one.tell(signal.SIGTERM)
        for one in self.scorers[:-1]:
            one.ended()
        self.rebalance()
        for one in self.scorers[:-1]:
            one.begin()
        for one in self.scorers[:-1]:
            one.ready()

    def drain(self) -> int:
        """Take a scorer away as docs/collector.md says: it gives its traces back, then the list shrinks."""
        gone = self.scorers.pop()
        code = gone.stop(signal.SIGTERM)
        self.rebalance()
        return code

    def kill_scorer(self, *, away_s: float = 1.0) -> None:
        """Kill a scorer and start it again."""
        self.scorers[0].stop(signal.SIGKILL)
        time.sleep(away_s)
        self.scorers[0].start()

    def kill_collector(self, *, away_s: float = 0.5) -> None:
        """Kill the Collector and start it again."""
        self.collector.stop(signal.SIGKILL)
        time.sleep(away_s)
        self.collector.start()

    def backend_away(self, *, away_s: float) -> None:
        """Have the backend away for so long."""
        self.backend.down()
        time.sleep(away_s)
        self.backend.up()

    def run(
        self,
        *,
        traces: int = 300,
        over_s: float = 4.0,
        within_s: float = 60.0,
        meanwhile: Callable[[], object] | None = None,
    ) -> tuple[Tally, App]:
        """Send interleaved traces, do something meanwhile, and tell what became of them."""
        self._runs += 1
        planned = plan(traces, seed=self._runs)
        whole = expected(planned)
        app = App(self.collector.url(APPS_HTTP))
        app.begin(list(interleaved(planned)), over_s=over_s)
        if meanwhile is not None:
            time.sleep(over_s / 3)
            meanwhile()
        app.end()
        self._wait(whole, within_s)
        return tally(whole, self.backend.received.logs), app

    def _wait(self, whole: Expected, within_s: float) -> None:
        """Until all is right, or the time is over; and a second more, for nothing may come that makes it wrong."""
        deadline, looked_at = time.monotonic() + within_s, -1
        while time.monotonic() < deadline:
            there = len(self.backend.received.requests)
            if there != looked_at and tally(whole, self.backend.received.logs).is_right:
                break
            looked_at = there
            time.sleep(0.3)
        time.sleep(1.0)

    def logs(self) -> str:
        """The last words of all processes."""
        said = [one.log()[-1500:] for one in self.scorers]
        return "\n---\n".join([*said, self.collector.log()[-1500:]])
