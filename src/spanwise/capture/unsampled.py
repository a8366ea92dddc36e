"""Scoring runs outside the export sample: what the sampler drops is recorded for processors, and still not exported.

A dropped span is recorded without its sampled flag. Processors see it end; `BatchSpanProcessor` and
`SimpleSpanProcessor` look at the flag and leave it; the flag that travels to other services stays unset, so they and a
parent-based sampler decide as before. What it costs is that a dropped span is no longer free: docs/sampling.md.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from operator import attrgetter

from opentelemetry.context import Context
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.sampling import Decision, Sampler, SamplingResult
from opentelemetry.trace import Link, SpanKind, TraceState
from opentelemetry.util.types import Attributes, AttributeValue

from spanwise.capture._sdk_private import made_tracers

_ATTRIBUTES = attrgetter("attributes")  # its type in the SDK is not known in full


class RecordAll(Sampler):
    """Decides as the inner sampler does, but has recorded what that one drops.

    A sampler drops a span together with the attributes that it was started with; here they are kept, since they say
    what kind of span it is.
    """

    def __init__(self, inner: Sampler) -> None:
        self.inner = inner
        self.active = True

    def should_sample(  # noqa: PLR0917  (the SDK sets the signature)
        self,
        parent_context: Context | None,
        trace_id: int,
        name: str,
        kind: SpanKind | None = None,
        attributes: Attributes = None,
        links: Sequence[Link] | None = None,
        trace_state: TraceState | None = None,
    ) -> SamplingResult:
        """The inner sampler's result, with RECORD_ONLY for DROP."""
        # The SDK passes six arguments, and so a sampler may take no more.
        more = () if trace_state is None else (trace_state,)
        result = self.inner.should_sample(parent_context, trace_id, name, kind, attributes, links, *more)
        if result.decision is not Decision.DROP or not self.active:
            return result
        theirs: Mapping[str, AttributeValue] = _ATTRIBUTES(result) or {}
        return SamplingResult(Decision.RECORD_ONLY, {**(attributes or {}), **theirs}, result.trace_state)

    def get_description(self) -> str:
        """The inner sampler's."""
        return self.inner.get_description()


def install(provider: TracerProvider) -> int | None:
    """Have a provider record every span, for every tracer that is asked for afterwards.

    A tracer keeps the sampler that it was made with. Of those that were made before, as many as can be found are
    changed as well.

    Returns:
        How many such tracers were changed; None where this SDK does not list them, so that all keep their sampler.
    """
    wrapper = provider.sampler if isinstance(provider.sampler, RecordAll) else RecordAll(provider.sampler)
    wrapper.active = True
    provider.sampler = wrapper
    tracers = made_tracers(provider)
    for tracer in tracers or ():
        if tracer.sampler is wrapper.inner:
            tracer.sampler = wrapper
    return None if tracers is None else len(tracers)


def uninstall(provider: TracerProvider) -> None:
    """Give the provider and its tracers their sampler back; a tracer that cannot be found drops again all the same."""
    wrapper = provider.sampler
    if not isinstance(wrapper, RecordAll):
        return
    wrapper.active = False
    provider.sampler = wrapper.inner
    for tracer in made_tracers(provider) or ():
        if tracer.sampler is wrapper:
            tracer.sampler = wrapper.inner
