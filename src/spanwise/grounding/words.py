"""Words as they are looked for in evidence: what counts as one, what it says, and the forms in which it may stand.

Evidence is read by the megabyte, claims by the line. So a claim's words are unfolded into all their forms once, and
evidence is only divided at what is no letter or digit, in C: `low` gives bytes of the same length as the text's own, so
that a place in one is a place in the other.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from typing import NamedTuple

_ENCODING = "surrogatepass"
# Letters and digits of ASCII in lower case, all else of ASCII a space; other bytes stay.
_LOW = bytes(code if code > 127 else ord(chr(code).lower()) if chr(code).isalnum() else 32 for code in range(256))


class _Marks(NamedTuple):
    """Signs that divide words: the first byte of each, between what the second one is, and as many spaces."""

    lead: bytes
    least: int
    most: int
    spaces: bytes
    everywhere: re.Pattern[bytes]


# Quotes, dashes, dots and spaces that are no ASCII, in UTF-8: U+2000 to U+207F, U+00A0 to U+00BF.
_GENERAL = _Marks(b"\xe2", 0x80, 0x81, b"   ", re.compile(rb"\xe2[\x80\x81][\x80-\xbf]"))
_LATIN = _Marks(b"\xc2", 0xA0, 0xBF, b"  ", re.compile(rb"\xc2[\xa0-\xbf]"))
# Of rarer bytes than one in so many each is looked for, which is faster than an expression that goes through them all.
_RARE = 200
_SPACE = 0x20
_WIDE = {code: code - 0xFEE0 for code in range(0xFF01, 0xFF5F)} | {0x3000: 0x20}
# How the UTF-8 of those begins.
_IS_WIDE = (b"\xef\xbc", b"\xef\xbd", b"\xe3\x80\x80")

UNSPACED = (
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3005-\u3007\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af"
    "\uf900-\ufaff"
)
"""Scripts that put no space between words, or glue particles to them: there each pair of signs is looked for."""
_TOKEN = re.compile(rf"[{UNSPACED}]+|[^\W_{UNSPACED}]+")
_PLAIN = re.compile(r"[a-z0-9]+")
_UNSPACED = re.compile(f"[{UNSPACED}]")

STOP = frozenset(
    """a about above after again against all also although am an and any anyway are as at be became because been before
    being below between both but by came can cannot come could d did do does doing done down during each either else
    etc ever every few for from further get gets getting go goes going got had has have having he her here hers herself
    him himself his how however i if in into is it its itself just ll let like m made make makes may me might mine more
    most much must my myself neither no nor not now of off often on once only onto or other our ours ourselves out over
    own per quite rather re really s same shall she should since so some still such t than that the their theirs them
    themselves then there thereby therefore these they thing things this those though through thus to too toward
    towards under until up upon us use used using ve very via was we well were what when where whether which while who
    whom whose why will with within without would yeah yes yet you your yours yourself yourselves actually know ok okay
    oh think don doesn didn isn wasn aren weren couldn wouldn shouldn ain hasn haven hadn""".split()
)
"""Words that say little by themselves."""
SPEAKERS = frozenset("i me my mine myself we us our ours ourselves you your yours yourself yourselves".split())
"""Words about who speaks and who is spoken to."""
STARTERS = frozenset(
    """according additionally afterwards again all although among another as based because besides beyond both
    but certain
    consequently currently despite different due each earlier either eventually every everyone everything few finally
    first following for furthermore given half hence her his however in indeed instead its key last lastly later
    likewise
    many meanwhile more moreover most multiple my nearly neither nevertheless next no none nonetheless nothing notably
    now numerous of on once one only other others otherwise our overall previously rather recent recently second several
    similarly since some someone something soon still subsequently such summary that the their then there
    therefore these
    they third this those three though thus today together total two under unlike until various we when where whereas
    which while who within without""".split()
)
"""Words that sentences begin with, and that are no names."""
_NEGATIONS = frozenset(
    """not no never none nobody nothing cannot nicht kein keine keinen keinem keiner keines nie niemals niemand nichts
    pas jamais aucun aucune nunca jam\u00e1s ning\u00fan ninguna ninguno n\u00e3o""".split()
)
_CONTRACTED = frozenset("isn wasn aren weren don doesn didn can couldn wouldn shouldn won hasn haven hadn".split())
FAILS = frozenset("fail fails failed failing".split())
_ITALIAN = frozenset("il lo gli della dello \u00e8 sono che di".split())
DENYING = frozenset("不没沒未无無않없")
"""Signs of Chinese, Japanese and Korean that say that something is not so."""
_NOT_DENYING = frozenset(
    """不同 不仅 不僅 不但 不过 不過 不断 不斷 不少 不久 不锈 没收 未来 未來 无线 無線 无论 無論 無料""".split()
)
_FEW = frozenset("少な 危な".split())
_ONLY = frozenset("only just doubt merely surprise".split())


_IRREGULAR = """be is are was were been being|have has had having|do does did done doing|go goes went gone going|
become becomes became becoming|begin begins began begun beginning|break breaks broke broken|bring brings brought|
build builds built building|buy buys bought buying|catch catches caught|choose chooses chose chosen choosing|
come comes came coming|draw draws drew drawn|drive drives drove driven driving|eat eats ate eaten|
fall falls fell fallen falling|find finds found finding|fly flies flew flown flying|get gets got gotten getting|
give gives gave given giving|grow grows grew grown growing growth|hold holds held holding|keep keeps kept keeping|
know knows knew known|lead leads led leading|leave leaves left leaving|lose loses lost losing loss|
make makes made making|mean means meant|meet meets met meeting|pay pays paid paying|rise rises rose risen rising|
run runs ran running|say says said saying|see sees saw seen|sell sells sold selling sale sales|send sends sent sending|
show shows showed shown showing|speak speaks spoke spoken|spend spends spent spending|stand stands stood|
take takes took taken taking|teach teaches taught|tell tells told telling|think thinks thought|
win wins won winning|write writes wrote written writing|bear bears born|die dies died dying death|live lives lived life|
man men|woman women|child children|person people persons|foot feet|million millions|good better best|
zero 0|two 2|three 3|four 4|five 5|six 6|seven 7|eight 8|nine 9|ten 10|eleven 11|twelve 12|first 1st|second 2nd|
third 3rd|fourth 4th|fifth 5th|jan january|feb february|mar march|apr april|jun june|jul july|aug august|
sep sept september|oct october|nov november|dec december"""
_GROUPS = [group.split() for group in _IRREGULAR.split("|")]
_OF_GROUP = {word: group for group in _GROUPS for word in group}
# One vowel before the last letter, which may be doubled then: run, running.
_DOUBLES = re.compile(r"(?:^|[^aeiou]|qu)[aeiouy][^aeiouywx]$")
_ENDINGS = ("", "s", "es", "ed", "ing", "e", "er", "ers", "ly", "al")


class Word(NamedTuple):
    """A word where it stands: folded, and its place in the text."""

    text: str
    start: int
    end: int


def words_of(text: str) -> list[Word]:
    """The words and numbers of a text; of a script without spaces, each pair of neighbouring signs.

    >>> [word.text for word in words_of("Don't: user_id 北京市")]
    ['don', 't', 'user', 'id', '北京', '京市']
    """
    if text.isascii():
        return [Word(met[0], met.start(), met.end()) for met in _PLAIN.finditer(text.lower())]
    out: list[Word] = []
    for met in _TOKEN.finditer(text):
        token, start = met.group(), met.start()
        if not token.isascii() and _UNSPACED.match(token):
            out += [Word(token[at : at + 2], start + at, start + at + 2) for at in range(max(len(token) - 1, 1))]
        else:
            out.append(Word(token.lower() if token.isascii() else _folded(token), start, met.end()))
    return out


def negations(words: Sequence[Word]) -> list[int]:
    """Where words stand that turn what is said into its opposite; `not only` does not."""
    out: list[int] = []
    for at, word in enumerate(words):
        following = words[at + 1].text if at + 1 < len(words) else ""
        if (
            (word.text in _NEGATIONS and following not in _ONLY)
            or (word.text in _CONTRACTED and following == "t")
            or (word.text in FAILS and following == "to")
            or (word.text == "non" and not _ITALIAN.isdisjoint(other.text for other in words))
            or (not word.text.isascii() and _denies(word.text, words[at - 1].text if at else "", following))
        ):
            out.append(at)
    return out


def _denies(pair: str, before: str, following: str) -> bool:
    """Two signs of Chinese, Japanese or Korean say that something is not so."""
    if pair[0] in DENYING:
        return pair not in _NOT_DENYING
    return (
        (pair == "せん" and before == "ませ")
        or (pair == "ない" and before not in _FEW)
        or (pair == "なか" and following == "かっ")
    )


def _folded(token: str) -> str:
    return unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", token).casefold())


def is_unspaced(word: str) -> bool:
    """The word is of a script that puts no space between words."""
    return not word.isascii() and _UNSPACED.match(word) is not None


def raw_of(text: str) -> bytes:
    """The bytes of a text, whatever stands in it; wide letters and digits of East Asian type are those of ASCII."""
    raw = text.encode("utf-8", _ENCODING)
    if text.isascii() or (raw.find(b"\xef") < 0 and raw.find(b"\xe3") < 0):
        return raw
    return text.translate(_WIDE).encode("utf-8", _ENCODING) if any(mark in raw for mark in _IS_WIDE) else raw


def text_of(raw: bytes | bytearray) -> str:
    """The text of such bytes, or of a part that was cut between signs."""
    return raw.decode("utf-8", _ENCODING)


def low(raw: bytes) -> bytes:
    """As many bytes with letters of ASCII in lower case, and a space for each byte of what divides words."""
    if not raw.isascii():
        raw = _divided(_divided(raw, _GENERAL), _LATIN)
    return raw.translate(_LOW)


def _divided(raw: bytes, marks: _Marks) -> bytes:
    """The same with spaces for the marks of a kind; few are put in one by one."""
    lead, least, most, spaces, everywhere = marks
    find = raw.find
    at = find(lead)
    if at < 0:
        return raw
    out, last = bytearray(raw), len(spaces) - 1
    for _ in range(len(raw) // _RARE + 1):
        if least <= raw[at + 1] <= most:
            out[at] = out[at + 1] = out[at + last] = _SPACE
        at = find(lead, at + 1)
        if at < 0:
            return bytes(out)
    return everywhere.sub(spaces, raw)


def forms_of(word: str) -> tuple[str, ...]:
    """The forms in which a word may stand: its inflections, its accents left out, a number spelt out.

    >>> set(forms_of("cities")) >= {"city", "cities"}
    True
    """
    group = _OF_GROUP.get(word)
    if group is not None:
        return tuple(group)
    if len(word) < 3 or not word.isalpha() or word in STOP or is_unspaced(word):
        return (word,)
    stem = stem_of(word)
    found = {word, *(stem + ending for ending in _ENDINGS)}
    if len(word) == 4 and word[3] == "s" and word[2] not in "sui":
        found.add(word[:3])
    if stem[-1] in "yi":
        found |= {stem[:-1] + ending for ending in ("y", "ies", "ied", "ier", "ily")}
    if word[-1] == "a":
        found.add(word + "n")
    elif word.endswith("an"):
        found.add(word[:-1])  # Libya, Libyan
    if _DOUBLES.search(stem):
        found |= {stem + stem[-1] + ending for ending in ("ed", "ing", "er")}
    if not word.isascii():
        found |= {bare for form in found if (bare := _bare(form)) != form}
        found = found.union(*map(cased, found))
    return tuple(found)


def cased(form: str) -> tuple[str, ...]:
    """How a form may stand in lowered evidence, where capitals that are no ASCII stay: all of them, or the first.

    >>> cased("été"), cased("ete")
    (('ÉtÉ', 'Été'), ())
    """
    if form.isascii():
        return ()
    capitals = "".join(sign if sign.isascii() else sign.upper() for sign in form)
    return (capitals,) if form[0].isascii() else (capitals, capitals[:1] + form[1:])


def stem_of(word: str) -> str:
    """A word without its ending, roughly."""
    if len(word) > 4:
        for ending, rest in (
            ("ies", "y"),
            ("sses", "ss"),
            ("ing", ""),
            ("edly", ""),
            ("ed", ""),
            ("es", ""),
            ("s", ""),
        ):
            if word.endswith(ending) and len(word) - len(ending) >= 3 and not (ending == "s" and word.endswith("ss")):
                word = word[: len(word) - len(ending)] + rest
                break
        if len(word) > 3 and word[-1] == word[-2] and word[-1] not in "ls":
            word = word[:-1]
        if len(word) > 4 and word[-1] == "e":
            word = word[:-1]
    return word


def _bare(word: str) -> str:
    return "".join(sign for sign in unicodedata.normalize("NFD", word) if not unicodedata.combining(sign))
