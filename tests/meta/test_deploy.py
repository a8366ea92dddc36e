"""What is deployed: the image, the containers around it and their settings, as far as they can be checked here."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

SCORERS = ("scorer-1", "scorer-2", "scorer-3")
SECRETS = re.compile("PASSWORD|TOKEN|SECRET|KEY")


@pytest.fixture(scope="module")
def compose(root: Path, require: Callable[[str], str]) -> Mapping[str, Any]:
    """The file of the containers."""
    require("yaml")
    import yaml

    return yaml.safe_load((root / "deploy" / "compose.yaml").read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def dockerfile(root: Path) -> list[str]:
    """The instructions of the image, each on one line, without comments."""
    text = (root / "deploy" / "Dockerfile").read_text(encoding="utf-8")
    return re.sub(r"\\\n\s*", "", re.sub(r"(?m)^#.*\n", "", text)).splitlines()


def program(name: str, require: Callable[[str], str]) -> str:
    """The path of a program, beside the interpreter or on the PATH."""
    return shutil.which(name, path=str(Path(sys.executable).parent)) or require(name)


def run(*command: str | Path, cwd: Path, **more: str) -> str:
    """What a command says; it must find nothing wrong."""
    done = subprocess.run(
        list(map(str, command)),
        cwd=cwd,
        env={**os.environ, **more},
        capture_output=True,
        text=True,
        check=False,
        timeout=100,
    )
    assert 0 == done.returncode, done.stdout + done.stderr
    return done.stdout


def texts(value: object, name: str = "") -> Iterator[tuple[str, str]]:
    """Every text in a document, with the key it stands under."""
    if isinstance(value, Mapping):
        for key, one in value.items():
            yield from texts(one, str(key))
    elif isinstance(value, list):
        for one in value:
            yield from texts(one, name)
    else:
        yield name, str(value)


def mounts(service: Mapping[str, Any]) -> list[str]:
    """What of the repository a service is given."""
    return [one.partition(":")[0] for one in service.get("volumes", ()) if one.startswith(".")]


def test_the_linter_has_no_complaint(root: Path, require: Callable[[str], str]) -> None:
    """Hadolint finds nothing in the Dockerfile."""
    assert "" == run(program("hadolint", require), "deploy/Dockerfile", cwd=root)


def test_the_containers_fit_the_schema(root: Path, require: Callable[[str], str]) -> None:
    """The compose file is one, by the specification's own schema."""
    checker = program("check-jsonschema", require)
    run(checker, "--builtin-schema", "vendor.compose-spec", "deploy/compose.yaml", cwd=root)


def test_the_image(dockerfile: list[str]) -> None:
    """It has two stages, runs as a user who is not root, says when it is well, and names no index of packages."""
    names = [line.split()[0] for line in dockerfile if line]
    assert (2, 1, "CMD") == (names.count("FROM"), names.count("HEALTHCHECK"), names[-1])
    assert ["USER 10001:10001"] == [line for line in dockerfile if line.startswith("USER")]
    assert ["EXPOSE 4317 4318"] == [line for line in dockerfile if line.startswith("EXPOSE")]
    text = "\n".join(dockerfile)
    assert "/healthz" in text
    assert not re.search(r"index-url|PIP_|--trusted-host", text)
    assert not [line for line in dockerfile if line.startswith(("ADD", "ARG", "ENV")) and SECRETS.search(line)]


def test_what_is_copied_is_in_the_context(root: Path, dockerfile: list[str]) -> None:
    """What the image is built from is there, and is not ignored; all else is."""
    copied = {
        name for line in dockerfile if line.startswith("COPY ") and "--from" not in line for name in line.split()[1:-1]
    }
    ignored = (root / ".dockerignore").read_text(encoding="utf-8").splitlines()
    let_in = {line[1:] for line in ignored if line.startswith("!")}
    assert let_in == copied
    assert "*" in ignored
    assert [] == [name for name in copied if not (root / name).exists()]


def test_the_health_check_is_a_program(dockerfile: list[str]) -> None:
    """What says that a container is well is Python that compiles."""
    (line,) = (line for line in dockerfile if "CMD" in line and "healthz" in line)
    assert '"python"' in line
    (code,) = re.findall(r'"-c", "(.*)"\]', line)
    compile(code, "healthcheck", "exec")


def test_images_are_named_exactly(compose: Mapping[str, Any]) -> None:
    """Every image has a version, and none is the latest."""
    images = {name: service["image"] for name, service in compose["services"].items()}
    assert [] == [image for image in images.values() if ":" not in image or image.endswith(":latest")]
    assert {"spanwise:local"} == {images[name] for name in SCORERS}


def test_no_secret_stands_in_the_files(root: Path, compose: Mapping[str, Any]) -> None:
    """Passwords and tokens come from the environment, and the example of it has none."""
    held = [text for name, text in texts(compose) if SECRETS.search(name) and not text.startswith("${")]
    assert [] == held
    example = (root / "deploy" / "example.env").read_text(encoding="utf-8")
    assert [] == [line for line in example.splitlines() if line and not line.startswith("#") and not line.endswith("=")]
    asked = set(re.findall(r"\$\{(\w+)", (root / "deploy" / "compose.yaml").read_text(encoding="utf-8")))
    assert {*asked, compose["secrets"]["spanwise_token"]["environment"]} == set(re.findall(r"(?m)^(\w+)=", example))


def test_containers_may_do_little(compose: Mapping[str, Any]) -> None:
    """None is privileged; scorers write to their volume alone; what is published is so on loopback."""
    for name, service in compose["services"].items():
        assert "privileged" not in service, name
        assert ["no-new-privileges:true"] == service["security_opt"], name
        assert all(port.startswith("127.0.0.1:") for port in service.get("ports", ())), name
    for name in SCORERS:
        service = compose["services"][name]
        assert (True, ["ALL"], ["inside"]) == (service["read_only"], service["cap_drop"], service["networks"])
        assert f"{name}:/var/lib/spanwise" in service["volumes"]
        assert "ports" not in service


def test_what_is_mounted_is_there(root: Path, compose: Mapping[str, Any]) -> None:
    """Each file or folder of the repository that a container is given exists."""
    found = {one for service in compose["services"].values() for one in mounts(service)}
    assert found
    assert [] == [one for one in found if not (root / "deploy" / one).exists()]
    named = {text.partition(":")[0] for service in compose["services"].values() for text in service.get("volumes", ())}
    assert {name for name in named if not name.startswith(".")} == set(compose["volumes"])


def test_the_scorers_are_those_that_are_named(root: Path, compose: Mapping[str, Any]) -> None:
    """The Collector sends to the scorers that there are, and Prometheus scrapes them, at the ports they listen on."""
    import yaml

    deploy = root / "deploy"
    served = tomllib.loads((deploy / "spanwise.toml").read_text(encoding="utf-8"))["serve"]
    grpc, http = (served[one].rpartition(":")[2] for one in ("grpc", "http"))
    collector = yaml.safe_load((deploy / "collector.yaml").read_text(encoding="utf-8"))
    balanced = collector["exporters"]["load_balancing/scorers"]["resolver"]["static"]["hostnames"]
    scraped = yaml.safe_load((deploy / "prometheus" / "prometheus.yml").read_text(encoding="utf-8"))["scrape_configs"]
    assert [f"{name}:{grpc}" for name in SCORERS] == balanced
    assert [f"{name}:{http}" for name in SCORERS] == scraped[0]["static_configs"][0]["targets"]
    assert set(SCORERS) == {name for name in compose["services"] if name.startswith("scorer")}
    listening = {one["protocols"]["http"]["endpoint"].rpartition(":")[2] for one in collector["receivers"].values()}
    assert {served["scores_to"].rpartition(":")[2], served["handoff_to"].rpartition(":")[2]} < listening


def test_the_settings_of_the_scorers_can_be_used(root: Path) -> None:
    """The settings are ones that `spanwise serve` knows."""
    from spanwise.config import load

    settings = load(root / "deploy" / "spanwise.toml")
    assert "none" == settings.sinks["store"].content


def test_a_real_collector_takes_both_files(root: Path, tmp_path: Path) -> None:
    """The Collector's own settings with what differs in containers are valid to a real Collector."""
    found = subprocess.run([root / "scripts" / "collector", "--find"], capture_output=True, text=True, check=False)
    if found.returncode:
        pytest.skip("needs the Collector, which `make collector` builds")
    token = tmp_path / "token"
    token.write_text("secret\n")
    own = (root / "deploy" / "collector.yaml").read_text(encoding="utf-8")
    differs = tmp_path / "compose.yaml"
    differs.write_text(own.replace("/run/secrets/spanwise_token", str(token)), encoding="utf-8")
    command = [found.stdout.strip(), "validate", "--config", root / "collector-config.yaml", "--config", differs]
    run(*command, cwd=tmp_path, SPANWISE_BACKEND="http://127.0.0.1:4418", SPANWISE_COLLECTOR_DIR=str(tmp_path))


def test_prometheus_takes_its_settings(root: Path) -> None:
    """Prometheus' own tool finds the settings in order; the rules have tests of their own."""
    from tests.servers import promtool

    run(promtool(), "check", "config", "--syntax-only", "deploy/prometheus/prometheus.yml", cwd=root)


def test_the_wheel_that_the_image_installs(root: Path, tmp_path: Path, require: Callable[[str], str]) -> None:
    """The wheel that is built has the extras that the image asks for, and its `serve` tells how it is used."""
    require("build")
    require("grpc")
    run(sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", tmp_path, ".", cwd=root)
    (wheel,) = tmp_path.glob("spanwise-*.whl")
    shutil.unpack_archive(wheel, tmp_path / "installed", "zip")
    (metadata,) = (tmp_path / "installed").glob("*.dist-info/METADATA")
    (asked,) = re.findall(r"\$\{wheel\}\[([a-z,]+)\]", (root / "deploy" / "Dockerfile").read_text(encoding="utf-8"))
    extras = set(re.findall(r"(?m)^Provides-Extra: (.+)$", metadata.read_text(encoding="utf-8")))
    assert set(asked.split(",")) <= extras
    code = "import spanwise.__main__ as m, sys; sys.argv = ['spanwise', 'serve', '--help']; sys.exit(m.main())"
    command = ["-P", "-c", code]
    said = run(sys.executable, *command, cwd=tmp_path, PYTHONPATH=str(tmp_path / "installed"))
    assert "--grpc" in said
