"""The settings of assembly refuse what cannot be meant, and the service's are those of a service."""

from __future__ import annotations

import pytest

from spanwise.assembly.bounds import LIVE, OFFLINE, SERVICE, AssemblySettings
from spanwise.errors import ModelError


@pytest.mark.parametrize(("name", "value"), [("grace_ns", -1), ("late_ns", -5), ("max_traces", 0), ("max_bytes", -1)])
def test_values_that_cannot_be_meant(name: str, value: int) -> None:
    """A negative time and a bound of nothing are errors that name the setting."""
    with pytest.raises(ModelError, match=name):
        AssemblySettings(**{name: value})


def test_each_door_has_its_own() -> None:
    """Offline the end of the input finishes traces, in an app a local root, in a service the topmost one."""
    assert ["end", "local_root", "top_root"] == [one.finish for one in (OFFLINE, LIVE, SERVICE)]
