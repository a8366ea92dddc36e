"""LlamaIndex's FunctionAgent, under one of three instrumentations."""

from __future__ import annotations

import asyncio

from llama_index.core.agent.workflow import AgentWorkflow, FunctionAgent
from llama_index.core.retrievers import BaseRetriever
from llama_index.core.schema import NodeWithScore, QueryBundle, TextNode
from llama_index.llms.openai_like import OpenAILike
from opentelemetry.sdk.trace import TracerProvider

import scenario
import session


class KB(BaseRetriever):
    """The scenario's documents behind LlamaIndex's retriever interface."""

    def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        return [
            NodeWithScore(
                node=TextNode(id_=str(found["id"]), text=str(found["content"]), metadata={"title": found["title"]}),
                score=float(str(found["score"])),
            )
            for found in scenario.search(query_bundle.query_str)
        ]


def search_docs(query: str) -> list[dict[str, object]]:
    """Search the document index and return scored passages."""
    return [{"id": hit.node.node_id, "content": hit.text, "score": hit.score} for hit in KB().retrieve(query)]


def calculator(expression: str) -> float:
    """Evaluate an arithmetic expression."""
    return scenario.calculate(expression)


def instrument(name: str, provider: TracerProvider) -> None:
    """Turn on the instrumentation of that name."""
    if name == session.OUTSIDE:
        return
    if name == "openinference":
        from openinference.instrumentation.llama_index import LlamaIndexInstrumentor

        LlamaIndexInstrumentor().instrument(tracer_provider=provider)
    elif name == "traceloop":
        from opentelemetry.instrumentation.llamaindex import LlamaIndexInstrumentor

        LlamaIndexInstrumentor().instrument(tracer_provider=provider)
    else:
        from llama_index.observability.otel import LlamaIndexOpenTelemetry
        from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

        LlamaIndexOpenTelemetry(
            tracer_provider=provider, span_exporter=InMemorySpanExporter(), span_processor="simple"
        ).start_registering()


def main(this: session.Session, provider: TracerProvider) -> str:
    """The answer of one run."""
    instrument(this.instrumentation, provider)
    return asyncio.run(_run(this))


async def _run(this: session.Session) -> str:
    model = OpenAILike(
        model=scenario.MODEL,
        api_base=this.openai_url,
        api_key="unused",
        is_chat_model=True,
        is_function_calling_model=True,
    )
    research = FunctionAgent(
        name=scenario.RESEARCH_AGENT,
        description="Answers questions with research.",
        system_prompt=scenario.RESEARCH_PROMPT,
        tools=[search_docs, calculator],
        llm=model,
        streaming=False,
        can_handoff_to=[],
    )
    if this.variant != "handoff":
        return str(await research.run(user_msg=this.query))
    triage = FunctionAgent(
        name=scenario.TRIAGE_AGENT,
        description="Sends questions to the right agent.",
        system_prompt=scenario.TRIAGE_PROMPT,
        llm=model,
        streaming=False,
        can_handoff_to=[scenario.RESEARCH_AGENT],
    )
    workflow = AgentWorkflow(agents=[triage, research], root_agent=scenario.TRIAGE_AGENT)
    return str(await workflow.run(user_msg=this.query))


if __name__ == "__main__":
    session.run(main, framework="llama-index")
