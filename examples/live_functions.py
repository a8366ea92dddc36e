"""Plain functions without any framework: each call of the agent is a run, its tools are told with `spanwise.record`.

python examples/live_functions.py
"""

from __future__ import annotations

import spanwise
from spanwise import record


@record.tool
def look_up(city: str) -> int:
    """Inhabitants of a city."""
    return {"Quito": 2_011_000, "Hanoi": 8_500_000}[city]


def compare(question: str) -> str:
    """An agent of three lines; it asks for one city twice."""
    quito, hanoi = look_up("Quito"), look_up("Hanoi")
    return f"Hanoi has {hanoi - quito} more inhabitants than Quito, of {look_up('Hanoi')}."


if __name__ == "__main__":
    handle = spanwise.instrument(compare, console=True)
    compare = handle.target
    print(compare("Which of Quito and Hanoi is larger?"))
    handle.flush()
    result = handle.last()[0]
    print([call.name for call in result.run.tool_calls], result.run.query)
