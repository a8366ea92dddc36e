"""Sentences that claim nothing: questions, greetings, offers, orders, guesses, and what an agent says of itself."""

from __future__ import annotations

import re
from collections.abc import Sequence

from spanwise.grounding.quantities import Fact, Quantity, facts_in
from spanwise.grounding.words import SPEAKERS, STOP, is_unspaced, words_of

_LONG = 4_000


def _phrases(text: str) -> tuple[str, ...]:
    return tuple(phrase.strip("\n") for phrase in text.replace("|\n", "|").strip("\n").split("|"))


_ASIDE = _phrases("""
hello|hi |hi,|hi!|hey|thanks|thank you|you're welcome|you are welcome|sure|of course|certainly|let me |shall i|should i|
i hope|hope this|hope that|happy to|glad to|i'm happy|i am happy|i'd be happy|i would be happy|i'm glad|i can |i could |
i will |i'll |i'd |i would |i'm going to|i am going to|i need to|i have to|i am sorry|i'm sorry|sorry|i apologize|
i apologise|my apologies|unfortunately, i|please|good luck|good morning|good afternoon|enjoy|have a |congratulations|
welcome|great question|good question|here is|here's|here are|below is|below are|the following|as an ai|remember to|
don't forget|note:|let's |we can |we could |we'll |i don't|i do not|i didn't|i did not|i couldn't|i could not|i can't|
i cannot|i wasn't|i was not|i was unable|i am unable|i'm unable|i'm not |i am not |i've not|i have not|i haven't|
i understand|i recommend|i suggest|i think|i believe|i guess|i suspect|i assume|in my opinion|thought:|to be safe
""")
# Those of them that may go on with what was found.
_ANNOUNCED = _phrases("here is|here's|here are|sure|of course|certainly|thank|hello|hi|note:|sorry|below")
# The same, where little else is said: `You can return it within 30 days` is a claim.
_ADVICE = _phrases("""
you can |you could |you may |you should |you might |you'll need|you will need|you need to|make sure|be sure|if you |
if there|if anything|try |click|go to |visit |contact
""")
_OFFERS = _phrases("""
feel free|let me know|happy to help|happy to assist|glad to help|other questions|any questions|more questions|
further assistance|anything else|further help|would you like
""")
_HEDGES = frozenset("might perhaps possibly probably maybe presumably likely seemingly apparently supposedly".split())
_HEDGED = _phrases("""
may be |may have |could be |could have |it seems|it appears|not sure|i'm guessing|if i recall|it is possible|
it's possible|unclear|unlikely
""")
_ABSTAINS = re.compile(
    r"\b(?:i|we)\b[^.]{0,40}?\b(?:could(?: not|n't)|cannot|can't|unable|do(?: not|n't) have|did(?: not|n't)|not able"
    r"|found no)\b"
    r"|\bno (?:relevant |further |such )?(?:information|results?|records?|data|documents?)\b[^.]{0,30}"
    r"(?:found|available|returned)"
    r"|\bno information\b|\b(?:not enough|insufficient) information\b|\bc(?:annot|ould not) be determined\b"
)
_KNOWN = r"(?:known|certain|recorded|documented|disclosed)\b(?! (?:for (?!sure|certain)|as|to|by)\b)"
_IGNORANCE = re.compile(
    r"(?:"
    r"(?:nobody|no[ -]one|none of us)(?: (?:really|actually|truly|currently))? (?:knows?|can (?:say|tell|know))"
    r"(?: (?:for sure|for certain|exactly|yet|that|this|the answer))*"
    r"(?= (?:who|what|when|where|which|why|how|whether|if|the|his|her|its|their|\w+'s)\b|\W*$)"
    r"|who knows\W*$|your guess is as good as mine\b|(?:i|we) (?:(?:really |honestly )?have|'ve) no (?:idea|clue)\b"
    r"|(?:i|we) (?:may|might|will|can) never know\b|(?:i|we) (?:do not|don't) (?:really |actually )?know\b"
    r"|(?:there is|there's) no (?:sure |reliable )?(?:way|means) (?:to|of) "
    r"(?:know|tell|say|find|be|answer|determin|establish)\w*"
    rf"|(?:it|that|this)(?: is|'s| remains) "
    rf"(?:un(?:known|certain|clear)(?=\W*$| (?:wh|how|if|to me|at)\w*)|not (?:yet |publicly )?{_KNOWN}"
    r"|(?:impossible|not possible) to (?:know|tell|say|determine|answer|establish|be sure)\b)"
    rf"|(?:it|that|this) isn't (?:yet |publicly )?{_KNOWN}"
    r"|(?:it|that|this|the (?:answer|question)) (?:cannot|can't) be (?:answered|known|told|said)\b"
    r"|(?:the|these|those|my) [\w ]{0,30}(?:documents?|sources?|results?|context|texts?|passages?|information)"
    r" (?:do|does|did)(?:n't| not) (?:say|mention|state|specify|tell|reveal|indicate)\b"
    r"|[^,:;]{0,80} (?:(?:is|are|was|were|remains?)(?: still| currently)? (?:unknown|not known)|(?:is|are)n't known)"
    r"(?: to (?:me|us|anyone|science))?(?: (?:for sure|for certain|exactly))?\W*$"
    r"|unknown\W*$)"
)
"""A sentence that begins so says only what is not known, unless it goes on."""
_GOES_ON = re.compile(
    r"\b(?:but|however|although|though|while|whereas|because|since|except|unless|apart|besides|instead|than)\b"
    r"|[;:\u2013\u2014]|, (?:yet|and|so|as|only|which|not)\b"
)
_LEADS = re.compile(
    r"(?:(?:yes|no|sure|okay|ok|well|so|and|but|thus|therefore|hence|also|note that|as you can see|i found that|i found"
    r"|i see that|according to (?:the|my) (?:results?|search(?: results?)?|tools?|documents?|data)|based on (?:the|my)"
    r" [a-z ]{3,40}|in short|in summary|overall|the answer is(?: that)?|answer:|final answer:)[,:]?\s+)+",
    re.IGNORECASE,
)
_WORKED = re.compile(
    r"i(?:'ve| have)? (?:just |now |also |already )?(?:checked|searched|looked|reviewed|analy[sz]ed|gathered|retrieved"
    r"|pulled|compiled|consulted|examined|read|used|ran|tried|went through|asked|collected)\b"
)
_ORDERS = frozenset(
    """add ask call check choose click close confirm contact copy create download email ensure enter follow keep log
    open press provide read refer restart review run search select send set sign specify submit type upload use verify
    wait""".split()
)
_SIGNALS = frozenset(
    {"TERMINATE", "TERMINATED", "DONE", "FINISHED", "STOP", "EXIT", "END", "TASK COMPLETE", "TASK COMPLETED"}
)
"""What agents say, in these letters, to end a conversation between them."""


def why_not(text: str) -> str:
    """Why a sentence claims nothing that could be checked; empty where it does."""
    if text.strip(" \n.!*_`#[]<>").replace("_", " ") in _SIGNALS:
        return "ends the conversation"
    said = _plain(text)
    bare = _core(said)
    if said.rstrip("\"'\u201d)").endswith(("?", "\uff1f")):
        return "a question"
    if said.endswith((":", "\uff1a")):
        return "leads to what follows"
    words = [word.text for word in words_of(bare)]
    facts = facts_in(bare)
    telling = [word for word in words if word not in STOP | SPEAKERS and (len(word) > 1 or is_unspaced(word))]
    if _ABSTAINS.search(said) or _is_ignorance(said, bare):
        return "says that something is not known"
    if _is_aside(bare, telling, facts):
        return "speaks to the user"
    if not _HEDGES.isdisjoint(words) or (not facts and any(phrase in said for phrase in _HEDGED)):
        return "a guess"
    if (
        words
        and words[0] in _ORDERS
        and bare[len(words[0]) :][:1] != "-"
        and not any(len(word) > 4 and word.endswith(("ed", "s")) for word in words[1:3])
    ):
        return "an instruction"
    little = all(word.isdecimal() for word in telling)
    if little and not any(not isinstance(fact, Quantity) or fact.telling for fact in facts):
        return "says too little to be checked"
    return ""


def says_unknown(text: str) -> bool:
    """A sentence says that something is known to nobody or cannot be told, and nothing besides."""
    said = _plain(text)
    return _is_ignorance(said, _core(said))


def _plain(text: str) -> str:
    return text[:_LONG].lower().replace("\u2019", "'").strip()


def _is_ignorance(said: str, bare: str) -> bool:
    return any(_IGNORANCE.match(one) for one in (said, bare)) and _GOES_ON.search(bare) is None


def _core(text: str) -> str:
    """A sentence without what leads into it."""
    return text[met.end() :] if (met := _LEADS.match(text)) and met.end() < len(text) else text


def _is_aside(said: str, telling: Sequence[str], facts: Sequence[Fact]) -> bool:
    """The sentence speaks to the user, and says nothing besides."""
    if any(phrase in said for phrase in _OFFERS):
        return True
    if said.startswith(_ASIDE):
        return not (said.startswith(_ANNOUNCED) and len(said) > 40 and facts)
    return not facts and len(telling) < 5 and (said.startswith(_ADVICE) or _WORKED.match(said) is not None)
