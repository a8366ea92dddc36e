"""Is a claim borne out by evidence? Without a model, in well under a millisecond, with the passage that says so.

>>> from spanwise.grounding import check
>>> said = check("Lyon has 513,000 inhabitants.", ['{"city": "Lyon", "population": 513000}'])
>>> said.verdict, said.quote
('supported', '{"city": "Lyon", "population": 513000}')
"""

from __future__ import annotations

from spanwise.grounding.support import Support, check
from spanwise.grounding.verdicts import Verdict

__all__ = ["Support", "Verdict", "check"]
