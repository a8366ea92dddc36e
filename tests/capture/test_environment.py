"""`SPANWISE_*` variables and options of a configuration file."""

from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spanwise.capture.environment import OPTIONS, asked
from spanwise.capture.sampling import Gate


def test_every_variable_is_read() -> None:
    """Each variable becomes the argument of `instrument` that it stands for."""
    found = asked(
        {
            "SPANWISE_ENABLED": "TRUE",
            "SPANWISE_CONSOLE": "1",
            "SPANWISE_STORE": " runs.db ",
            "SPANWISE_PROFILE": "classic",
            "SPANWISE_EVALUATORS": "redundancy, cost,",
            "SPANWISE_SAMPLE": "0.25",
        }
    )
    arguments = dict(found.arguments)
    gate = arguments.pop("sampling")
    assert isinstance(gate, Gate)
    assert 0.25 == gate.admission.sampling.default
    assert {
        "console": True,
        "store": "runs.db",
        "profile": "classic",
        "evaluators": ("redundancy", "cost"),
    } == arguments
    assert (True, ()) == (found.enabled, found.problems)


@pytest.mark.parametrize(
    ("environment", "explicit", "enabled"),
    [
        ({}, False, False),
        ({}, True, True),
        ({"SPANWISE_ENABLED": "yes"}, False, True),
        ({"SPANWISE_CONSOLE": "true"}, False, True),
        ({"SPANWISE_CONSOLE": " "}, False, False),
        ({"SPANWISE_ENABLED": "off", "SPANWISE_CONSOLE": "true"}, False, False),
        ({"SPANWISE_ENABLED": "0"}, True, False),
        ({"SPANWISE_REQUIRE": "all", "OTEL_SDK_DISABLED": "true"}, False, False),
    ],
)
def test_when_scoring_is_on(environment: Mapping[str, str], explicit: bool, enabled: bool) -> None:
    """SPANWISE_ENABLED decides; without it, being asked for, or one of the other variables, turns it on."""
    assert enabled == asked(environment, explicit=explicit).enabled


@pytest.mark.parametrize(
    ("environment", "problem"),
    [
        ({"SPANWISE_CONSOLE": "maybe"}, "SPANWISE_CONSOLE: read 'maybe', expected true or false"),
        ({"SPANWISE_SAMPLE": "10%"}, "SPANWISE_SAMPLE: read '10%', expected a number from 0 to 1"),
        ({"SPANWISE_SAMPLE": "nan"}, "SPANWISE_SAMPLE: read 'nan', expected a number from 0 to 1"),
        ({"SPANWISE_SAMPLE": "1.01"}, "SPANWISE_SAMPLE: read '1.01', expected a number from 0 to 1"),
        (
            {"SPANWISE_EVALUATORS": " , "},
            "SPANWISE_EVALUATORS: read ',', expected names of evaluators, separated by commas",
        ),
        (
            {"SPANWISE_ENABLED": "ture"},
            "SPANWISE_ENABLED: read 'ture', expected true or false; nothing is scored",
        ),
    ],
)
def test_what_is_not_usable_is_told_and_left_out(environment: Mapping[str, str], problem: str) -> None:
    """The text says the variable, what was read and what was expected; the argument keeps its default."""
    found = asked(environment)
    assert ((problem,), {}) == (found.problems, dict(found.arguments))
    assert ("SPANWISE_ENABLED" not in environment) == found.enabled


def test_options_of_a_file_win() -> None:
    """They are named like the variables and may hold lists and numbers; what is null is as if it were not there."""
    found = asked(
        {"SPANWISE_PROFILE": "classic", "SPANWISE_CONSOLE": "1"},
        {"console": False, "evaluators": ["cost", "loops"], "sample": 1, "store": True, "profile": None},
    )
    assert (False, ("cost", "loops"), True, "classic") == tuple(
        found.arguments[name] for name in ("console", "evaluators", "store", "profile")
    )
    assert () == found.problems


def test_an_unknown_option_is_told() -> None:
    """A wrong letter names the options that there are."""
    found = asked({}, {"consol": True})
    assert ("consol: unknown option; known: console, store, profile, evaluators, sample",) == found.problems
    assert {} == found.arguments


@given(st.dictionaries(st.sampled_from([f"SPANWISE_{name.upper()}" for name in (*OPTIONS, "enabled")]), st.text()))
def test_nothing_in_a_variable_raises(environment: dict[str, str]) -> None:
    """Whatever is written, each variable is read or told."""
    found = asked(environment)
    written = {name for name, value in environment.items() if value.strip()} - {"SPANWISE_ENABLED"}
    told = [one for one in found.problems if not one.startswith("SPANWISE_ENABLED")]
    assert len(written) == len(found.arguments) + len(told)


@pytest.mark.parametrize("value", [[], {}, 3, None, True, [None], object()])
@pytest.mark.parametrize("name", [*OPTIONS, "other"])
def test_nothing_in_an_option_raises(name: str, value: Any) -> None:
    """Whatever a file holds, an option is read, told, or nothing."""
    found = asked({}, {name: value})
    assert (value is not None) == len(found.arguments) + len(found.problems)
