"""LangGraph with its SQLite checkpointer, as the engine's peer. Above: engine. Below: LangGraph.

Its types are only partly known, so that this one file is checked less strictly.
"""

# pyright: basic

import operator
import sqlite3
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, TypedDict

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.graph import END, START, StateGraph


class Count(TypedDict):
    """The graph's state: how many steps there were."""

    n: Annotated[int, operator.add]


def run(*, linear: int = 0, visits: int = 0) -> tuple[float, int]:
    """Seconds and database bytes of LangGraph for a line or a loop of no-op nodes."""
    graph = StateGraph(Count)

    def step(state: Count) -> Mapping[str, int]:
        del state
        return {"n": 1}

    def is_done(state: Count) -> str:
        return END if state["n"] >= visits else "again"

    if visits:
        graph.add_node("again", step)
        graph.add_edge(START, "again")
        graph.add_conditional_edges("again", is_done)
    else:
        for i in range(linear):
            graph.add_node(f"n{i}", step)
            graph.add_edge(START if i == 0 else f"n{i - 1}", f"n{i}")
        graph.add_edge(f"n{linear - 1}", END)
    with tempfile.TemporaryDirectory(dir=".") as folder:
        path = Path(folder) / "checkpoints.sqlite3"
        connection = sqlite3.connect(path, check_same_thread=False)
        connection.execute("PRAGMA journal_mode=WAL")
        connection.execute("PRAGMA synchronous=FULL")
        app = graph.compile(checkpointer=SqliteSaver(connection))
        config: RunnableConfig = {"configurable": {"thread_id": "1"}, "recursion_limit": visits + linear + 10}
        began = time.perf_counter()
        app.invoke({"n": 0}, config, durability="sync")
        took = time.perf_counter() - began
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        connection.close()
        return took, path.stat().st_size
