"""Finding the app's tracer provider, or making one, and staying attached to it without harming what is there."""

from __future__ import annotations

import inspect
import logging
from collections.abc import Callable
from functools import partial
from typing import cast

from opentelemetry import trace
from opentelemetry._logs import get_logger_provider
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import SpanProcessor, TracerProvider

from spanwise.capture._sdk_private import follow
from spanwise.capture.processor import LogCapture
from spanwise.capture.standin import StandIn, innermost, stand_in

_log = logging.getLogger("spanwise")


def is_provider(target: object) -> bool:
    """The target takes span processors: an SDK's provider, or a wrapper around one."""
    return callable(getattr(target, "add_span_processor", None)) and callable(getattr(target, "get_tracer", None))


def provider_for(target: object = None) -> tuple[TracerProvider | None, str]:
    """The provider to attach to, and in words where it is from; None where the app's takes no processors.

    An app that has none gets one, as its global provider, which gives way to the one that is set later.
    """
    if is_provider(target):
        return cast("TracerProvider", target), "the given provider"
    current: object = trace.get_tracer_provider()
    if is_provider(current):
        return cast("TracerProvider", current), "the app's provider"
    if isinstance(current, trace.ProxyTracerProvider):
        made = stand_in(TracerProvider(resource=Resource.create()))
        if made is not None:
            return cast("TracerProvider", made), "a new global provider, since the app has none yet"
        return provider_for(trace.get_tracer_provider())  # another thread was quicker
    return None, f"the app's provider is a {type(current).__name__}, which takes no span processors"


class Attachment:
    """A processor on a provider, and on those that come in its place: set by somebody, or configured anew."""

    def __init__(self, provider: object, processor: SpanProcessor) -> None:
        self._processor = processor
        self._undo: list[Callable[[], None]] = []
        self._prepare: list[Callable[[TracerProvider], None]] = []
        self._reached: list[object] = []
        self.follows = False
        """The provider may be shut down and replaced while the app runs."""
        self._attach(provider)

    def each(self, prepare: Callable[[TracerProvider], None]) -> None:
        """Do something with every provider of the SDK's that the processor is on, now and later."""
        self._prepare.append(prepare)
        for inner in self._reached:
            _with_sdk(inner, prepare)

    def reaches(self, provider: object) -> bool:
        """The processor is on this provider, or on the one that it wraps."""
        inner = innermost(provider)
        return any(one is inner for one in self._reached)

    def undo(self) -> None:
        """Go along with no further provider."""
        for undo in self._undo:
            undo()
        self._undo.clear()

    def _attach(self, provider: object) -> None:
        self._add(provider)
        if type(provider) is StandIn:
            if not provider.settled:
                self._undo.append(provider.listen(self._gave_way))
                return
            provider = provider.provider
        followed = follow(provider, partial(self._moved, provider))
        if followed is not None:
            self.follows = True
            self._undo.append(followed)

    def _gave_way(self, provider: object) -> None:
        if not is_provider(provider):
            _log.warning(
                "spanwise: nothing more is scored: the provider that the app has set is a %s, which takes no span "
                "processors",
                type(provider).__name__,
            )
            return
        self._attach(provider)
        _log.info("spanwise: attached to the provider that the app has set")

    def _moved(self, provider: object) -> None:
        self._add(provider)
        _log.info("spanwise: attached again, to the app's provider as it was configured anew")

    def _add(self, provider: object) -> None:
        if self.reaches(provider):
            return
        add_quietly(provider, self._processor)
        inner = innermost(provider)
        self._reached.append(inner)
        for prepare in self._prepare:
            _with_sdk(inner, prepare)


def has_logger_provider() -> bool:
    """The app has a logger provider that takes processors, as the SDK's does."""
    return callable(getattr(get_logger_provider(), "add_log_record_processor", None))


def _with_sdk(inner: object, prepare: Callable[[TracerProvider], None]) -> None:
    if issubclass(type(inner), TracerProvider):
        prepare(cast("TracerProvider", inner))


def add_quietly(provider: object, processor: SpanProcessor) -> None:
    """Have a provider call a processor, and change nothing else about it.

    Phoenix's provider throws its exporter away when it is given a processor, unless it is told not to; its earlier
    releases cannot be told.
    """
    target = provider.provider if type(provider) is StandIn else provider
    add = cast("TracerProvider", target).add_span_processor
    try:
        options = inspect.signature(add).parameters
    except (TypeError, ValueError):
        options = {}
    if "replace_default_processor" in options:
        cast("Callable[..., None]", add)(processor, replace_default_processor=False)
    elif issubclass(type(target), TracerProvider) and type(target).__module__.partition(".")[0] == "phoenix":
        TracerProvider.add_span_processor(cast("TracerProvider", target), processor)
    else:
        add(processor)


def attach_logs(capture: LogCapture) -> Callable[[], None] | None:
    """Have the app's logger provider call the capture, if it takes processors, and go on when it is configured anew."""
    provider = get_logger_provider()

    def add() -> None:
        take: Callable[[LogCapture], None] | None = getattr(provider, "add_log_record_processor", None)
        if take is not None:
            take(capture)

    add()
    return follow(provider, add)
