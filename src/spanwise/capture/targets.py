"""What a target of `instrument` is, and what has to be turned on for it."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
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


def check(target: object, *, headers: Mapping[str, str] | None = None, identify: web.Identify | None = None) -> None:
    """The target can be instrumented, with what was given for it; to be asked before anything is attached.

    Raises:
        SpecError: It cannot.
    """
    given = " and ".join(name for name, one in (("headers", headers), ("identify", identify)) if one is not None)
    is_known = target is None or is_provider(target) or frameworks.framework_of(target) is not None
    is_app = not is_known and web.is_app(target)
    if not (is_known or is_app or inspect.isroutine(target)):
        raise SpecError(
            f"instrument: read {target!r}, expected nothing, a tracer provider, an agent or a module of "
            f"{', '.join(one.title for one in frameworks.FRAMEWORKS)}, an ASGI or WSGI app, or a function"
        )
    if given and not is_app:
        raise SpecError(f"{given}: read {target!r} as what to instrument, expected an ASGI or WSGI app")
    if given:
        web.check(headers=headers, identify=identify)


def prepare(
    target: object,
    provider: TracerProvider,
    *,
    headers: Mapping[str, str] | None = None,
    identify: web.Identify | None = None,
) -> Prepared:
    """Turn on what the target needs: its framework's instrumentation, or those of all that the app has imported.

    Args:
        target: What `check` has found nothing wrong with.
        provider: Where spans go.
        headers: Of a web app: which header of a request says what.
        identify: Of a web app: a function that knows whose a request is.
    """
    if is_provider(target):
        return Prepared(target=target)
    framework = None if target is None else frameworks.framework_of(target)
    if framework is not None:
        enabled = framework.enable(target, provider)
        return Prepared(target=target, did=enabled.did, missing=enabled.missing, undo=enabled.undo)
    wrapped: Replaced[object] | None = None
    if target is not None and web.is_app(target):
        wrapped = web.wrap(target, headers=headers, identify=identify)
    elif target is not None:
        wrapped = cast("Replaced[object]", functions.decorate(cast("Callable[..., object]", target), provider))
    enabled = frameworks.enable_imported(provider)
    if wrapped is None:
        return Prepared(did=enabled.did, missing=enabled.missing, undo=enabled.undo)

    def undo() -> None:
        wrapped.undo()
        enabled.undo()

    return Prepared(target=wrapped.target, did=(*enabled.did, wrapped.did), missing=enabled.missing, undo=undo)
