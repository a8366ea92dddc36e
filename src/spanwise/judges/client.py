"""One request to a model, by pydantic-ai, which is imported when the first judge asks."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Collection, Mapping
from contextlib import AsyncExitStack, suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol, cast

from spanwise.errors import SpanwiseError
from spanwise.judges.failures import (
    ContextOverflowError,
    RefusedError,
    ReplyError,
    TruncatedError,
    UnaskedError,
    UnjudgedError,
    UnreachableError,
)
from spanwise.judges.questions import Question
from spanwise.text import excerpt

if TYPE_CHECKING:
    from pydantic_ai.messages import ModelResponse
    from pydantic_ai.models import Model, ModelRequestParameters

_VARIABLE = re.compile(r"`([A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+)`")
_PIP = "pip install 'spanwise[judge]'"
_AGAIN = frozenset({408, 409, 425, 429, 500, 502, 503, 504, 529})
_HOPELESS = frozenset({"insufficient_quota", "billing_error", "billing_hard_limit_reached"})
_TOO_LONG = frozenset({"context_length_exceeded", "string_above_max_length"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """What a model replied, as text, and how many tokens that took."""

    text: str
    sent: int = 0
    got: int = 0


class Client(Protocol):
    """Somebody who can be asked."""

    async def request(
        self, model: str, question: Question, *, note: str, reply_tokens: int, timeout_s: float
    ) -> tuple[Reply, UnjudgedError | None]:
        """The reply, and what is wrong with it: even a reply that is of no use costs something."""
        ...

    async def close(self) -> None: ...


class PydanticAI:
    """Models by name, each made once. Must be used from one event loop."""

    def __init__(self) -> None:
        self._models: dict[str, Model] = {}
        self._open = AsyncExitStack()

    async def request(
        self, model: str, question: Question, *, note: str, reply_tokens: int, timeout_s: float
    ) -> tuple[Reply, UnjudgedError | None]:
        """Ask once, at temperature 0 where the model takes one, without the client's own retries.

        Raises:
            UnaskedError: The package, the model or its key is missing.
            UnreachableError: The request failed.
            ContextOverflowError: The provider says that the question is too long.
        """
        known = await self._model(model)
        from pydantic_ai.direct import model_request
        from pydantic_ai.messages import ModelRequest, SystemPromptPart, UserPromptPart
        from pydantic_ai.settings import ModelSettings

        said = [UserPromptPart(question.material), *([UserPromptPart(note)] if note else [])]
        settings = ModelSettings(max_tokens=reply_tokens, timeout=timeout_s)
        if _takes_temperature(known):
            settings["temperature"] = 0.0
        try:
            async with asyncio.timeout(timeout_s + 1.0):  # a client need not keep the time
                response = await model_request(
                    known,
                    [ModelRequest(parts=[SystemPromptPart(question.instructions), *said])],
                    model_settings=settings,
                    model_request_parameters=_parameters(question),
                    instrument=False,
                )
        except SpanwiseError:
            raise
        except Exception as error:
            raise _failure(model, error, timeout_s) from error
        return _reply(model, response)

    async def close(self) -> None:
        """Close the connections of all models."""
        self._models.clear()
        with suppress(Exception):
            await self._open.aclose()

    async def _model(self, name: str) -> Model:
        if name not in self._models:
            # The import takes a second or more: requests that are on their way need the loop.
            made = await asyncio.to_thread(_made, name)
            client = getattr(made, "client", None)
            if client is not None and isinstance(getattr(client, "max_retries", None), int):
                client.max_retries = 0  # pauses and budgets are kept here, and nobody else tries again
            if name not in self._models:
                if hasattr(made, "__aenter__"):
                    await self._open.enter_async_context(made)
                self._models[name] = made
        return self._models[name]


def _made(name: str) -> Model:
    try:
        from pydantic_ai.models import infer_model
    except ImportError as error:
        raise UnaskedError(f"judges need pydantic-ai ({error}): {_PIP}") from error
    try:
        return infer_model(name)
    except ImportError as error:
        raise UnaskedError(f"{name}: {error}") from error
    except Exception as error:
        found = dict.fromkeys(_VARIABLE.findall(str(error)))
        if found:
            raise UnaskedError(f"{name} has no key: set {' or '.join(found)}") from error
        told = str(error).partition("\n")[0]
        raise UnaskedError(f"{name} is no model that can be asked: {excerpt(told, limit=300)}") from error


def _takes_temperature(model: Model) -> bool:
    """Whether a model has a temperature: one that thinks before it speaks has none, and pydantic-ai warns about it.

    The names are those of its profiles, older ones among them.
    """
    known = cast("Mapping[str, object]", model.profile)
    if not known.get("openai_supports_reasoning"):
        return True
    efforts = known.get("openai_reasoning_efforts")
    may_not = (
        "none" in efforts if isinstance(efforts, Collection) else known.get("openai_supports_reasoning_effort_none")
    )
    thinks = ("thinking_enabled_by_default", "thinking_always_enabled", "openai_reasoning_enabled_by_default")
    return bool(may_not) and not any(known.get(name) for name in thinks)


def _parameters(question: Question) -> ModelRequestParameters:
    """The reply is asked for as the call of a tool, the form that most models know."""
    from pydantic_ai.models import ModelRequestParameters
    from pydantic_ai.tools import ToolDefinition

    verdict = ToolDefinition(
        name="verdict",
        description="Give your verdict: the reasons, the places that show it, and last the score.",
        parameters_json_schema=question.schema,
        kind="output",
    )
    return ModelRequestParameters(output_mode="tool", output_tools=[verdict], allow_text_output=False)


def _reply(model: str, response: ModelResponse) -> tuple[Reply, UnjudgedError | None]:
    """The text of a response, be it a call of the tool or not, and what is wrong with it."""
    from pydantic_ai.messages import TextPart, ToolCallPart

    calls = [part for part in response.parts if isinstance(part, ToolCallPart)]
    texts = [part.content for part in response.parts if isinstance(part, TextPart)]
    text = calls[0].args_as_json_str() if calls else "".join(texts)
    usage = response.usage
    reply = Reply(text=text, sent=usage.input_tokens or 0, got=usage.output_tokens or 0)
    finish = getattr(response, "finish_reason", None)
    if finish == "content_filter":
        return reply, RefusedError(f"{model} would not answer{f': {excerpt(text)}' if text else ''}")
    if finish == "length":
        return reply, TruncatedError(f"the reply of {model} ends in the middle; set `reply_tokens`")
    if not text.strip():
        return reply, ReplyError(f"the reply of {model} is empty")
    return reply, None


def _failure(model: str, error: Exception, timeout_s: float) -> UnjudgedError | UnaskedError:
    """What went wrong with a request. Classes of errors differ between versions; statuses, names and causes do not."""
    status = getattr(error, "status_code", None)
    names = {kind.__name__ for kind in type(error).__mro__}
    causes = names | {type(cause).__name__ for cause in _causes(error)}
    code = _code(error)
    if code in _TOO_LONG or "ModelContextWindowExceededError" in names:
        return ContextOverflowError(f"{model} reads less than `context_tokens`: {_message(error)}")
    if isinstance(status, int):
        if status in {401, 403}:
            return UnaskedError(f"{model} refuses the key (HTTP {status}): {_message(error)}")
        hopeless = code in _HOPELESS or "ModelQuotaExceededError" in names
        again = status in _AGAIN and not hopeless
        return UnreachableError(f"{model} answers HTTP {status}: {_message(error)}", again=again, after_s=_after(error))
    if isinstance(error, TimeoutError) or any("Timeout" in name for name in causes):
        return UnreachableError(f"{model} did not answer within {timeout_s:g} s", again=True)
    if any("Connect" in name or "Transport" in name for name in causes):
        return UnreachableError(f"{model} cannot be reached: {_message(error)}", again=True)
    if "AgentRunError" in names or any("Decode" in name for name in causes):
        return UnreachableError(f"{model}: {_message(error)}", again=True)
    return UnreachableError(f"{model}: {type(error).__name__}: {_message(error)}")


def _causes(error: BaseException) -> list[BaseException]:
    found: list[BaseException] = []
    cause = error.__cause__
    while cause is not None and len(found) < 8:
        found.append(cause)
        cause = cause.__cause__ or cause.__context__
    return found


def _code(error: Exception) -> str:
    fields = _body(error)
    return str(fields.get("code") or fields.get("type") or "")


def _message(error: Exception) -> str:
    return excerpt(str(_body(error).get("message") or error), limit=200)


def _body(error: Exception) -> Mapping[str, object]:
    body: object = getattr(error, "body", None)
    return cast("Mapping[str, object]", body) if isinstance(body, Mapping) else {}


def _after(error: Exception) -> float | None:
    """What the provider asked to wait, by the error or its headers."""
    told = getattr(error, "retry_after", None)
    if told is None:
        headers = getattr(error, "headers", None) or getattr(
            getattr(error.__cause__, "response", None), "headers", None
        )
        told = headers.get("retry-after") if headers is not None else None
    try:
        return None if told is None else max(float(told), 0.0)
    except (TypeError, ValueError):
        return None
