"""What a target of `instrument` is, and what has to be turned on for it."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from typing import cast

from opentelemetry.sdk.trace import TracerProvider

from spanwise.capture import frameworks, functions, web
from spanwise.capture.providers import is_provider
from spanwise.capture.replaced import Replaced
from spanwise.errors import SpecError


@dataclass(frozen=True, slots=True, kw_only=True)
class Prepared:
    """The target, wrapped where it had to be; what was done, what is missing, and how to undo it."""

    target: object = None
    did: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()
    undo: Callable[[], None] = lambda: None


def prepare(target: object, provider: TracerProvider) -> Prepared:
    """Turn on what the target needs: its framework's instrumentation, or those of all that the app has imported.

    Raises:
        SpecError: It is nothing that can be instrumented.
    """
    if is_provider(target):
        return Prepared(target=target)
    framework = None if target is None else frameworks.framework_of(target)
    if framework is not None:
        enabled = framework.enable(target, provider)
        return Prepared(target=target, did=enabled.did, missing=enabled.missing, undo=enabled.undo)
    wrapped = None if target is None else _wrapped(target, provider)
    enabled = frameworks.enable_imported(provider)
    if wrapped is None:
        return Prepared(did=enabled.did, missing=enabled.missing, undo=enabled.undo)

    def undo() -> None:
        wrapped.undo()
        enabled.undo()

    return Prepared(target=wrapped.target, did=(*enabled.did, wrapped.did), missing=enabled.missing, undo=undo)


def _wrapped(target: object, provider: TracerProvider) -> Replaced[object]:
    if web.is_app(target):
        return web.wrap(target)
    if inspect.isroutine(target):
        return cast("Replaced[object]", functions.decorate(cast("Callable[..., object]", target), provider))
    raise SpecError(
        f"instrument: read {target!r}, expected nothing, a tracer provider, an agent or a module of "
        f"{', '.join(one.title for one in frameworks.FRAMEWORKS)}, an ASGI or WSGI app, or a function"
    )
