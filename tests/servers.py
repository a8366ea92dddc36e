"""Real servers for the tests: found on the machine, or unpacked from Debian's packages below .build, never installed.

Each listens on loopback only, keeps its files in a temporary folder, and is ended by its process id.
"""

from __future__ import annotations

import fcntl
import json
import os
import pwd
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from secrets import randbelow
from types import TracebackType
from typing import IO, Any
from urllib.error import HTTPError
from urllib.parse import urlencode
from urllib.request import urlopen

import pytest

UNPACKED = Path(__file__).resolve().parents[1] / ".build" / "debian"
_APT_S = 100
_PORTS = range(20_000, 32_000)


def free_port() -> int:
    """A port of the loopback interface for a server of this process's tests, which nobody else takes meanwhile.

    It is below those that the system hands out, to connections and to servers that ask for any, and a lock that lasts
    as long as this process keeps other test processes from it.
    """
    folder = Path(tempfile.gettempdir()) / "spanwise-test-ports"
    folder.mkdir(exist_ok=True)
    start = randbelow(len(_PORTS))
    for port in (*_PORTS[start:], *_PORTS[:start]):
        lock = os.open(folder / str(port), os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o666)
        with socket.socket() as probe:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                probe.bind(("127.0.0.1", port))
            except OSError:
                os.close(lock)
                continue
            return port
    raise AssertionError(f"every port from {_PORTS.start} to {_PORTS.stop} is taken")


def wait_for(is_there: Callable[[], bool], *, timeout_s: float = 20.0) -> bool:
    """Whether something came true within the time."""
    deadline = time.monotonic() + timeout_s
    while time.monotonic() < deadline:
        if is_there():
            return True
        time.sleep(0.02)
    return is_there()


def program(name: str, package: str, *, elsewhere: Sequence[str] = ()) -> Path:
    """The path of a program: on the PATH, in one of the folders below /usr, or unpacked from Debian's package.

    Skips the test with the reason where there is none and the package cannot be had.
    """
    if (found := shutil.which(name)) is not None:
        return Path(found).resolve()
    places = [Path("/usr"), UNPACKED / package / "usr"]
    if (here := _within(places, name, elsewhere)) is not None:
        return here
    if shutil.which("apt-get") is None or shutil.which("dpkg") is None:
        pytest.skip(f"needs {name!r}, of Debian's package {package!r}, which this machine has no way to get")
    try:
        _unpack(package)
    except (OSError, subprocess.SubprocessError) as error:
        pytest.skip(f"needs {name!r}, but Debian's package {package!r} could not be had: {error}")
    if (here := _within(places, name, elsewhere)) is None:
        pytest.skip(f"needs {name!r}, which Debian's package {package!r} does not hold")
    return here


def _within(places: Sequence[Path], name: str, elsewhere: Sequence[str]) -> Path | None:
    found = [path for place in places for folder in ("bin", *elsewhere) for path in place.glob(f"{folder}/{name}")]
    return max(found, default=None)


def _unpack(package: str) -> None:
    """Unpack a package, with those it needs and the machine lacks, into a folder of its own; no root is needed."""
    UNPACKED.mkdir(parents=True, exist_ok=True)
    with (UNPACKED / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if (UNPACKED / package).is_dir():
            return
        with tempfile.TemporaryDirectory(dir=UNPACKED) as folder:
            _download(package, Path(folder))
            for archive in sorted((Path(folder) / "archives").glob("*.deb")):
                _run(["dpkg", "-x", str(archive), str(Path(folder) / "root")])
            (Path(folder) / "root").rename(UNPACKED / package)


def _download(package: str, folder: Path) -> None:
    for name in ("archives/partial", "lists/partial"):
        (folder / name).mkdir(parents=True)
    options = ["-o", "Debug::NoLocking=1", "-o", f"Dir::Cache::archives={folder}/archives"]
    command = ["install", "-y", "--no-install-recommends", "--download-only", package]
    try:
        _run(["apt-get", *options, *command])
    except subprocess.CalledProcessError:
        # A fresh machine knows of no packages yet.
        options += ["-o", f"Dir::State::lists={folder}/lists", "-o", "APT::Sandbox::User=root"]
        _run(["apt-get", *options, "update"])
        _run(["apt-get", *options, *command])


def _run(command: Sequence[str]) -> None:
    environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    subprocess.run(command, check=True, capture_output=True, env=environment, timeout=_APT_S)


class Postgres:
    """A Postgres server of its own, on a free port, run by a user who is not root; it can be stopped and started."""

    user = "tests"

    def __init__(self) -> None:
        self._server = program("postgres", "postgresql", elsewhere=("lib/postgresql/*/bin",))
        self._folder = Path(tempfile.mkdtemp(prefix="spanwise-postgres-"))
        self._process: subprocess.Popen[bytes] | None = None
        self.port = free_port()
        self._as: dict[str, Any] = {}
        if os.geteuid() == 0:
            owner = _unprivileged()
            os.chown(self._folder, owner.pw_uid, owner.pw_gid)
            self._as = {"user": owner.pw_uid, "group": owner.pw_gid, "extra_groups": []}
        self._data = self._folder / "data"
        self._log = self._folder / "log"
        if self._as and not _may_be_run(self._server):
            pytest.skip(f"needs a Postgres server, but a user who is not root may not run {self._server}")
        initdb = [str(self._server.with_name("initdb")), "-D", str(self._data), "-U", self.user, "-A", "trust"]
        with self._log.open("ab") as log:
            made = self._begin([*initdb, "-E", "UTF8", "--locale=C", "--no-sync"], log)
        if made.wait(60) != 0:
            said = self._log.read_text(errors="replace")[-400:]
            shutil.rmtree(self._folder)
            pytest.skip(f"needs a Postgres server, but initdb failed: {said}")

    def __enter__(self) -> Postgres:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, where: TracebackType | None
    ) -> None:
        self.stop()
        shutil.rmtree(self._folder, ignore_errors=True)

    def url(self, database: str = "postgres") -> str:
        """Where a database of it is."""
        return f"postgresql://{self.user}@127.0.0.1:{self.port}/{database}"

    def start(self) -> None:
        """Start the server, and wait until it takes connections."""
        options = ("fsync=off", "listen_addresses=127.0.0.1", f"unix_socket_directories={self._folder}")
        command = [str(self._server), "-D", str(self._data), "-p", str(self.port)]
        for option in options:
            command += ["-c", option]
        with self._log.open("ab") as log:
            self._process = self._begin(command, log)
        assert wait_for(self._answers, timeout_s=30), self._log.read_text(errors="replace")[-2000:]

    def stop(self) -> None:
        """Stop the server at once: connections are cut, what was committed stays."""
        process, self._process = self._process, None
        if process is not None:
            process.send_signal(signal.SIGINT)
            try:
                process.wait(30)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait(10)

    def _answers(self) -> bool:
        import psycopg

        try:
            psycopg.connect(self.url(), connect_timeout=2).close()
        except psycopg.OperationalError:
            return False
        return True

    def _begin(self, command: Sequence[str], log: IO[bytes]) -> subprocess.Popen[bytes]:
        libraries = [str(path) for path in (UNPACKED / "postgresql" / "usr" / "lib").glob("*-linux-gnu*")]
        found = ":".join([*libraries, os.environ.get("LD_LIBRARY_PATH", "")]).strip(":")
        environment = {**os.environ, "LD_LIBRARY_PATH": found} if libraries else dict(os.environ)
        return subprocess.Popen(command, stdout=log, stderr=log, cwd=self._folder, env=environment, **self._as)


def promtool() -> Path:
    """Prometheus' tool that checks metrics, rules and what rules do."""
    return program("promtool", "prometheus")


class Prometheus:
    """A Prometheus server on a free port that scrapes one target five times a second, its files in a folder."""

    def __init__(self, folder: Path, *, target: str, rules: Path | None = None) -> None:
        self._server = program("prometheus", "prometheus")
        self._folder = folder
        self._process: subprocess.Popen[bytes] | None = None
        self.port = free_port()
        self._config = folder / "prometheus.yml"
        scraped = {"job_name": "spanwise", "scrape_interval": "200ms", "static_configs": [{"targets": [target]}]}
        files = [str(rules)] if rules is not None else []
        times = {"scrape_timeout": "200ms", "evaluation_interval": "200ms"}
        self._config.write_text(json.dumps({"global": times, "rule_files": files, "scrape_configs": [scraped]}))

    def __enter__(self) -> Prometheus:
        command = [str(self._server), f"--config.file={self._config}", f"--storage.tsdb.path={self._folder / 'data'}"]
        with (self._folder / "log").open("ab") as log:
            self._process = subprocess.Popen(
                [*command, f"--web.listen-address=127.0.0.1:{self.port}"], stdout=log, stderr=log, cwd=self._folder
            )
        if not wait_for(self._answers, timeout_s=60):
            self.__exit__(None, None, None)
            raise AssertionError((self._folder / "log").read_text(errors="replace")[-2000:])
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, where: TracebackType | None
    ) -> None:
        assert self._process is not None
        self._process.terminate()
        try:
            self._process.wait(20)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait(10)

    def ask(self, path: str, **parameters: str) -> Any:
        """What the server answers to a request of its API, whatever its status."""
        url = f"http://127.0.0.1:{self.port}/api/v1/{path}?{urlencode(parameters)}"
        try:
            with urlopen(url, timeout=10) as answer:
                return json.load(answer)
        except HTTPError as error:
            return json.load(error)

    def _answers(self) -> bool:
        try:
            with urlopen(f"http://127.0.0.1:{self.port}/-/ready", timeout=2) as answer:
                return bool(answer.status == 200)
        except OSError:
            return False


def _may_be_run(path: Path) -> bool:
    """Everybody may go where the program is, and run it."""
    return all(folder.stat().st_mode & 0o001 for folder in (path, *path.parents))


def _unprivileged() -> pwd.struct_passwd:
    for name in ("postgres", "nobody"):
        try:
            return pwd.getpwnam(name)
        except KeyError:
            continue
    return pwd.getpwall()[-1]
