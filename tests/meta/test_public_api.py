"""What `from spanwise import ...` offers."""

import inspect

import spanwise

NAMES = 12


def test_public_names_are_sorted() -> None:
    """`__all__` is sorted and names nothing twice."""
    assert sorted(set(spanwise.__all__)) == list(spanwise.__all__)


def test_public_names_are_few() -> None:
    """At most twelve names are re-exported."""
    assert NAMES >= len(spanwise.__all__)


def test_public_names_exist_and_are_described() -> None:
    """Every name in `__all__` is there, and every function and class among them has a docstring."""
    values = {name: getattr(spanwise, name) for name in spanwise.__all__}
    described = {name for name, value in values.items() if not callable(value) or inspect.getdoc(value)}
    assert set(spanwise.__all__) == described
