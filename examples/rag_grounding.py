"""Is an answer borne out by the documents that it was written from? Each sentence with the passage behind it.

python examples/rag_grounding.py
"""

from __future__ import annotations

from spanwise.grounding import check
from spanwise.grounding.answers import judge
from spanwise.grounding.pool import Piece, Pool

DOCUMENTS = {
    "returns.md": "Customers may return any item within 30 days after delivery. Sale items cannot be returned.",
    "shipping.json": '[{"to": "Norway", "days": 4, "price": "9 EUR"}, {"to": "Spain", "days": 6, "price": "12 EUR"}]',
}
ANSWER = """\
You can return items within 30 days of delivery. Sale items can be returned, too.
Shipping to Norway takes 4 days and costs 12 EUR. Gift wrapping is free.
Let me know if you need anything else!"""


def main() -> None:
    pool = Pool([Piece(text, "document", name) for name, text in DOCUMENTS.items()])
    said = judge(ANSWER, pool)
    for one in said.claims:
        print(f"{one.verdict}: {one.claim}")
        if one.quote:
            print(f"    {one.span_id}: {one.quote}")
    print(f"grounding: {said.value:.2f}")
    # One claim and some texts: the score orders claims, the verdict says what follows.
    alone = check("Shipping to Spain takes 6 days.", list(DOCUMENTS.values()))
    print(f"alone: {alone.verdict}, {alone.score:.2f}")


if __name__ == "__main__":
    main()
