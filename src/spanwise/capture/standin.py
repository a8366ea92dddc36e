"""The provider that Spanwise makes for an app that has none: it stands in until somebody sets one.

OpenTelemetry takes a global provider once, and refuses the next one with a warning. So a provider of ours that came
first would keep Logfire, Phoenix or the app from setting theirs. This one passes for unset as long as nobody has used
it: whoever looks for a provider sees none, and `opentelemetry.trace.set_tracer_provider` makes it give way, with all
tracers that it has handed out.
"""

from __future__ import annotations

import functools
import logging
import threading
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, cast
from weakref import WeakKeyDictionary

from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.trace import Span, Tracer

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

    from opentelemetry.sdk.trace import SpanProcessor

_log = logging.getLogger("spanwise")
_Make = Callable[[trace.TracerProvider], Tracer]


class _StandInTracer(Tracer):
    """A tracer of the provider that there is now."""

    def __init__(self, inner: Tracer) -> None:
        self.inner = inner

    def start_span(self, *args: object, **kwargs: object) -> Span:
        """As the tracer behind it."""
        return cast("Callable[..., Span]", self.inner.start_span)(*args, **kwargs)

    def start_as_current_span(self, *args: object, **kwargs: object) -> AbstractContextManager[Span]:  # pyright: ignore[reportIncompatibleMethodOverride]  # what the one behind it gives, which is of a private class
        """As the tracer behind it."""
        return cast("Callable[..., AbstractContextManager[Span]]", self.inner.start_as_current_span)(*args, **kwargs)

    def __getattr__(self, name: str) -> object:
        if name == "inner":  # while it is made
            raise AttributeError(name)
        return getattr(self.inner, name)


class StandIn(trace.TracerProvider):
    """A global provider that gives way to the first one that somebody sets.

    It is settled once somebody has set another one, or has added a processor to this one: from then on it is, for
    whoever looks, the provider behind it, and OpenTelemetry's rule holds that there is one.
    """

    def __init__(self, made: TracerProvider) -> None:
        self.provider: trace.TracerProvider = made
        self.settled = False
        self._handed: WeakKeyDictionary[_StandInTracer, _Make] = WeakKeyDictionary()
        self._listeners: list[Callable[[trace.TracerProvider], None]] = []
        self._lock = threading.Lock()

    @property
    def __class__(self) -> type:  # pyright: ignore[reportIncompatibleMethodOverride]  # what isinstance looks at
        """Unset, for whoever asks, until it is settled."""
        return type(self.provider) if self.settled else trace.ProxyTracerProvider

    def __getattr__(self, name: str) -> object:
        if name == "provider":  # while it is made
            raise AttributeError(name)
        return getattr(self.provider, name)

    def get_tracer(self, *args: object, **kwargs: object) -> Tracer:
        """A tracer that goes along when this provider gives way."""

        def made(provider: trace.TracerProvider) -> Tracer:
            return cast("Callable[..., Tracer]", provider.get_tracer)(*args, **kwargs)

        with self._lock:
            tracer = _StandInTracer(made(self.provider))
            if not self.settled:
                self._handed[tracer] = made
        return tracer

    def add_span_processor(self, span_processor: SpanProcessor, **options: bool) -> None:
        """Add a processor of somebody else's, who thereby takes this provider for the app's."""
        self.settled = True
        cast("Callable[..., None]", cast("TracerProvider", self.provider).add_span_processor)(span_processor, **options)

    def listen(self, listener: Callable[[trace.TracerProvider], None]) -> Callable[[], None]:
        """Call a function with the provider that this one gives way to; what is given back ends that."""
        self._listeners.append(listener)

        def stop() -> None:
            if listener in self._listeners:
                self._listeners.remove(listener)

        return stop

    def give_way(self, provider: trace.TracerProvider) -> bool:
        """Have the other provider do all from now on; False if this one is settled."""
        with self._lock:
            if self.settled or provider is self:
                return False
            self.settled = True
            self.provider = provider
            handed = list(self._handed.items())
            self._handed.clear()
        for listener in tuple(self._listeners):
            try:
                listener(provider)
            except Exception:  # noqa: BLE001  (somebody else's provider; the app that sets it must not see this)
                _log.warning("spanwise: could not go along with the app's provider", exc_info=True)
        for tracer, made in handed:  # after the listeners: what they change of the provider holds for new tracers
            tracer.inner = made(provider)
        return True


def stand_in(made: TracerProvider) -> StandIn | None:
    """Set a provider of ours as the global one, which gives way; None if somebody was quicker."""
    standing = StandIn(made)
    trace.set_tracer_provider(standing)
    if trace.get_tracer_provider() is not standing:
        return None
    _watch(standing)
    return standing


def _watch(standing: StandIn) -> None:
    """Have `set_tracer_provider` ask the provider that stands in to give way, until it is settled."""
    original = trace.set_tracer_provider

    @functools.wraps(original)
    def set_tracer_provider(tracer_provider: trace.TracerProvider) -> None:
        stands = trace.get_tracer_provider() is standing  # a test suite may have taken it away again
        if not (stands and standing.give_way(tracer_provider)):
            original(tracer_provider)
        if (not stands or standing.settled) and trace.set_tracer_provider is set_tracer_provider:
            trace.set_tracer_provider = original

    trace.set_tracer_provider = set_tracer_provider


def innermost(provider: object) -> object:
    """The SDK's provider behind wrappers such as this one and Logfire's; what was given if there is none."""
    found: object = provider
    for _ in range(8):
        if issubclass(type(found), TracerProvider):
            break
        inner: object = (getattr(found, "__dict__", None) or cast("Mapping[str, object]", {})).get("provider")
        if inner is None:
            break
        found = inner
    return found
