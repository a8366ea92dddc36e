"""What `spanwise doctor` found, as text and as JSON. Of the environment only names are shown, never a value."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass

from rich.console import Console
from rich.text import Text

from spanwise.report.environment import Content, Environment, Found
from spanwise.report.escapes import visible
from spanwise.report.terminal import rows

SCHEMA = "spanwise.doctor/1"


@dataclass(frozen=True, slots=True, kw_only=True)
class Host:
    """The process that was looked at: versions, and the class of its tracer provider."""

    spanwise: str
    python: str
    platform: str
    compiled: bool
    """Whether the compiled part is there."""
    provider: str


def to_doctor(host: Host, found: Environment) -> dict[str, object]:
    """The findings as JSON spells them."""
    return {"schema": SCHEMA, **asdict(host), **asdict(found)}


def show_doctor(to: Console, host: Host, found: Environment) -> None:
    """Print the findings, what is missing last."""
    _section(
        to,
        "this process",
        (
            ("spanwise", host.spanwise, ""),
            ("compiled part", "in use" if host.compiled else "not there: the same results, more slowly", ""),
            ("Python", f"{host.python} on {host.platform}", ""),
            ("tracer provider", f"{host.provider} (of this process; an app sets its own)", ""),
            *((f"extra {name}", *_extra(name, lacking)) for name, lacking in found.extras.items()),
        ),
    )
    _section(to, "packages", ((name, version, "") for name, version in found.packages.items()))
    _section(
        to,
        "frameworks",
        ((one.framework, _framework(one), "yellow" if one.pip else "") for one in found.frameworks),
    )
    _section(
        to,
        "environment variables",
        (
            (visible(name), "set" if there else "not set", "" if there else "dim")
            for name, there in found.variables.items()
        ),
    )
    _section(
        to,
        "content (prompts, arguments, results)",
        (
            (
                item.variable,
                _content(item),
                "" if item.records else "yellow",
            )
            for item in found.content
        ),
    )
    to.print(Text("what is missing", style="bold"))
    if not found.missing:
        to.print(Text("  nothing that can be seen from here", style="green"))
    rows(to, (("-", sentence, "") for sentence in found.missing), indent=2)


def _section(to: Console, title: str, pairs: Iterable[tuple[str, str, str]]) -> None:
    listed = list(pairs)
    to.print(Text(title, style="bold"))
    rows(to, listed or [("none", "", "")], indent=2)
    to.print()


def _extra(name: str, lacking: tuple[str, ...]) -> tuple[str, str]:
    if not lacking:
        return "installed", ""
    return f"lacks {', '.join(lacking)}: pip install 'spanwise[{name}]'", "dim"


def _content(item: Content) -> str:
    recorded = "recorded" if item.records else "not recorded"
    return f"{'set' if item.is_set else 'not set'}: content of {', '.join(item.of)} is {recorded}"


def _framework(one: Found) -> str:
    instrumented = ", ".join(f"{name} {version}" for name, version in one.instrumentations.items())
    built_in = f"built in: {one.built_in}" if one.built_in else ""
    content = f"content: {one.content}" if one.content else ""
    ways = "; ".join(part for part in (instrumented, built_in, content) if part)
    return f"{one.package} {one.version}: {ways or f'not instrumented; {one.pip}'}"
