"""The tools as a server of the MCP SDK. Above: stdio, tests, the server's `/mcp`. Below: the catalogue, the SDK.

A tool that fails answers with `isError` and a text "message (hint) [code]"; nothing else of an error reaches the
client. Source: reference/mcp-server.md §0, design §8.
"""

import logging
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, field

import anyio
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel import Server
from mcp.shared.exceptions import MCPError
from mcp_types import (
    INVALID_PARAMS,
    CallToolRequestParams,
    CallToolResult,
    ListToolsResult,
    PaginatedRequestParams,
    TextContent,
    ToolAnnotations,
)
from mcp_types import Tool as ListedTool

from fabro import installed_version
from fabro.clock import Clock, SystemClock
from fabro.errors import FabroError
from fabro.mcp_server.backend import Backend, OpenCalls, Packager, open_lazily
from fabro.mcp_server.handshake import check_handshake
from fabro.mcp_server.tools.catalogue import TOOLS
from fabro.mcp_server.tools.tool import Pace, Progress, Session, Tool

NAME = "fabro"
TITLE = "Fabro"
INSTRUCTIONS = (
    "Fabro runs workflows: graphs of agents, commands and people. Register a workflow's files with "
    "fabro_workflow_version_create, create runs of it with fabro_run_create, wait with fabro_run_gather, look with "
    "fabro_run_get and fabro_run_events. Runs live on a server and go on without you."
)
_log = logging.getLogger(__name__)

Context = ServerRequestContext[Backend]


@dataclass(frozen=True, kw_only=True, slots=True)
class Serving:
    """How the tools are served: where their calls come from, and what else they need.

    `ending` is for the transport to set when no more requests will come; it ends the waits under way.
    """

    lifespan: Callable[[], AbstractAsyncContextManager[Backend]]
    packager: Packager | None = None
    clock: Clock = field(default_factory=SystemClock)
    pace: Pace = field(default_factory=Pace)
    ending: anyio.Event = field(default_factory=anyio.Event)


def serve_lazily(open_calls: OpenCalls, *, packager: Packager | None = None) -> Serving:
    """Tools whose first call opens the connection."""
    return Serving(lifespan=lambda: open_lazily(open_calls), packager=packager)


def create_server(serving: Serving, tools: Sequence[Tool] = TOOLS) -> Server[Backend]:
    """A server of the SDK that offers the tools."""
    by_name = {tool.name: tool for tool in tools}
    listed = ListToolsResult(tools=[_listed(by_name[name]) for name in sorted(by_name)])

    @asynccontextmanager
    async def lifespan(server: Server[Backend]) -> AsyncGenerator[Backend]:
        del server
        async with serving.lifespan() as backend:
            yield backend

    async def list_tools(context: Context, params: PaginatedRequestParams | None) -> ListToolsResult:
        del context
        if params is not None and params.cursor:
            raise MCPError(code=INVALID_PARAMS, message=f"cursor {params.cursor!r}: the list of tools has one page")
        return listed

    async def call_tool(context: Context, params: CallToolRequestParams) -> CallToolResult:
        tool = by_name.get(params.name)
        if tool is None:
            raise MCPError(code=INVALID_PARAMS, message=f"unknown tool {params.name!r}; tools/list names the tools")
        session = Session(
            backend=context.lifespan_context,
            clock=serving.clock,
            packager=serving.packager,
            progress=_progress(context),
            pace=serving.pace,
            ending=serving.ending,
        )
        return await _result(tool, session, params)

    server = Server(
        NAME,
        version=installed_version(),
        title=TITLE,
        instructions=INSTRUCTIONS,
        lifespan=lifespan,
        on_list_tools=list_tools,
        on_call_tool=call_tool,
    )
    server.middleware.append(check_handshake)
    return server


async def _result(tool: Tool, session: Session, params: CallToolRequestParams) -> CallToolResult:
    """Call the tool: the boundary at which errors become answers."""
    try:
        answer = await tool.call(session, params.arguments or {})
    except FabroError as error:
        return _failure(f"{error.advice} [{error.code}]")
    except Exception:  # noqa: BLE001 - the boundary: whatever it was, the client gets an answer
        _log.exception("%s failed", tool.name)
        return _failure("internal error; the server's log on standard error has the details [internal_error]")
    return CallToolResult(
        content=[TextContent(text=answer.text)], structured_content=answer.result.model_dump(mode="json")
    )


def _failure(text: str) -> CallToolResult:
    return CallToolResult(content=[TextContent(text=text)], is_error=True)


def _progress(context: Context) -> Progress | None:
    """The way to report progress, for a client that named a token; any token, 0 too. Source: known fault S-07."""
    if context.meta is None or context.meta.get("progress_token") is None:
        return None
    return context.session.report_progress


def _listed(tool: Tool) -> ListedTool:
    return ListedTool(
        name=tool.name,
        title=tool.title,
        description=tool.description,
        input_schema=dict(tool.input_schema),
        output_schema=dict(tool.output_schema),
        annotations=ToolAnnotations(
            title=tool.title,
            read_only_hint=tool.hints.reads_only,
            destructive_hint=tool.hints.destroys,
            idempotent_hint=tool.hints.is_idempotent,
            open_world_hint=tool.hints.reaches_out,
        ),
    )
