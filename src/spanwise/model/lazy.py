"""A property that is computed once, when it is first read."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Generic, TypeVar, overload

from spanwise.native import core

T = TypeVar("T")
O = TypeVar("O")  # noqa: E741


class Lazy(Generic[O, T]):
    """functools.cached_property without the lock that Python 3.11 takes at each first read: a run has one owner."""

    def __init__(self, read: Callable[[O], T]) -> None:
        self._read = read
        self.__doc__ = read.__doc__

    def __set_name__(self, owner: type[O], name: str) -> None:
        self._name = name

    @overload
    def __get__(self, instance: None, owner: type[O] | None = None) -> Lazy[O, T]: ...
    @overload
    def __get__(self, instance: O, owner: type[O] | None = None) -> T: ...
    def __get__(self, instance: O | None, owner: type[O] | None = None) -> Lazy[O, T] | T:
        if instance is None:
            return self
        value = self._read(instance)
        setattr(instance, self._name, value)
        return value


if TYPE_CHECKING or core is None:
    lazy = Lazy
else:
    lazy = core.Lazy
