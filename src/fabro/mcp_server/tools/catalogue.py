"""All tools, in the order in which they are listed. Above: the server. Below: the single tools."""

from fabro.mcp_server.tools.run_create import RUN_CREATE
from fabro.mcp_server.tools.run_events import RUN_EVENTS
from fabro.mcp_server.tools.run_gather import RUN_GATHER
from fabro.mcp_server.tools.run_get import RUN_GET
from fabro.mcp_server.tools.tool import Tool
from fabro.mcp_server.tools.workflow_version_create import WORKFLOW_VERSION_CREATE

TOOLS: tuple[Tool, ...] = (RUN_CREATE, RUN_EVENTS, RUN_GATHER, RUN_GET, WORKFLOW_VERSION_CREATE)
"""By name, so that the list is the same every time."""
