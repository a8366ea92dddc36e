"""What is installed and configured here, and what an instrumented app would be missing. Secrets stay unread."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from spanwise.report.frameworks import FRAMEWORKS, SWITCHES, Framework, switches_of

PREFIXES = ("OTEL_", "LANGFUSE_", "LOGFIRE_", "SPANWISE_", "OPENINFERENCE_", "TRACELOOP_")
EXPECTED = (
    "OTEL_SERVICE_NAME",
    "OTEL_EXPORTER_OTLP_ENDPOINT",
    "LANGFUSE_PUBLIC_KEY",
    "LANGFUSE_SECRET_KEY",
    "LOGFIRE_TOKEN",
    "SPANWISE_STORE",
)
"""Shown whether or not they are set."""
_DESTINATIONS = (
    "OTEL_EXPORTER_OTLP_ENDPOINT",
    "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT",
    "LANGFUSE_SECRET_KEY",
    "LOGFIRE_TOKEN",
)
_PACKAGES = re.compile(
    "(opentelemetry-|openinference-|arize-phoenix-otel|langfuse|logfire|traceloop-sdk|llama-index-observability-otel|genai-prices|msgspec)"
)
_REQUIREMENT = re.compile(r"""(?P<name>[A-Za-z0-9._-]+)[^;]*;.*\bextra\s*==\s*['"](?P<extra>[^'"]+)['"]""")
_EXPORTER = "opentelemetry-exporter-otlp-proto-http"


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """An installed framework: its version, the installed instrumentations for it, and the line that adds one."""

    framework: str
    package: str
    version: str
    instrumentations: Mapping[str, str]
    built_in: str
    content: str
    pip: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Content:
    """A switch of something installed: whether content is recorded as it stands, and what would have it recorded."""

    variable: str
    of: tuple[str, ...]
    is_set: bool
    records: bool
    setting: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Environment:
    """What was found."""

    extras: Mapping[str, tuple[str, ...]]
    """The packages that each extra of Spanwise lacks."""
    packages: Mapping[str, str]
    frameworks: tuple[Found, ...]
    variables: Mapping[str, bool]
    content: tuple[Content, ...]
    missing: tuple[str, ...]


def normal(name: str) -> str:
    """A distribution's name in normal form."""
    return re.sub(r"[-_.]+", "-", name).lower()


def look(
    *, installed: Mapping[str, str], environ: Mapping[str, str], requirements: tuple[str, ...] = ()
) -> Environment:
    """The environment of a process with these distributions (normal name to version) and these variables.

    `requirements` are those of Spanwise itself, as its metadata spells them.
    """
    frameworks = tuple(found for framework in FRAMEWORKS for found in _framework(framework, installed))
    content = tuple(_content(frameworks, environ))
    return Environment(
        extras=_extras(requirements, installed),
        packages={name: installed[name] for name in sorted(installed) if _PACKAGES.match(name)},
        frameworks=frameworks,
        variables=_variables(environ),
        content=content,
        missing=tuple(_missing(frameworks, content, installed=installed, environ=environ)),
    )


def _extras(requirements: tuple[str, ...], installed: Mapping[str, str]) -> dict[str, tuple[str, ...]]:
    needed: dict[str, list[str]] = {}
    for requirement in requirements:
        found = _REQUIREMENT.match(requirement)
        if found and normal(found["name"]) != "spanwise":
            lacking = needed.setdefault(found["extra"], [])
            if normal(found["name"]) not in installed:
                lacking.append(normal(found["name"]))
    return {extra: tuple(names) for extra, names in needed.items()}


def _framework(framework: Framework, installed: Mapping[str, str]) -> Iterator[Found]:
    package = next((name for name in framework.distributions if name in installed), None)
    if package is None:
        return
    there = {name: installed[name] for name in framework.instrumentations if name in installed}
    pip = "" if there or framework.built_in else f"pip install {framework.instrumentations[0]}"
    yield Found(
        framework=framework.title,
        package=package,
        version=installed[package],
        instrumentations=there,
        built_in=framework.built_in,
        content=framework.content,
        pip=pip,
    )


def _variables(environ: Mapping[str, str]) -> dict[str, bool]:
    names = {*EXPECTED, *(name for name in environ if name.startswith(PREFIXES))}
    return {name: bool(environ.get(name)) for name in sorted(names)}


def _content(frameworks: tuple[Found, ...], environ: Mapping[str, str]) -> Iterator[Content]:
    obeyed: dict[str, list[str]] = {}
    own = {framework.title: framework.switch for framework in FRAMEWORKS}
    for found in frameworks:
        if own[found.framework] and not found.instrumentations:
            obeyed.setdefault(own[found.framework], []).append(found.framework)
        for instrumentation in found.instrumentations:
            for name in switches_of(instrumentation):
                users = obeyed.setdefault(name, [])
                if instrumentation not in users:
                    users.append(instrumentation)
    for name, users in obeyed.items():
        switch = SWITCHES[name]
        value = environ.get(switch.variable)
        yield Content(
            variable=switch.variable,
            of=tuple(users),
            is_set=bool(value),
            records=switch.records(value),
            setting=switch.setting,
        )


def _missing(
    frameworks: tuple[Found, ...],
    content: tuple[Content, ...],
    *,
    installed: Mapping[str, str],
    environ: Mapping[str, str],
) -> Iterator[str]:
    clients = {framework.title for framework in FRAMEWORKS if framework.client}
    agents = [found for found in frameworks if found.framework not in clients]
    if not frameworks:
        yield "No agent framework that is known here is installed in this environment; run doctor in the app's own."
    for found in agents or frameworks:
        if found.pip:
            yield f"{found.framework} ({found.package}) is not instrumented: {found.pip}"
    for item in content:
        if not item.records:
            yield f"{', '.join(item.of)} will not record content: set {item.setting}"
    yield from _sdk(environ)
    if not any(environ.get(name) for name in _DESTINATIONS):
        yield "No destination for spans is set: set OTEL_EXPORTER_OTLP_ENDPOINT, or the keys of Langfuse or Logfire."
    elif environ.get(_DESTINATIONS[0]) and not any(
        name.startswith("opentelemetry-exporter-otlp") for name in installed
    ):
        yield f"OTEL_EXPORTER_OTLP_ENDPOINT is set, but no OTLP exporter is installed: pip install {_EXPORTER}"


def _sdk(environ: Mapping[str, str]) -> Iterator[str]:
    """Settings of the OpenTelemetry SDK that lose spans or cut content."""
    if environ.get("OTEL_SDK_DISABLED", "").strip().lower() == "true":
        yield "OTEL_SDK_DISABLED turns all spans off: unset it."
    if environ.get("OTEL_TRACES_EXPORTER", "").strip().lower() == "none":
        yield "OTEL_TRACES_EXPORTER=none exports no spans: unset it, or set it to otlp."
    if "off" in environ.get("OTEL_TRACES_SAMPLER", "") or "ratio" in environ.get("OTEL_TRACES_SAMPLER", ""):
        yield "OTEL_TRACES_SAMPLER drops traces: those are never scored. Set parentbased_always_on to score all."
    for name in ("OTEL_ATTRIBUTE_VALUE_LENGTH_LIMIT", "OTEL_SPAN_ATTRIBUTE_VALUE_LENGTH_LIMIT"):
        if environ.get(name):
            yield f"{name} cuts long prompts and results: cut JSON cannot be read. Unset it."
