"""Instrumentation of a framework by a package of somebody else's, whichever is installed; never two at once."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, field
from importlib import import_module
from importlib.metadata import PackageNotFoundError, distribution
from importlib.util import find_spec
from typing import Protocol, cast

from opentelemetry.sdk.trace import TracerProvider

from spanwise.capture.frameworks._framework import Enabled, nothing
from spanwise.capture.frameworks._holding import held

CAPTURE_CONTENT = "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT"
_HIDING = tuple(
    f"OPENINFERENCE_HIDE_{what}"
    for what in ("INPUTS", "OUTPUTS", "INPUT_MESSAGES", "OUTPUT_MESSAGES", "INPUT_TEXT", "OUTPUT_TEXT")
)


class _Instruments(Protocol):
    """The part of OpenTelemetry's `BaseInstrumentor` that is used here."""

    @property
    def is_instrumented_by_opentelemetry(self) -> bool: ...
    def instrument(self, **options: object) -> object: ...
    def uninstrument(self) -> object: ...
    def instrumentation_dependencies(self) -> Collection[str]: ...


def no_switch() -> str:
    """Content is recorded; no switch is in the way."""
    return ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """One package that can instrument a framework."""

    package: str
    """As it is installed: `openinference-instrumentation-langchain`."""
    path: str
    """Its instrumentor: `module:Class`."""
    options: Mapping[str, object] = field(default_factory=dict[str, object])
    content: Callable[[], str] = no_switch
    """Which switch keeps content out of its spans, as advice; empty where content is recorded."""
    beside: tuple[tuple[Choice, str, str], ...] = ()
    """What it needs beside itself: the other choice, the package that one instruments, and what lacks without."""
    clean: Callable[[], None] = nothing
    """Takes away what its own `uninstrument` leaves behind."""

    def installed(self) -> bool:
        """It can be imported, and is the package that it is called after."""
        try:
            distribution(self.package)
            return find_spec(self.path.partition(":")[0]) is not None
        except (PackageNotFoundError, ImportError, ValueError):
            return False

    def load(self) -> _Instruments:
        """Its one instrumentor."""
        module, _, name = self.path.partition(":")
        return cast("_Instruments", getattr(import_module(module), name)())


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """How a framework is instrumented: by the first of the choices that is installed, unless it is already."""

    name: str
    instruments: frozenset[str]
    """The packages that instrumentors of the framework say they instrument."""
    choices: tuple[Choice, ...]
    in_charge: Callable[[], str] = no_switch
    """Who else records the framework's runs, where that is no OpenTelemetry instrumentor."""

    def enable(self, target: object, provider: TracerProvider) -> Enabled:
        """Turn on what is installed; leave alone what is on."""
        del target
        return held(self.name, provider, lambda: self._turn_on(provider))

    def _turn_on(self, provider: TracerProvider) -> Enabled:
        other = self.in_charge()
        if other:
            return Enabled(did=(f"{self.name}: left alone, {other} records it",))
        running = active(self.instruments)
        if running is not None:
            where = type(running).__module__
            advice = next((one.content() for one in self.choices if one.path.startswith(f"{where}:")), "")
            did = f"{self.name}: left alone, instrumented already by {where}"
            return Enabled(did=(did,), missing=_sentences(self.name, advice))
        failed: list[str] = []
        for choice in self.choices:
            if not choice.installed():
                continue
            try:
                return self._with(choice, provider, failed)
            except Exception as error:  # noqa: BLE001  (whatever another release of somebody's library does)
                failed.append(f"{self.name}: {choice.package} does not work here ({type(error).__name__}: {error}).")
        return Enabled(missing=tuple(failed) or (f"{self.name}: pip install {self.choices[0].package}.",))

    def _with(self, choice: Choice, provider: TracerProvider, failed: list[str]) -> Enabled:
        on = [switch_on(choice, provider)]
        missing = [*failed, *_sentences(self.name, choice.content())]
        did = [f"{self.name}: instrumented by {choice.package}"]
        for other, instruments, lack in choice.beside:
            if active(frozenset((instruments,))) is not None:
                continue
            if not other.installed():
                missing.append(f"{self.name}: pip install {other.package}, or {lack}.")
                continue
            try:
                on.append(switch_on(other, provider))
                did.append(f"{instruments}: instrumented by {other.package}")
            except Exception as error:  # noqa: BLE001  (the framework itself is on; say what is not)
                missing.append(f"{self.name}: {other.package} does not work here ({error}), so {lack}.")

        def undo_all() -> None:
            for one in reversed(on):
                one.undo()

        return Enabled(did=tuple(did), missing=tuple(missing), undo=undo_all, is_on=on[0].is_on)


def switch_on(choice: Choice, provider: TracerProvider) -> Enabled:
    """Turn an instrumentation on; raises where it does not come on."""
    instrumentor = choice.load()
    instrumentor.instrument(tracer_provider=provider, raise_exception_on_conflict=True, **choice.options)
    if not instrumentor.is_instrumented_by_opentelemetry:
        raise RuntimeError("it does not fit the installed versions")

    def undo() -> None:
        if instrumentor.is_instrumented_by_opentelemetry:
            instrumentor.uninstrument()
            choice.clean()

    return Enabled(undo=undo, is_on=lambda: instrumentor.is_instrumented_by_opentelemetry)


def active(instruments: Collection[str]) -> _Instruments | None:
    """An instrumentor that is on and instruments one of the packages, whoever turned it on; imports nothing."""
    for instrumentor in _turned_on():
        names = {_package(line) for line in instrumentor.instrumentation_dependencies()}
        if names & set(instruments):
            return instrumentor
    return None


def _turned_on() -> Iterator[_Instruments]:
    top: object = getattr(sys.modules.get("opentelemetry.instrumentation.instrumentor"), "BaseInstrumentor", None)
    kinds = [top] if isinstance(top, type) else []
    while kinds:
        kind = kinds.pop()
        kinds += kind.__subclasses__()
        one = vars(kind).get("_instance")
        if getattr(one, "is_instrumented_by_opentelemetry", False):
            yield cast("_Instruments", one)


def _package(requirement: str) -> str:
    """`llama-index-core` of `llama_index_core >= 0.12`."""
    match = re.match(r"[A-Za-z0-9._-]+", requirement)
    return re.sub(r"[._]", "-", match.group().lower()) if match else ""


def _sentences(name: str, advice: str) -> tuple[str, ...]:
    return (f"{name}: {advice}",) if advice else ()


def openinference_content() -> str:
    """OpenInference records content unless it is told to hide it."""
    hiding = [name for name in _HIDING if os.environ.get(name, "").strip().lower() == "true"]
    return f"unset {', '.join(hiding)} to record content." if hiding else ""


def openllmetry_content() -> str:
    """OpenLLMetry records content unless it is told not to."""
    off = os.environ.get("TRACELOOP_TRACE_CONTENT", "true").strip().lower() == "false"
    return "unset TRACELOOP_TRACE_CONTENT to record content." if off else ""


def otel_content() -> str:
    """OpenTelemetry's own instrumentations record content only when told to."""
    on = os.environ.get(CAPTURE_CONTENT, "").strip().upper() in {"SPAN_ONLY", "SPAN_AND_EVENT", "EVENT_ONLY"}
    return "" if on else f"set {CAPTURE_CONTENT}=SPAN_ONLY to record content."


def openinference(library: str, name: str, **options: object) -> Choice:
    """OpenInference's instrumentation of a library: its module and its class."""
    return Choice(
        package=f"openinference-instrumentation-{library.replace('_', '-')}",
        path=f"openinference.instrumentation.{library}:{name}",
        options=options,
        content=openinference_content,
    )


def openllmetry(library: str, name: str, *, clean: Callable[[], None] = nothing) -> Choice:
    """OpenLLMetry's instrumentation of a library: its module and its class."""
    return Choice(
        package=f"opentelemetry-instrumentation-{library.replace('_', '-')}",
        path=f"opentelemetry.instrumentation.{library}:{name}",
        content=openllmetry_content,
        clean=clean,
    )


def otel_genai(library: str, name: str, *, beside: tuple[tuple[Choice, str, str], ...] = ()) -> Choice:
    """OpenTelemetry's own GenAI instrumentation of a library: its module and its class."""
    return Choice(
        package=f"opentelemetry-instrumentation-genai-{library.replace('_', '-')}",
        path=f"opentelemetry.instrumentation.genai.{library}:{name}",
        content=otel_content,
        beside=beside,
    )
