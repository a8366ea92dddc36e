"""A run for people: what was asked and answered, and the tree of what happened in between."""

from __future__ import annotations

from collections.abc import Iterator

from rich.console import Console, Group
from rich.text import Text
from rich.tree import Tree

from spanwise.conventions._named_tasks import bare_name
from spanwise.model.calls import Tokens, ToolCall
from spanwise.model.content import ContentState
from spanwise.model.span import SpanError
from spanwise.model.trace import Run
from spanwise.report.escapes import visible
from spanwise.report.outline import Entry, Outline, outline, walk
from spanwise.report.repairs import repairs_of
from spanwise.report.terminal import dollars, duration, line, rows, say, shown

_INDENT = 4
_ROOM = 40
"""Columns that indentation leaves to the text: what lies deeper stands at the last depth, marked with its own."""
MAX_ENTRIES = 2000
_ENTRY_STYLES = {"agent": "bold cyan", "model": "magenta", "tool": "bold green", "retrieval": "blue"}
_CALL_WORDS = {"error": "failed", "retry": "asked for a retry", "not_run": "not run", "unknown": "outcome not recorded"}


def show_run(to: Console, *, run: Run, everything: bool = False, content: bool = True) -> None:
    """Print one run: its head, its tree, and what its spans do not tell."""
    say(to, (_title(run), "bold"))
    rows(to, _facts(run, content=content))
    drawn = outline(run, everything=everything)
    deepest = max((to.width - _ROOM) // _INDENT, 1)
    for tree in _trees(run, drawn, deepest=deepest, content=content, limit=None if everything else MAX_ENTRIES):
        to.print(tree)
    if drawn.hidden:
        many = (
            f"{drawn.hidden} span{'s' if drawn.hidden > 1 else ''} that only carr{'y' if drawn.hidden > 1 else 'ies'}"
        )
        say(to, (f"{many} others not shown; --all shows them", "dim"))
    if run.missing:
        say(to, ("not in these spans", "yellow"))
        rows(to, ((item.field, f"{item.why} {item.switch}".strip(), "") for item in run.missing), indent=2)
    to.print()


def _title(run: Run) -> str:
    trace = run.trace
    number = 1 + trace.run_roots.index(run.mark) if len(trace.run_roots) > 1 else 0
    which = f", run {number} of {len(trace.run_roots)}" if number else ""
    source = f"{visible(trace.source)}, " if trace.source else ""
    return f"{source}trace {visible(trace.trace_id)}{which}"


def _facts(run: Run, *, content: bool) -> Iterator[tuple[str, str, str]]:
    for name, said in (("query", run.query), ("answer", run.answer)):
        text = "not recorded" if said is None else shown(said, limit=400) if content else "not shown"
        yield name, text, "dim" if said is None or not content else ""
    if run.agents:
        yield "agents", ", ".join(shown(agent.name, limit=80) for agent in run.agents), ""
    if run.handoffs:
        ways = (f"{shown(item.source or '?')} -> {shown(item.target or '?')}" for item in run.handoffs)
        yield "handoffs", ", ".join(ways), ""
    took = run.duration_ms
    yield "duration", "not recorded" if took is None else duration(took * 1e6), "dim" if took is None else ""
    yield "tokens", tokens_of(run.tokens) if run.tokens else "not recorded", "" if run.tokens else "dim"
    cost = run.cost_usd
    if cost is None:
        yield "cost", "not known", "dim"
    else:
        yield "cost", f"{dollars(cost)} ({'estimated from list prices' if run.cost_estimated else 'recorded'})", ""
    whole = run.completeness
    yield (
        "trace",
        "complete" if whole.complete else f"partial: {visible('; '.join(whole.reasons))}",
        "" if whole.complete else "yellow",
    )
    repairs = repairs_of(run)
    if repairs:
        yield "repaired", visible("; ".join(repairs)), "yellow"


def tokens_of(tokens: Tokens) -> str:
    """Tokens in words, kinds that were never recorded left out."""
    counts = (
        (tokens.input, "in"),
        (tokens.output, "out"),
        (tokens.cache_read, "from cache"),
        (tokens.cache_write, "to cache"),
        (tokens.reasoning, "reasoning"),
    )
    return ", ".join(f"{count:,} {word}" for count, word in counts if count is not None)


def _trees(run: Run, drawn: Outline, *, deepest: int, content: bool, limit: int | None) -> Iterator[Tree]:
    """One tree per topmost entry."""
    trees: list[Tree] = []
    path: list[Tree] = []
    left_out = 0
    for number, (depth, entry) in enumerate(walk(drawn.entries)):
        if limit is not None and number >= limit:
            left_out += 1
            continue
        at = min(depth, deepest)
        level = depth + 1 if depth > deepest else 0
        node = Tree(Group(*_lines(run, entry, level=level, content=content)), guide_style="dim")
        del path[at:]
        (path[-1].children if path else trees).append(node)
        path.append(node)
    yield from trees
    if left_out:
        yield Tree(line((f"{left_out:,} more not shown; --all shows them", "dim")))


def _lines(run: Run, entry: Entry, *, level: int, content: bool) -> Iterator[Text]:
    failed = entry.error is not None or (entry.call is not None and entry.call.failed)
    facts = "  ".join(_entry_facts(run, entry))
    deep = f"  (level {level})" if level else ""
    name = entry.name
    if not content and entry.span is not None and name == entry.span.name:
        name = bare_name(entry.span.raw)
    yield line(
        (entry.word, "red" if failed else _ENTRY_STYLES.get(entry.word, "")),
        (" ", ""),
        (shown(name, limit=120), "bold" if entry.word in _ENTRY_STYLES else ""),
        (f"  {facts}{deep}", "dim"),
    )
    if entry.call is not None:
        yield from _call_lines(entry.call, content=content)
    if entry.retrieval is not None:
        yield from _documents(entry, content=content)
    if entry.error is not None and not _is_told(entry):
        yield _detail("error", error_words(entry.error, content=content), "red")


def _entry_facts(run: Run, entry: Entry) -> Iterator[str]:
    call, llm, span = entry.call, entry.llm, entry.span
    if span is None:
        yield "no span: known from the model's message"
    elif run.timed:
        ended = "ended before it began" if span.raw.end_ns > 0 else "not ended"
        yield duration(span.duration_ns) if span.is_over else ended
    if llm is not None:
        if words := tokens_of(llm.tokens):
            yield words
        if llm.cost_usd is not None:
            yield dollars(llm.cost_usd) + (" estimated" if llm.cost_estimated else "")
    if call is not None:
        if call.status in _CALL_WORDS:
            yield _CALL_WORDS[call.status]
        if call.control:
            yield "steers the run"
    if entry.merged:
        yield f"{entry.merged + 1} spans of one {'agent' if entry.word == 'agent' else 'call'}"


def _is_told(entry: Entry) -> bool:
    """A call failed of which only its result says how."""
    return entry.call is not None and entry.call.raw_result is not None and entry.error == SpanError()


def _call_lines(call: ToolCall, *, content: bool) -> Iterator[Text]:
    yield _detail("arguments", *_content(call.arguments_state, call.arguments, content=content))
    if not (call.failed and call.raw_result is None) and call.status != "not_run":
        yield _detail("result", *_content(call.result_state, call.result, content=content))


def _content(state: ContentState, value: object, *, content: bool) -> tuple[str, str]:
    if state == "absent":
        return "not recorded", "dim"
    if not content:
        return "not shown", "dim"
    mark = "" if state == "present" else f" ({state})"
    text = shown(value)
    return (text + mark, "") if text else ("empty", "dim")


def _documents(entry: Entry, *, content: bool) -> Iterator[Text]:
    found = entry.retrieval
    if found is None:
        return
    if found.query is not None:
        yield _detail("query", shown(found.query) if content else "not shown", "")
    if found.documents is None:
        yield _detail("documents", "not recorded", "dim")
        return
    if not found.documents:
        yield _detail("documents", "none", "")
    for document in found.documents:
        score = "no score" if document.score is None else f"{document.score:.3g}"
        text = f"  {shown(document.content)}" if content and document.content else ""
        yield _detail("document", f"{score:<8}  {shown(document.id or 'no id', limit=60)}{text}", "")


def error_words(error: SpanError, *, content: bool = True) -> str:
    """The error's type and message on one line; without content the type only."""
    parts = (shown(error.type, limit=120), shown(error.message) if content else "")
    told = ": ".join(part for part in parts if part)
    return told or ("not shown" if error.message else "no message recorded")


def _detail(name: str, text: str, style: str) -> Text:
    return line((f"  {name:<10}", "dim"), (text, style))
