"""A property that is computed once, when it is first read."""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, TypeVar, overload

T = TypeVar("T")
O = TypeVar("O")  # noqa: E741


class lazy(Generic[O, T]):  # noqa: N801  (used like `property`)
    """functools.cached_property without the lock that Python 3.11 takes at each first read: a run has one owner."""

    def __init__(self, read: Callable[[O], T]) -> None:
        self._read = read
        self.__doc__ = read.__doc__

    def __set_name__(self, owner: type[O], name: str) -> None:
        self._name = name

    @overload
    def __get__(self, instance: None, owner: type[O] | None = None) -> lazy[O, T]: ...
    @overload
    def __get__(self, instance: O, owner: type[O] | None = None) -> T: ...
    def __get__(self, instance: O | None, owner: type[O] | None = None) -> lazy[O, T] | T:
        if instance is None:
            return self
        value = instance.__dict__[self._name] = self._read(instance)
        return value
