"""What an agent's or a chain's span says: its name, what was asked and what was answered.

`input.value` and `output.value` hold whatever the framework's entry point was called with and returned: plain text, a
message list, a graph's state, an object with the question among its settings, or only a printed object. The question
and the answer are taken where they stand plainly; state, search results, tool requests and printed objects are neither.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

import msgspec

from spanwise.conventions import _openinference_crewai as crewai
from spanwise.conventions._genai import first_user_text, last_answer_text
from spanwise.conventions._langchain import last_word
from spanwise.conventions._langgraph import passes_on
from spanwise.conventions._messages import items
from spanwise.conventions._openinference_envelopes import held_messages, is_unsaid, recorded
from spanwise.conventions._openinference_messages import DSPY, INPUT, LANGCHAIN, LLAMA_INDEX, flattened, output
from spanwise.conventions._reprs import is_dump, read_repr
from spanwise.conventions._values import first_text, mapping_of, text_of
from spanwise.model.content import AgentFields, Memo, is_blank, is_cut
from spanwise.model.raw import STATUS_ERROR, Attributes, RawSpan

INSTRUCTOR = "openinference.instrumentation.instructor"
_DEFERRED = frozenset({"calls", "approvals"})  # Pydantic AI: the run ended to have these answered
LLAMA_STEP = ".run_agent_step"
LLAMA_TRANSFORMS = (".__call__", "._parse_nodes", ".split_text", ".split_text_metadata_aware")
"""Behind the class of what splits or enriches LlamaIndex's documents: nobody asks, nothing is answered."""
METHODS = (
    ".run", ".arun", ".kickoff", ".kickoff_async", ".akickoff", "._execute_core", "._aexecute_core", ".execute",
    ".execute_task", ".invoke", ".ainvoke", ".stream", ".astream", ".on_messages_stream", ".on_messages", ".run_stream",
    ".query", ".continue_run", ".acontinue_run", ".ClaudeSDKClient.receive_response",
)  # fmt: skip
# What an agent without a name is called, after its class.
CLASSES = frozenset(
    {"AgentExecutor", "ToolCallingAgent", "CodeAgent", "MultiStepAgent", "ClaudeAgent", "ClaudeAgentSDK"}
)
# What may hold the question: outright, in text; or, where no messages do, in text or deeper.
_QUESTIONS = ("task", "question", "query", "query_str", "user_msg", "user_input", "user_query", "input")
_DEEPER_QUESTIONS = (*_QUESTIONS, "prompt", "new_message", "message", "text", "inputs", "input_args", "kwargs", "data")
_ANSWERS = ("answer", "final_answer", "final_output", "raw", "output", "response", "result", "generation", "reply")
_DEEPER_ANSWERS = (*_ANSWERS, "return_values", "final_report", "text", "data")
_THINKING = frozenset({"reasoning", "rationale", "trajectory", "thought"})
_FOUND = frozenset({"passages", "context", "documents"})
_ERRORS = ("error", "error_code", "error_message")
_STATE = frozenset({"messages", "state", "trajectory", "steps", "content", "update", "goto"})
_STEP = re.compile(r"Step \d+")
_BRACKETED = re.compile(r"[\w ]+\[(.+)\]")
_OPAQUE = re.compile(r"(?:[a-z]+_)?(?:[0-9a-f]{8}-[0-9a-f-]{27}|[0-9a-f]{12,}|\d{6,})")
_NODE = re.compile(r"\w+")
_PLACEHOLDER = re.compile(r"\{\w+\}")
_LLAMA_AGENT = "current_agent_name='"
_INVOKED = "invoke_agent "
_STRANDS = "strands_agent"
"""What the first processors of Strands' spans called every agent, and all that several agents do together."""
_DEPTH = 5
_CONTENT = '{"parts": ['
"""How a message of ADK's begins, which its first instrumentations wrote as text into the text of the run's input."""
_MODEL_SAID = ('"AIMessage"', '"AIMessageChunk"')
_STOPPED = re.compile(
    r"StopEvent\(result=AgentOutput\(response=ChatMessage\(role=<MessageRole\.ASSISTANT: 'assistant'>, "
    r"additional_kwargs=\{[^{}]*\}, blocks=\[TextBlock\(block_type='text', "
    r"text=('(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\")\)\]"
)


def agent(span: RawSpan, memo: Memo) -> AgentFields:
    """Name, question and answer of an agent's or a chain's span."""
    name = agent_name(span)
    if span.name.endswith((LLAMA_STEP, *LLAMA_TRANSFORMS)):
        return AgentFields(name)
    if _STEP.fullmatch(span.name):  # a step of smolagents: its output is what a tool returned
        return AgentFields(name)
    return AgentFields(name, _query(span, memo), _answer(span, memo) if span.status_code != STATUS_ERROR else None)


def agent_name(span: RawSpan) -> str | None:
    """Name of an agent's or a chain's span."""
    attributes = span.attributes
    if span.name.endswith(LLAMA_STEP):
        return _llama_agent(attributes)
    if span.name == crewai.TASK:
        return crewai.agent_name(span)
    named = first_text(attributes, "agent.name")
    if named is not None:
        return named.strip() or None
    return _name(span) if _is_agent(span) else None


def _is_agent(span: RawSpan) -> bool:
    kind = span.attributes.get("openinference.span.kind")
    return (isinstance(kind, str) and kind.upper() == "AGENT") or is_langchain_agent(span)


def is_langchain_agent(span: RawSpan) -> bool:
    """LangChain names the agent whose span this is, whatever the instrumentation calls it.

    `create_agent` does so in the metadata. What LangGraph's prebuilt agents say bears their name: in the state that
    they return, and in the command by which they pass control, which leaves them as an exception.
    """
    if span.scope.name not in LANGCHAIN:
        return False
    attributes, name = span.attributes, span.name
    metadata = attributes.get("metadata")
    if isinstance(metadata, str) and "lc_agent_name" in metadata and _names_agent(metadata, name):
        return True
    state = attributes.get("output.value")
    if isinstance(state, str):
        return f'"type": "ai", "name": "{name}"' in state or _named_in_javascript(state, name)
    return any(passes_on(text_of(event.attributes.get("exception.message")), name) for event in span.events)


def _names_agent(metadata: str, name: str) -> bool:
    """In Python's spelling of JSON, or in JavaScript's."""
    return f'"lc_agent_name": "{name}"' in metadata or f'"lc_agent_name":"{name}"' in metadata


def _named_in_javascript(state: str, name: str) -> bool:
    """The first thing that is named in a message of a model's, behind its id or its text, is who said it."""
    at = state.find(f'"name":"{name}"')
    begins = state.rfind('],"kwargs":{', 0, max(at, 0))
    return state.endswith(_MODEL_SAID, 0, max(begins, 0)) and '"name":"' not in state[begins:at]


def is_router(span: RawSpan) -> bool:
    """A function that names the next node of a LangGraph graph, be there the word "agent" in its name or not."""
    metadata = span.attributes.get("metadata")
    if not isinstance(metadata, str) or '"langgraph_node": "' not in metadata:
        return False
    said = span.attributes.get("output.value")
    return (
        isinstance(said, str)
        and f'"langgraph_node": "{span.name}"' not in metadata
        and _NODE.fullmatch(said) is not None
    )


def _name(span: RawSpan) -> str | None:
    attributes = span.attributes
    found = text_of(attributes.get("graph.node.name"))
    if found is None:
        if attributes.get("gen_ai.agent.name"):
            return None
        found = text_of(attributes.get("graph.node.id"))
        if found == _STRANDS:
            found = span.name.removeprefix(_INVOKED) if span.name.startswith(_INVOKED) else ""
        if found is None or _OPAQUE.fullmatch(found):
            found = bare_name(span.name)
            if found in CLASSES:
                return None
    return found.strip() or None


def bare_name(name: str) -> str:
    """A span's name without the method that was wrapped: `research_agent.run`, `agent_run [research_agent]`."""
    for method in METHODS:
        if name.endswith(method) and len(name) > len(method):
            return name[: -len(method)]
    inside = _BRACKETED.fullmatch(name)
    return inside.group(1) if inside is not None else name.removeprefix(_INVOKED)


def _llama_agent(attributes: Attributes) -> str | None:
    """LlamaIndex names the agent nowhere but in the printed event that starts its step."""
    event = text_of(attributes.get("input.value")) or ""
    at = event.rfind(_LLAMA_AGENT)
    return (event[at + len(_LLAMA_AGENT) :].partition("'")[0] or None) if at >= 0 else None


def _query(span: RawSpan, memo: Memo) -> str | None:
    attributes = span.attributes
    found = _crew_task(attributes, memo)
    if found is not None or is_cut(text_of(attributes.get("crew_tasks")) or ""):  # the inputs alone ask for nothing
        return found
    found = _asked(recorded(attributes, "input", memo), memo, 0)
    if found is None and span.scope.name not in LANGCHAIN:
        found = first_user_text(flattened(attributes, INPUT, memo))
    return found


def _crew_task(attributes: Attributes, memo: Memo) -> str | None:
    """CrewAI is asked by its first task's description, in which the inputs are still to be put."""
    tasks = items(memo.json(attributes.get("crew_tasks")))
    first = mapping_of(tasks[0]) if tasks else None
    found = first_text(first, "description") if first is not None else text_of(attributes.get("task_description"))
    if found is None and "task_key" in attributes:
        result = mapping_of(memo.json(attributes.get("output.value")))
        found = first_text(result, "description") if result is not None else None
    given = attributes.get("crew_inputs", attributes.get("input.value"))  # the event listener has no name for them
    inputs = mapping_of(memo.json(given)) if found is not None and "{" in found else None
    for name, value in (inputs or {}).items():
        found = found.replace("{" + name + "}", str(value)) if found is not None else None
    hidden = inputs is None and found is not None and is_blank(given) and _PLACEHOLDER.search(found) is not None
    return None if found is None or hidden or is_unsaid(found) else found.strip()


def _asked(value: object, memo: Memo, depth: int) -> str | None:
    """The question in a recorded input."""
    if depth > _DEPTH or value is None:
        return None
    if isinstance(value, str):
        return _asked_text(value, memo, depth)
    listed = items(value)
    if listed is not None:
        return _asked_last(listed, memo)
    fields = mapping_of(value)
    if fields is None:
        return None
    for key in _QUESTIONS:
        outright = text_of(fields.get(key))
        if outright is not None and not is_unsaid(outright):
            return outright.strip()
    spoken = held_messages([{"role": "user", **fields}] if "parts" in fields else fields, memo)
    if spoken is not None:
        return first_user_text(spoken)
    for key in _DEEPER_QUESTIONS:
        found = _asked(fields.get(key), memo, depth + 1)
        if found is not None:
            return found
    return _only_text(fields) or (_asked_component(fields, memo, depth) if depth else None)


def _asked_text(value: str, memo: Memo, depth: int) -> str | None:
    if depth and value.startswith(_CONTENT):
        return _asked(memo.json(value), memo, depth + 1)
    return None if is_unsaid(value) else value.strip()


def _asked_last(listed: Sequence[object], memo: Memo) -> str | None:
    """The last thing that a user said in a list of messages, of content blocks or of texts."""
    spoken = held_messages(listed, memo)
    if spoken is not None:
        return first_user_text(spoken)
    texts: list[str] = []
    for item in listed:
        fields = mapping_of(item)
        text = text_of(fields.get("text")) if fields is not None else text_of(item)
        if text is not None and not is_unsaid(text):
            texts.append(text)
    return "\n".join(texts) if len(texts) == len(listed) and texts else None


def _only_text(fields: Mapping[str, object]) -> str | None:
    """The text of an input that has a single value: whatever its name, it is what was asked."""
    if len(fields) == 1:
        value = next(iter(fields.values()))
        if isinstance(value, str) and not is_unsaid(value):
            return value
    return None


def _asked_component(fields: Mapping[str, object], memo: Memo, depth: int) -> str | None:
    """Haystack: the inputs of a pipeline's components, by name."""
    for value in fields.values():
        inner = mapping_of(value)
        found = _asked(inner, memo, depth + 1) if inner is not None else None
        if found is not None:
            return found
    return None


def _answer(span: RawSpan, memo: Memo) -> str | None:
    attributes = span.attributes
    value = attributes.get("output.value")
    if value is None:
        return last_answer_text(output(span, memo))
    decoded = recorded(attributes, "output", memo)
    fields = mapping_of(decoded)
    if fields is None and items(decoded) is None:
        return (_spoken(value) or _printed_answer(span)) if decoded is not None else None
    found = _answered(decoded, memo, 0)
    if found is None and fields is not None and isinstance(value, str) and _returns_its_answer(span):
        return _structured(value, fields)
    return _predicted(fields) if found is None and fields is not None and span.scope.name == DSPY else found


def _predicted(fields: Mapping[str, object]) -> str | None:
    """What DSPy's signature has for outputs, without the reasoning; not the passages that a module found."""
    said = {key: value for key, value in fields.items() if key not in _THINKING}
    if not said or said.keys() <= _FOUND:
        return None
    return msgspec.json.encode(said if len(said) > 1 else next(iter(said.values()))).decode()


def _printed_answer(span: RawSpan) -> str | None:
    """The answer of a LlamaIndex agent in the printed event that ends its run, unless it was cut there."""
    found = _STOPPED.match(text_of(span.attributes.get("output.value")) or "")
    text = read_repr(found.group(1)) if found is not None and span.scope.name == LLAMA_INDEX else None
    return text if isinstance(text, str) else None


def _spoken(value: object) -> str | None:
    """The recorded text, unless nobody said it."""
    if isinstance(value, int | float) and not isinstance(value, bool):
        return str(value)
    if not isinstance(value, str) or is_unsaid(value):
        return None
    # A list or mapping in Python's notation is a tool's result or a state.
    return None if value[0] in "[{" and read_repr(value) is not value else value.strip()


def _answered(value: object, memo: Memo, depth: int) -> str | None:
    """The answer in a recorded output."""
    if isinstance(value, str | int | float):
        return _spoken(value)
    fields = mapping_of(value)
    if depth > _DEPTH or (fields is not None and any(fields.get(key) for key in _ERRORS)):
        return None
    outright = _outright(fields) if fields is not None else None
    if outright is not None:
        return outright
    spoken = held_messages(value, memo)
    if spoken is not None:
        return last_word(last_answer_text(spoken), fields) or (_worker_text(fields) if fields is not None else None)
    return _answered_deeper(fields, memo, depth) if fields is not None else None


def _outright(fields: Mapping[str, object]) -> str | None:
    """The answer that stands as text under a name which says so."""
    named = (fields.get(key) for key in _ANSWERS)
    return next((said for value in named if isinstance(value, str | int | float) and (said := _spoken(value))), None)


def _answered_deeper(fields: Mapping[str, object], memo: Memo, depth: int) -> str | None:
    for key in _DEEPER_ANSWERS:
        found = _answered(fields.get(key), memo, depth + 1)
        if found is not None:
            return found
    found = _only_text({key: item for key, item in fields.items() if key not in _THINKING})
    return found or _answered_component(fields, memo, depth)


def _answered_component(fields: Mapping[str, object], memo: Memo, depth: int) -> str | None:
    """Haystack: replies or answers among what a pipeline's components returned."""
    for key in ("replies", "answers"):
        for item in reversed(items(fields.get(key)) or ()):
            found = _answered(read_repr(item) if isinstance(item, str) and is_dump(item) else item, memo, depth + 1)
            if found is not None:
                return found
    for value in fields.values():
        inner = mapping_of(value)
        if inner is not None and not {"replies", "answers"}.isdisjoint(inner):
            return _answered_component(inner, memo, depth + 1)
    return None


def _worker_text(fields: Mapping[str, object]) -> str | None:
    """What a worker of a supervisor reported last, which LangGraph's users write as a human's message with its name."""
    listed = items(fields.get("messages")) or ()
    last = mapping_of(listed[-1]) if len(listed) > 1 else None
    if last is None:
        return None
    inner = mapping_of(last.get("data")) or mapping_of(last.get("kwargs")) or last
    if inner.get("type") != "human" or not text_of(inner.get("name")):
        return None
    return text_of(inner.get("content"))


def _returns_its_answer(span: RawSpan) -> bool:
    """The agent's output is its typed result, as is Instructor's; a graph's is its state, a chain's may be anything."""
    return (_is_agent(span) and span.scope.name not in LANGCHAIN) or span.scope.name == INSTRUCTOR


def _structured(text: str, fields: Mapping[str, object]) -> str | None:
    """A typed result as it was recorded; not one that holds messages, a state or an error, or asks for approvals."""
    open_ = not _STATE.isdisjoint(fields) or _DEFERRED <= fields.keys()
    return None if open_ or any(fields.get(key) for key in _ERRORS) else text


def typed_as(span: RawSpan) -> str | None:
    """The schema in which Instructor's call is to answer; where the client offers it as a tool, it has this name."""
    return text_of(span.attributes.get("instructor.response_model")) if span.scope.name == INSTRUCTOR else None
