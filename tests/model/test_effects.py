"""Which tools steer the run, and which change the world."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spanwise.model.effects import has_effect, is_control, name_has_effect, passes_control


@pytest.mark.parametrize(
    ("name", "control", "passes"),
    [
        ("final_answer", True, False),
        ("FinalAnswerTool", True, False),
        ("finish", True, False),
        ("final_result", True, False),
        ("final_result_Report", True, False),
        ("StructuredOutput", True, False),
        ("transfer_to_sales", True, True),
        ("transfer_back_to_triage", True, True),
        ("handoff_to_agent", True, True),
        ("Handoff", True, True),
        ("transfer_money", False, False),
        ("finish_order", False, False),
        ("search", False, False),
    ],
)
def test_control(name: str, control: bool, passes: bool) -> None:
    """Ending a run and handing it over is control, whatever the case; transferring money is work."""
    assert (control, passes) == (is_control(name), passes_control(name))


@pytest.mark.parametrize(
    ("name", "effect"),
    [
        ("create_order", True),
        ("createOrder", True),
        ("CreateOrder", True),
        ("orders-create", True),
        ("github.create_issue", True),
        ("HTTPPost", True),
        ("send", True),
        ("get_orders", False),
        ("search_docs", False),
        ("list_all_created", False),
        ("get_user_update_history", False),
        ("", False),
    ],
)
def test_names(name: str, effect: bool) -> None:
    """A verb that changes something leads the name, or stands behind one prefix; further back it is a noun."""
    assert effect == name_has_effect(name) == has_effect(name)


@pytest.mark.parametrize(
    ("hints", "effect"),
    [
        ({"readOnlyHint": True}, False),
        ({"readOnlyHint": False}, True),
        ({"readOnlyHint": True, "destructiveHint": True}, False),
        ({"destructiveHint": True}, True),
        ({"destructiveHint": False}, None),
        ({"readOnlyHint": "yes"}, None),
        ({}, None),
    ],
)
def test_annotations(hints: dict[str, object], effect: bool | None) -> None:
    """What a tool's annotations say goes before its name; where they say nothing the name decides."""
    for name, by_name in (("create_order", True), ("get_orders", False)):
        assert (by_name if effect is None else effect) == has_effect(name, hints)


@given(st.text())
def test_any_name(name: str) -> None:
    """Any name is judged, and what passes control is control."""
    assert name_has_effect(name) in {True, False}
    assert is_control(name) or not passes_control(name)
