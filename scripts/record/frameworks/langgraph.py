"""LangGraph through LangChain's `create_agent`, under one of four instrumentations."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping

from langchain import agents
from langchain.agents.middleware import wrap_tool_call
from langchain_core.callbacks import BaseCallbackHandler, CallbackManagerForRetrieverRun
from langchain_core.documents import Document
from langchain_core.messages import ToolMessage
from langchain_core.retrievers import BaseRetriever
from langchain_core.tools import tool
from langchain_openai import ChatOpenAI
from opentelemetry.sdk.trace import TracerProvider

import scenario
import session


class KnowledgeBase(BaseRetriever):
    """The scenario's documents behind LangChain's retriever interface."""

    name: str = "kb_retriever"

    def _get_relevant_documents(self, query: str, *, run_manager: CallbackManagerForRetrieverRun) -> list[Document]:
        del run_manager
        return [
            Document(
                id=str(found["id"]),
                page_content=str(found["content"]),
                metadata={key: found[key] for key in ("id", "title", "score")} | {"source": f"kb://{found['id']}"},
            )
            for found in scenario.search(query)
        ]


@tool
def search_docs(query: str) -> str:
    """Search the document index and return scored passages."""
    found = KnowledgeBase().invoke(query)
    return json.dumps(
        [{"id": item.id, "content": item.page_content, "score": item.metadata["score"]} for item in found]
    )


@tool
def calculator(expression: str) -> float:
    """Evaluate an arithmetic expression."""
    return scenario.calculate(expression)


@wrap_tool_call
def tool_errors(request, handler):
    """A tool that raises answers the model with its error, so that the run goes on."""
    try:
        return handler(request)
    except ValueError as error:
        return ToolMessage(f"Error: {error!r}", tool_call_id=request.tool_call["id"], status="error")


def openinference(this: session.Session, provider: TracerProvider) -> list[BaseCallbackHandler]:
    """OpenInference hooks itself into LangChain's callback manager."""
    from openinference.instrumentation.langchain import LangChainInstrumentor

    LangChainInstrumentor().instrument(tracer_provider=provider)
    return []


def otel_genai(this: session.Session, provider: TracerProvider) -> list[BaseCallbackHandler]:
    """OpenTelemetry's own GenAI instrumentation of LangChain."""
    from opentelemetry.instrumentation.genai.langchain import LangChainInstrumentor

    LangChainInstrumentor().instrument(tracer_provider=provider)
    return []


def traceloop(this: session.Session, provider: TracerProvider) -> list[BaseCallbackHandler]:
    """Traceloop's instrumentation of LangChain."""
    from opentelemetry.instrumentation.langchain import LangchainInstrumentor

    LangchainInstrumentor().instrument(tracer_provider=provider)
    return []


def langfuse(this: session.Session, provider: TracerProvider) -> list[BaseCallbackHandler]:
    """Langfuse's callback handler; its own exporter writes to memory, so nothing leaves the machine."""
    from langfuse import Langfuse
    from langfuse.langchain import CallbackHandler
    from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

    Langfuse(
        public_key="pk-unused",
        secret_key="unused",
        base_url=this.base_url,
        tracer_provider=provider,
        span_exporter=InMemorySpanExporter(),
    )
    return [CallbackHandler()]


def outside(this: session.Session, provider: TracerProvider) -> list[BaseCallbackHandler]:
    """Whoever runs the script has seen to it."""
    return []


INSTRUMENTATIONS: Mapping[str, Callable[[session.Session, TracerProvider], list[BaseCallbackHandler]]] = {
    "openinference": openinference,
    "otel-genai": otel_genai,
    "traceloop": traceloop,
    "langfuse": langfuse,
    session.OUTSIDE: outside,
}


def main(this: session.Session, provider: TracerProvider) -> str:
    """The answer of one run."""
    callbacks = INSTRUMENTATIONS[this.instrumentation](this, provider)
    streaming = this.variant == "streaming"
    model = ChatOpenAI(
        model=scenario.MODEL,
        base_url=this.openai_url,
        api_key="unused",
        temperature=0.0,
        streaming=streaming,
        stream_usage=streaming,
    )
    # Through the module: an instrumentation may have replaced the function since it was imported.
    agent = agents.create_agent(
        model,
        tools=[search_docs, calculator],
        system_prompt=scenario.RESEARCH_PROMPT,
        middleware=[tool_errors],
        name=scenario.RESEARCH_AGENT,
    )
    if this.variant == "subagent":
        agent = _manager(model, agent)
    ask = {"messages": [{"role": "user", "content": this.query}]}
    config = {
        "callbacks": callbacks,
        "configurable": {"thread_id": scenario.SESSION_ID},
        "metadata": _identity(this.instrumentation),
    }
    if streaming:
        *_, last = agent.stream(ask, config, stream_mode="values")
        return last["messages"][-1].content
    return agent.invoke(ask, config)["messages"][-1].content


def _identity(instrumentation: str) -> dict[str, object]:
    if instrumentation == "langfuse":
        names = {"langfuse_session_id": scenario.SESSION_ID, "langfuse_user_id": scenario.USER_ID}
        return {**names, "langfuse_tags": ["demo"]}
    return {"session_id": scenario.SESSION_ID, "user_id": scenario.USER_ID}


def _manager(model: ChatOpenAI, research):
    @tool
    def delegate_research(question: str) -> str:
        """Delegate a question to the research agent."""
        return research.invoke({"messages": [{"role": "user", "content": question}]})["messages"][-1].content

    return agents.create_agent(
        model, tools=[delegate_research], system_prompt=scenario.MANAGER_PROMPT, name=scenario.MANAGER_AGENT
    )


if __name__ == "__main__":
    session.run(main, framework="langgraph")
