"""Record agent frameworks again: fresh OTLP/JSON from their newest versions, against a local stand-in model.

    python scripts/record/record.py [NAME ...] --out DIR [--with REQUIREMENT] [--refresh] [--list]

NAME is a recording (`langgraph__openinference__parallel`) or the beginning of names (`langgraph`, `openai`). Without
any, everything in recordings.py is made. Each framework and instrumentation has an environment of its own in
the cache directory (`$SPANWISE_RECORD_CACHE`, else `$XDG_CACHE_HOME/spanwise/record`, else `~/.cache/spanwise/record`).
Exit 0 when every recording was made, 1 when one failed, 2 when nothing matched.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

import scenario
import standin
from recordings import RECORDINGS, Recording

HERE = Path(__file__).resolve().parent
_TIMEOUT_S = 600
# Environment of the parent that must not reach a recording: it would change what the libraries emit or where they send.
_FOREIGN_ENV = re.compile(
    r"^(OTEL_|OPENAI_|LANGFUSE_|LANGSMITH_|LANGCHAIN_|LOGFIRE_|TRACELOOP_|GOOGLE_|GEMINI_|PYTHONPATH$)"
)
_MACHINE = re.compile(r"^(host|os|process)\.|^service\.instance\.id$")
_FRAME = re.compile(r'File \\+"(/[^"\\]*)')


class RecordError(Exception):
    """A recording could not be made; the message says at which step."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """One file to write."""

    recording: Recording
    variant: str
    extra: tuple[str, ...]

    @property
    def name(self) -> str:
        """The file's name without its ending."""
        return self.recording.name(self.variant)


def cache_dir() -> Path:
    """Where the environments live; never inside the repository unless the variable says so."""
    chosen = os.environ.get("SPANWISE_RECORD_CACHE")
    if chosen:
        return Path(chosen)
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "spanwise" / "record"


def select(names: list[str], /, *, extra: tuple[str, ...] = ()) -> list[Job]:
    """The jobs whose name equals one of the names or begins with it; an exact name wins over its variants."""
    jobs = [Job(recording=entry, variant=variant, extra=extra) for entry in RECORDINGS for variant in entry.variants]
    exact = {job.name for job in jobs}.intersection(names)
    begins = tuple(name for name in names if name not in exact)
    return [job for job in jobs if not names or job.name in exact or (begins and job.name.startswith(begins))]


def environment(job: Job, /, *, refresh: bool) -> Path:
    """The interpreter of an environment in which the job's packages are installed."""
    packages = (*job.recording.packages, "opentelemetry-sdk", *job.extra)
    digest = hashlib.sha256("\n".join(packages).encode()).hexdigest()[:8]
    folder = cache_dir() / f"{job.recording.framework}__{job.recording.instrumentation}-{digest}"
    python = folder / "bin" / "python"
    marker = folder / "installed"
    if refresh and folder.exists():
        shutil.rmtree(folder)
    if marker.exists():
        return python
    folder.parent.mkdir(parents=True, exist_ok=True)
    uv = shutil.which("uv")
    if uv:
        _run([uv, "venv", "--quiet", "--clear", "--python", sys.executable, str(folder)], step="create environment")
        _run([uv, "pip", "install", "--quiet", "--python", str(python), *packages], step="install")
    else:
        _run([sys.executable, "-m", "venv", "--clear", str(folder)], step="create environment")
        _run([str(python), "-m", "pip", "install", "--quiet", *packages], step="install")
    marker.write_text("\n".join(packages) + "\n")
    return python


def record(job: Job, /, *, out: Path, refresh: bool) -> str:
    """The files of one job are in `out`; returns a line that says what was recorded."""
    python = environment(job, refresh=refresh)
    with tempfile.TemporaryDirectory(prefix="spanwise-record-") as scratch, standin.serve(variant=job.variant) as url:
        raw = Path(scratch) / f"{job.name}.json"
        # As a module: a script's own folder on the import path would hide the framework of the same name.
        command = [str(python), "-m", f"frameworks.{job.recording.framework.replace('-', '_')}"]
        options = ["--instrumentation", job.recording.instrumentation, "--variant", job.variant]
        options += ["--base-url", url, "--out", str(raw)]
        env = {key: value for key, value in os.environ.items() if not _FOREIGN_ENV.match(key)}
        env |= {
            "PYTHONPATH": str(HERE),
            "PYTHONDONTWRITEBYTECODE": "1",
            "HOME": scratch,
            "NO_PROXY": "127.0.0.1",
            **job.recording.env,
        }
        _check_answer(_run([*command, *options], step="run", env=env, cwd=scratch), variant=job.variant)
        written = sorted(Path(scratch).glob(f"{job.name}*.json"))
        if raw not in written:
            raise RecordError("run: no spans were written")
        out.mkdir(parents=True, exist_ok=True)
        for file in written:
            text = without_machine(file.read_text(encoding="utf-8"))
            text = without_paths(text, environment=python.parent.parent, scratch=scratch)
            (out / file.name).write_text(text, encoding="utf-8")
        return f"{job.name}: {_count(raw)} spans; {_versions(python, job)}"


def without_machine(text: str, /) -> str:
    """The recording without resource attributes that describe the machine and process that made it."""
    document = json.loads(text)
    for group in document.get("resourceSpans", document.get("resourceLogs", [])):
        pairs = group["resource"]["attributes"]
        group["resource"]["attributes"] = [pair for pair in pairs if not _MACHINE.match(pair["key"])]
    return json.dumps(document, indent=1, ensure_ascii=False) + "\n"


def without_paths(text: str, /, *, environment: Path, scratch: str) -> str:
    """The recording with every path of this machine made relative; raises if one is left in a stack trace."""
    base = Path(sys.base_prefix)
    version = f"python{sys.version_info.major}.{sys.version_info.minor}"
    replacements = (
        (str(environment / "lib" / version / "site-packages"), "site-packages"),
        (str(environment), "env"),
        (str(HERE), "app"),
        (str(base / "lib" / version), version),
        (scratch, "scratch"),
        (str(Path.home()), "home"),
    )
    for path, short in replacements:
        text = text.replace(str(Path(path).resolve()), short).replace(path, short)
    left = _FRAME.search(text)
    if left:
        raise RecordError(f"normalise: the path {left.group(1)!r} is left in a stack trace")
    return text


def _run(command: list[str], *, step: str, env: dict[str, str] | None = None, cwd: str | None = None) -> str:
    try:
        done = subprocess.run(
            command, check=False, env=env, cwd=cwd, capture_output=True, text=True, timeout=_TIMEOUT_S
        )
    except subprocess.TimeoutExpired as error:
        raise RecordError(f"{step}: no end after {error.timeout:.0f} s") from None
    if done.returncode:
        tail = "\n".join((done.stderr or done.stdout).splitlines()[-25:])
        raise RecordError(f"{step}: exit {done.returncode}\n{tail}")
    return done.stdout


def _check_answer(output: str, *, variant: str) -> None:
    """The script's last line is the scenario's answer; a run that went astray leaves spans too, but another answer."""
    wanted = scenario.PLAIN_ANSWER if variant == "plain" else scenario.ANSWER
    last = next(reversed(output.strip().splitlines()), "")
    if last != wanted and not last.startswith(scenario.RUN_ENDED):
        raise RecordError(f"run: the answer was {last!r}")


def _count(file: Path) -> int:
    document = json.loads(file.read_text(encoding="utf-8"))
    return sum(len(scope["spans"]) for group in document["resourceSpans"] for scope in group["scopeSpans"])


def _versions(python: Path, job: Job) -> str:
    names = [re.split(r"[\[=<>~! ]", package)[0] for package in (*job.recording.packages, "opentelemetry-sdk")]
    code = "import sys, importlib.metadata as m; print(', '.join(f'{n} {m.version(n)}' for n in sys.argv[1:]))"
    return subprocess.run([str(python), "-c", code, *names], capture_output=True, text=True, check=True).stdout.strip()


def main(arguments: list[str] | None = None) -> int:
    """Record what was asked for; one failure does not stop the others."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("names", nargs="*", metavar="NAME", help="a recording, or the beginning of names")
    parser.add_argument("--out", type=Path, help="folder for the files")
    parser.add_argument("--with", dest="extra", action="append", default=[], metavar="REQUIREMENT")
    parser.add_argument("--refresh", action="store_true", help="install again, to get the newest versions")
    parser.add_argument("--list", action="store_true", help="print the names and stop")
    options = parser.parse_args(arguments)
    jobs = select(options.names, extra=tuple(options.extra))
    if options.list:
        print("\n".join(job.name for job in jobs))
        return 0
    if not jobs or options.out is None:
        print("nothing to record: no such name" if options.out else "--out DIR is required", file=sys.stderr)
        return 2
    failed = 0
    fresh: set[tuple[str, str]] = set()
    for job in jobs:
        key = (job.recording.framework, job.recording.instrumentation)
        try:
            print(record(job, out=options.out, refresh=options.refresh and key not in fresh), flush=True)
        except RecordError as error:
            failed += 1
            print(f"{job.name}: FAILED at {error}", file=sys.stderr, flush=True)
        fresh.add(key)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
