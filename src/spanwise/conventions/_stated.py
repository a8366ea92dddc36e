"""What an app says of a request by `spanwise.context`, on spans of whatever dialect."""

from __future__ import annotations

from spanwise.conventions._messages import items
from spanwise.conventions._values import first_text, mapping_of
from spanwise.model.content import ContextFields, Memo
from spanwise.model.raw import RawSpan

STATED = (
    "spanwise.session_id",
    "spanwise.user_id",
    "spanwise.request_id",
    "spanwise.tags",
    "spanwise.metadata",
)
"""What `spanwise.context` writes on spans."""


def stated(span: RawSpan, memo: Memo) -> ContextFields | None:
    """What the app itself said by `spanwise.context`, on a span of whatever dialect; None for nothing."""
    attributes = span.attributes
    if not any(name in attributes for name in STATED):
        return None
    session, user, request, tags, metadata = STATED
    given = memo.json(attributes.get(tags))
    return ContextFields(
        first_text(attributes, session),
        first_text(attributes, user),
        first_text(attributes, request),
        tuple(tag for tag in items(given) or () if isinstance(tag, str)),
        mapping_of(memo.json(attributes.get(metadata))),
    )
