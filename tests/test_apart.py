"""Receipts tell when sinks are done with what they were given, and whether they have it."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field

from spanwise.apart import Apart, Receipt
from spanwise.delivery import Delivery, DeliverySettings
from tests.servers import wait_for
from tests.test_delivery import WAIT_S, Kept, result


@dataclass
class Told:
    """Makes a receipt, and keeps what it told."""

    answers: list[bool] = field(default_factory=list[bool])

    def receipt(self) -> Receipt:
        """A new one."""
        return Receipt(self.answers.append)


@dataclass
class Holding(Kept):
    """A sink that holds something in memory, and drops it at its end."""

    held: int = 1
    drops: dict[str, int] = field(default_factory=dict[str, int])

    def close(self) -> None:
        """Drop what is held."""
        if self.held:
            self.drops["closed"] = self.held
        self.held = 0


def no_pause() -> None:
    """Between sinks."""


def test_a_receipt_tells_once_when_all_are_done() -> None:
    """It waits for everybody who is expected, and says no if one of them lost it."""
    told = Told()
    kept, lost = told.receipt(), told.receipt()
    for receipt in (kept, lost):
        receipt.expect()
        receipt.done()
    assert [] == told.answers
    kept.done()
    lost.done(lost=True)
    assert [True, False] == told.answers


def test_delivery_waits_for_every_sink() -> None:
    """The receipt comes when the slowest sink has the results; at once where there are none."""
    told, gate = Told(), threading.Event()
    delivery = Delivery({"quick": Kept(), "slow": Kept(gate)}, DeliverySettings(apart=True), lambda *_: None)
    delivery.emit([result()], no_pause, told.receipt())
    assert not wait_for(lambda: bool(told.answers), timeout_s=0.2)
    assert delivery.backlog <= 1
    gate.set()
    assert wait_for(lambda: [True] == told.answers)
    delivery.emit([], no_pause, told.receipt())
    assert [True, True] == told.answers
    delivery.close()


def test_an_inline_sink_is_done_at_once() -> None:
    """Where no sink has a thread, the receipt is there when `emit` returns."""
    told = Told()
    Delivery({"kept": Kept()}, DeliverySettings(), lambda *_: None).emit([result()], no_pause, told.receipt())
    assert [True] == told.answers


def test_what_is_held_in_memory_is_not_done() -> None:
    """While a sink holds results in memory only, their receipts wait; `settle` gives them when it holds none."""
    told, sink = Told(), Holding()
    delivery = Delivery({"holding": sink}, DeliverySettings(apart=True), lambda *_: None)
    delivery.emit([result()], no_pause, told.receipt())
    assert wait_for(lambda: bool(sink.results))
    delivery.settle()
    assert ([], 1) == (told.answers, delivery.backlog)
    sink.held = 0
    delivery.settle()
    assert [True] == told.answers
    delivery.close()


def test_what_is_dropped_is_lost() -> None:
    """Results that find no room, come after the end, or that a sink drops at its end give a receipt that says so."""
    told, gate = Told(), threading.Event()
    apart = Apart(Kept(gate), most=1)
    apart.emit([result(1)], receipt=given(told))
    assert wait_for(lambda: apart.waiting == 0)
    for number in (2, 3):
        apart.emit([result(number)], receipt=given(told))
    assert [False] == told.answers
    apart.begin_close()
    apart.emit([result(4)], receipt=given(told))
    assert [False, False] == told.answers
    assert not apart.end_close(0.1)
    assert [False] * 3 == told.answers
    gate.set()
    assert wait_for(lambda: len(told.answers) == 4)
    assert told.answers[3]


def test_what_a_sink_drops_at_its_end_is_lost() -> None:
    """A sink that held results when it was closed and dropped them gives no receipt for having them."""
    told = Told()
    apart = Apart(Holding())
    apart.emit([result()], receipt=given(told))
    assert apart.flush(WAIT_S)
    apart.close()
    assert [False] == told.answers


def given(told: Told) -> Receipt:
    """A receipt that only the sink is expected to give."""
    return Expected(told.answers)


class Expected(Receipt):
    """A receipt whose first holder is the sink itself."""

    __slots__ = ()

    def __init__(self, answers: list[bool]) -> None:
        super().__init__(answers.append)

    def expect(self) -> None:
        """It is the first."""
