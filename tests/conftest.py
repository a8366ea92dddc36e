"""What every test may use: outside things it requires, the shared data, hypothesis profiles.

A test that lacks an outside thing skips and says which. `SPANWISE_REQUIRE=all` turns every skip into a failure, so that
nothing is left out silently in CI. `SPANWISE_EXTRAS` names the extras that are installed (default: all): what needs
another one is skipped and may be, except below the folders of `ALONE`, which the base package must pass by itself.
With SPANWISE_PURE=1 the compiled part is left out, and what compares it with Python may be skipped.
"""

import os
import shutil
from collections.abc import Callable, Generator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

ROOT = Path(__file__).resolve().parent.parent
SHARED = ROOT.parent / "shared"

# Which extra brings an importable module.
EXTRA_OF = {
    "build": "dev",
    "check-jsonschema": "dev",
    "hatchling": "dev",
    "google.rpc": "dev",
    "hadolint": "dev",
    "alembic": "cli",
    "google": "cli",
    "opentelemetry.exporter": "dev",
    "opentelemetry-instrument": "dev",
    "opentelemetry.instrumentation": "dev",
    "opentelemetry.proto": "cli",
    "pydantic": "cli",
    "re2": "cli",
    "tenacity": "dev",
    "rich": "cli",
    "sqlalchemy": "cli",
    "typer": "cli",
    "yaml": "cli",
    "zstandard": "cli",
    "genai_prices": "cost",
    "grpc": "serve",
    "httpx": "langfuse",
    "langfuse": "dev",
    "logfire": "logfire",
    "mlflow": "mlflow",
    "openai": "judge",
    "phoenix": "phoenix",
    "psycopg": "postgres",
    "pydantic_ai": "dev",
    "pydantic_evals": "pydantic-evals",
    "h11": "serve",
    "uvicorn": "serve",
}
COMPILED = "the compiled part"
# Tests of the layers that need the base dependencies only: a missing extra is a defect there.
ALONE = ("model", "conventions", "grounding", "assembly", "evaluators")

settings.register_profile("default", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("ci", settings.get_profile("default"), derandomize=True, max_examples=100, print_blob=True)
settings.register_profile(
    "fuzz", settings.get_profile("default"), max_examples=int(os.environ.get("FUZZ_EXAMPLES", "5000"))
)
# On the wheel the same is run again, to see whether other versions do as well.
settings.register_profile("again", settings.get_profile("ci"), max_examples=30)
settings.load_profile(
    os.environ.get("HYPOTHESIS_PROFILE")
    or ("again" if "SPANWISE_EXTRAS" in os.environ else "ci" if os.environ.get("CI") else "default")
)


def extra_may_be_missing(name: str, path: Path) -> bool:
    """True when the module belongs to an extra that this run does without, and the test at `path` may need it."""
    installed = os.environ.get("SPANWISE_EXTRAS")
    if installed is None or any(path.is_relative_to(ROOT / "tests" / folder) for folder in ALONE):
        return False
    extra = next((extra for module, extra in EXTRA_OF.items() if name == module or name.startswith(f"{module}.")), None)
    return extra is not None and extra not in installed.split(",")


def missing_extra(failure: BaseException | None, path: Path) -> str | None:
    """The module of an absent extra that caused the failure, if that absence is allowed."""
    seen: set[int] = set()
    while failure is not None and id(failure) not in seen:
        seen.add(id(failure))
        if isinstance(failure, ModuleNotFoundError) and failure.name and extra_may_be_missing(failure.name, path):
            return failure.name
        failure = failure.__cause__ or failure.__context__
    return None


def reason_of(report: pytest.TestReport | pytest.CollectReport) -> str:
    """Why the test was skipped."""
    return report.longrepr[2] if isinstance(report.longrepr, tuple) else str(report.longrepr)


def settle(report: pytest.TestReport | pytest.CollectReport, call: pytest.CallInfo[Any] | None, path: Path) -> None:
    """Turn a failure for an absent extra into a skip; where everything is required, any other skip into a failure."""
    absent = missing_extra(call.excinfo.value, path) if call is not None and call.excinfo else None
    if absent is not None:
        report.outcome = "skipped"
        report.longrepr = (str(path), 0, f"Skipped: without {absent}, which this run does without")
    elif os.environ.get("SPANWISE_PURE") and report.skipped and COMPILED in reason_of(report):
        return
    elif report.skipped and not hasattr(report, "wasxfail") and os.environ.get("SPANWISE_REQUIRE") == "all":
        report.outcome = "failed"
        report.longrepr = f"{reason_of(report)}; SPANWISE_REQUIRE=all makes a skip a failure"


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[Any]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """A skipped test fails when everything is required."""
    report = yield
    settle(report, call, item.path)
    return report


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(
    collector: pytest.Collector,
) -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
    """A module skipped as a whole fails when everything is required."""
    report = yield
    if isinstance(collector, pytest.Module):
        settle(report, getattr(report, "call", None), collector.path)
    return report


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out what reads the shared data where that data is not beside the checkout, and say so at the end."""
    if SHARED.is_dir():
        return
    without = [item for item in items if "shared" in getattr(item, "fixturenames", ())]
    if without:
        items[:] = [item for item in items if item not in without]
        config.hook.pytest_deselected(items=without)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Say when tests were left out because the shared data is absent."""
    if not SHARED.is_dir():
        terminalreporter.write_line(f"left out: tests that read ../{SHARED.name}, which is not beside this checkout")


@pytest.fixture(scope="session")
def root() -> Path:
    """The top of the project."""
    return ROOT


@pytest.fixture(scope="session")
def recordings() -> Path:
    """The folder of recorded spans."""
    return ROOT / "tests" / "recordings"


@pytest.fixture(scope="session")
def shared() -> Path:
    """The folder of data beside the project; a test that asks for it is left out where there is none."""
    return SHARED


@pytest.fixture(scope="session")
def require() -> Callable[[str], str]:
    """Give the path of an outside binary, or the name of an importable module; skip with the reason without it."""

    def find(name: str) -> str:
        if (path := shutil.which(name)) is not None:
            return path
        if name.isidentifier() and find_spec(name) is not None:
            return name
        if extra_may_be_missing(name, ROOT / "tests" / "any"):
            raise ModuleNotFoundError(name=name)
        pytest.skip(f"needs {name!r}, which is neither a program on the PATH nor an installed module")

    return find
