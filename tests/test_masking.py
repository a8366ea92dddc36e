"""What is let out: levels of content, and secrets taken out of what is shown."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spanwise.errors import SpecError
from spanwise.masking import DEFAULT, KINDS, Masking, masked, shown
from spanwise.model.result import RunResult
from spanwise.model.score import Evidence, Score, not_measurable
from tests.making import agent, run_of

# Spelt in pieces, so that no scanner takes this file for one that leaks.
SK = "sk" + "-proj-" + "Ab3dEf6hIj9kLm2nOp5q"
GITHUB = "ghp" + "_" + "0123456789abcdefghijABCDEFGHIJ012345"
AWS = "AKIA" + "IOSFODNN7EXAMPLE"
JWT = "eyJhbGciOiJIUzI1NiJ9" + "." + "eyJzdWIiOiIxMjMifQ" + "." + "SflKxwRJSMeKKF2QT4"
PEM = "-----BEGIN RSA PRIVATE" + " KEY-----\nMIIB\nAAAA\n-----END RSA PRIVATE" + " KEY-----"
CARD = "4111 1111 1111 1111"
SECRETS: Mapping[str, tuple[str, str]] = {
    "an OpenAI key": (f"use {SK} here", "use [masked: api key] here"),
    "a GitHub token": (GITHUB, "[masked: api key]"),
    "an AWS key": (f'"{AWS}"', '"[masked: api key]"'),
    "a Stripe key": ("rk" + "_live_0123456789ab.", "[masked: api key]."),
    "a JWT": (f"token {JWT}, then", "token [masked: token], then"),
    "a header": ("Authorization: Basic dXNlcjpwYXNz", "Authorization: Basic [masked: token]"),
    "a header in JSON": ('{"authorization": "Bearer abcdefgh"}', '{"authorization": "Bearer [masked: token]"}'),
    "a bearer token": ("bearer 0a1b2c3d4e5f6a7b8c9d", "bearer [masked: token]"),
    "a private key": (f"a {PEM} b", "a [masked: private key] b"),
    "the beginning of a private key": (PEM[:50], "[masked: private key]"),
    "a password in a URL": ("postgres://me:p@ss:w@db.test/x", "postgres://me:[masked: password]@db.test/x"),
    "a password in JSON": ('{"db_password":"a\\"b\'c","n":1}', '{"db_password":"[masked: password]","n":1}'),
    "a key in JSON within JSON": (r"{\"api_key\": \"k-1\"}", r"{\"api_key\": \"[masked: password]\"}"),
    "a password as Python writes it": ("{'password': 'x y'}", "{'password': '[masked: password]'}"),
    "a password in code": ('password = "hunter 2"', 'password = "[masked: password]"'),
    "a password in a form": ("user=me&password=hunter2&x=1", "user=me&password=[masked: password]&x=1"),
    "a signed address": ("https://a.test/f?sig=0123456789&x=1", "https://a.test/f?sig=[masked: password]&x=1"),
    "an e-mail address": ("Jane <jane.doe+x@mail.example.co.uk>.", "Jane <[masked: email]>."),
    "a card": (f"pay with {CARD}.", "pay with [masked: card]."),
    "a card without spaces": ("4111111111111111,5555555555554444", "[masked: card],[masked: card]"),
    "an American Express card": ("3782-822463-10005", "[masked: card]"),
}
HARMLESS = (
    "4bf92f3577b34da6a3ce929d0e0e4736",
    "00f067aa0ba902b7",
    "12345678901234567890123456789012",
    "1111111111111111",
    "4111111111111112",  # the check digit is wrong
    "trace 00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
    "123e4567-e89b-12d3-a456-426614174000",
    "41111111-1111-1111-1111-411111111111",
    "2026-11-18T17:40:26.123456789Z",
    "1763487626123456789",
    "took 1763487626123 ms",
    "$1,234,567,890.12 and 0.4111111111111111",
    "4111111111111111.5",
    "call +49 151 23456789",
    "max_tokens=4096, tokens: 1200, token budget = 5000",
    '{"token":"the","next":null,"password":"","api_key":null}',
    "password: required",
    "the secret is to wait",
    "Basic understanding of bearer bonds",
    "risk-adjusted-returns-over-many-years",
    "sk-learn-compatible-estimators-only",
    "git@github.com:acme/app.git",
    "http://host:8080/path?email=x#a@b",
    "user@localhost and lodash@4.17.21",
    "@app.get and a @ b",
    "1 of 2 tool calls repeat an earlier one.",
    "eyJust a word",
    "-----BEGIN CERTIFICATE-----",
    "search({'q': 'population of France 2024'})",
)


@pytest.mark.parametrize("name", SECRETS)
def test_secrets(name: str) -> None:
    """Each kind of secret is masked, and nothing around it."""
    text, expected = SECRETS[name]
    assert expected == DEFAULT(text)


@pytest.mark.parametrize("text", HARMLESS)
def test_what_is_no_secret(text: str) -> None:
    """Ids, times, prices, prose and code stay as they are."""
    assert text == DEFAULT(text)


PIECES = [text for text, _ in SECRETS.values()] + [text for _, text in SECRETS.values()] + list(HARMLESS)
JOINS = ["", " ", "\n", '"', ":", "=", "@", ".", "-", "[", "]", "[masked: ", "&", "://", "password=", "4", "x"]


@given(st.lists(st.sampled_from(PIECES + JOINS), max_size=8).map("".join) | st.text())
def test_masking_twice_is_masking_once(text: str) -> None:
    """What is masked stays as it is."""
    once = DEFAULT(text)
    assert once == DEFAULT(once)


@given(st.lists(st.lists(st.sampled_from(PIECES + JOINS), max_size=4).map("".join) | st.text(), max_size=4))
def test_texts_that_are_looked_at_together(texts: list[str]) -> None:
    """Texts that are clear together stay as they are, each of them."""
    if DEFAULT.clears(texts):
        assert texts == [DEFAULT(text) for text in texts]


@pytest.mark.parametrize("name", SECRETS)
def test_a_secret_among_clear_texts(name: str) -> None:
    """A secret in one of many texts is seen, and what has none is clear at once."""
    assert not DEFAULT.clears(["18 degrees", SECRETS[name][0], "in both cities"])
    assert DEFAULT.clears(["18 degrees", "in both cities: 12345678"])
    assert not Masking(functions=(str.upper,)).clears(["18 degrees"])
    assert not DEFAULT.clears(["[masked: card]"])


@given(st.sampled_from([text for text, _ in SECRETS.values()]), st.sampled_from(list(HARMLESS)))
def test_neighbours(secret: str, other: str) -> None:
    """A secret is found on a line of its own, whatever stands above and below, and that stays."""
    assert f"{other}\n{DEFAULT(secret)}" == DEFAULT(f"{other}\n{secret}")


HOSTILE = {
    "letters": "a",
    "addresses": "a@",
    "labels": "a@b.",
    "prefixes": "sk-",
    "passwords": "password='",
    "addresses of the web": "://a:",
    "digits": "4",
    "groups": "4111 ",
    "tokens": "eyJ.",
    "keys": "-----BEGIN RSA PRIVATE KEY----",
    "names": "secret_",
    "headers": "authorization:  ",
}


@pytest.mark.parametrize("name", HOSTILE)
def test_time_grows_with_the_text_only(name: str) -> None:
    """Of a text that is made to be slow, eight times as much takes no more than some eight times as long."""

    def took(size: int) -> float:
        text = HOSTILE[name] * (size // len(HOSTILE[name]))
        times: list[float] = []
        for _ in range(3):
            begun = time.process_time()
            DEFAULT(text)
            times.append(time.process_time() - begun)
        return min(times)

    took(1000)
    # The square would be 64 times as long.
    assert took(160_000) < 24 * max(took(20_000), 0.001)


def test_kinds_are_chosen() -> None:
    """Only the kinds that are named are looked for; none at all lets everything through."""
    text = f"a@b.test {CARD}"
    assert f"[masked: email] {CARD}" == Masking(kinds=["email"])(text)
    assert text == Masking(kinds=())(text)
    assert {"private key", "password", "token", "api key", "email", "card"} == set(KINDS)


def test_patterns_of_ones_own() -> None:
    """A regex of the user's masks by its own name, in texts beyond ASCII and with halves of surrogate pairs, too."""
    mask = Masking(patterns={"customer": r"CUST-\d{6}"})
    assert "für [masked: customer], \ud800[masked: customer]" == mask("für CUST-123456, \ud800CUST-654321")
    assert {"customer": "[masked: customer]"} == masked({"customer": "CUST-123456"}, mask)
    assert "[masked: n]" == masked(123456, Masking(patterns={"n": r"^\d{6}$"}))


@pytest.mark.parametrize("pattern", ["a", r"\ba", "^a", "a*", "masked", "."])
def test_patterns_without_end(pattern: str) -> None:
    """Whatever a user's regex matches, masking ends, and masking twice is masking once."""
    mask = Masking(patterns={"mine": pattern})
    for text in ("aaaa" * 10, "banana a", "", "masked"):
        once = mask(text)
        assert once == mask(once)
    assert "[masked: all]" == Masking(patterns={"mine": r"\ba"})("a" * 10)


def test_what_is_allowed() -> None:
    """A text that is allowed as it stands, or by a regex that matches all of it, is not masked."""
    mask = Masking(allow=["support@acme.test"], allow_patterns=[r".*@public\.test"])
    text = "support@acme.test jane@acme.test a@public.test a@public.test.evil.test"
    assert "support@acme.test [masked: email] a@public.test [masked: email]" == mask(text)
    assert {"password": "hunter2"} == masked({"password": "hunter2"}, Masking(allow=["hunter2"]))


def test_functions_of_ones_own() -> None:
    """A function is called first; one that fails, or gives no text, masks all of it."""
    assert "Someone [masked: email]" == Masking(functions=[lambda text: text.replace("Jane", "Someone")])(
        "Jane a@b.test"
    )
    assert "[masked: failed]" == Masking(functions=[lambda text: text[1_000]])("short")
    assert "[masked: failed]" == Masking(functions=[lambda text: None])("short")


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"kinds": ["emails"]}, "unknown kind of secret 'emails'; known: private key, password"),
        ({"patterns": {"a]b": "x"}}, "read 'a]b', expected a name"),
        ({"patterns": {"a": "("}}, "'(' is not a regex"),
        ({"patterns": {"a": "(a+)+"}}, "repeats without bound"),
        ({"allow_patterns": [r"(?=a)"]}, "not a regex that RE2 can run"),
    ],
)
def test_what_cannot_be_used(wrong: Mapping[str, object], message: str, require: Callable[[str], str]) -> None:
    """What is not known, or cannot run in bounded time, is refused in one sentence."""
    if "regex" in message or "repeats" in message:
        require("re2")
    with pytest.raises(SpecError) as caught:
        Masking(**wrong)
    assert message in str(caught.value)


def test_values() -> None:
    """Texts and whole numbers are masked wherever they are; a field that is named a secret as a whole."""
    value = {
        "to": ["a@b.test", {"card": 4111111111111111, "n": 12, "x": 1.5, "none": None, "yes": True}],
        "password": "short",
        "user_api_key": "x",
        "a@b.test": 1,
        "b@b.test": 2,
        "bytes": b"a@b.test",
        "odd": object(),
    }
    assert {
        "to": ["[masked: email]", {"card": "[masked: card]", "n": 12, "x": 1.5, "none": None, "yes": True}],
        "password": "[masked: password]",
        "user_api_key": "[masked: password]",
        "[masked: email]": 1,
        "[masked: email]\N{PRIME}": 2,
        "bytes": "[masked: email]",
        "odd": "<object>",
    } == masked(value, DEFAULT)
    again = masked(value, DEFAULT)
    assert again == masked(again, DEFAULT)


def test_values_that_are_deep_or_large() -> None:
    """Below 64 levels stands the type's name, and a number too long to be a secret stays."""
    deep: object = "a@b.test"
    for _ in range(10_000):
        deep = [deep]
    told = str(masked(deep, DEFAULT))
    assert (True, False) == ("<list>" in told, "a@b" in told)
    assert 10**1000 == masked(10**1000, DEFAULT)


SCORES = (
    Score(
        name="mine",
        value=0.5,
        unit="",
        label="warn",
        reason="asked a@b.test",
        evidence=(Evidence(span_id="04", quote=f'{{"password":"x","card":"{CARD}"}}'), Evidence(span_id="05")),
        issues=(f"used {SK}",),
        recommendations=("write to a@b.test",),
        evaluator="mine",
    ),
    Score(name="harmless", value=1.0, reason="nothing"),
    not_measurable("cost", "no tokens"),
    Score(name="odd", status="error", reason="KeyError: 'a@b.test'"),
    Score(name="worse", status="error", reason="time budget of 5 ms exceeded after 1 step"),
)
RESULT = RunResult(run=run_of(agent(1)), scores=SCORES)


@pytest.mark.parametrize("content", ["evidence", "all"])
def test_secrets_in_scores(content: str) -> None:
    """At every level but none, the secrets in reasons, quotes, issues and recommendations are masked."""
    result = shown(RESULT, content=content)
    score = result.scores[0]
    assert ("asked [masked: email]", ("used [masked: api key]",), ("write to [masked: email]",)) == (
        score.reason,
        score.issues,
        score.recommendations,
    )
    assert (
        Evidence(span_id="04", quote='{"password":"[masked: password]","card":"[masked: card]"}'),
        Evidence(span_id="05"),
    ) == score.evidence
    assert "KeyError: '[masked: email]'" == result.scores[3].reason
    assert (SCORES[1], SCORES[2], RESULT.run) == (result.scores[1], result.scores[2], result.run)
    assert result.scores == shown(result, content=content).scores


def test_without_content() -> None:
    """At none no reason, issue, recommendation or quote is left; names, values, ids and types of exceptions are."""
    result = shown(RESULT, content="none")
    assert ["", "", "", "KeyError", ""] == [score.reason for score in result.scores]
    score = result.scores[0]
    assert ((), (), (Evidence(span_id="04"), Evidence(span_id="05"))) == (
        score.issues,
        score.recommendations,
        score.evidence,
    )
    kept = ("name", "value", "unit", "label", "status", "evaluator", "version", "config_hash", "revision")
    for given_, told in zip(SCORES, result.scores, strict=True):
        assert [getattr(given_, name) for name in kept] == [getattr(told, name) for name in kept]
        assert RESULT.id_of(given_) == result.id_of(told)


def test_nothing_to_mask() -> None:
    """A result without secrets, or without a mask, is handed on as it is."""
    plain = RunResult(run=RESULT.run, scores=SCORES[1:3])
    assert plain is shown(plain, content="all")
    assert RESULT is shown(RESULT, content="all", masking=None)
