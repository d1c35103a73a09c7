"""A small MCP client: registers a workflow folder over `fabro mcp start`, runs it, waits, and reads what happened.

usage: python examples/mcp_client.py [FOLDER [WORKSPACE]]     (default: examples/release-check on this checkout)
"""

import os
import shutil
import sys
from pathlib import Path
from typing import Any

import anyio
from mcp import Client, StdioServerParameters, stdio_client

HERE = Path(__file__).resolve().parent


def supplied_files(folder: Path) -> dict[str, str]:
    """The folder's files as the tool wants them: relative path to text."""
    files = (path for path in sorted(folder.rglob("*")) if path.is_file())
    return {path.relative_to(folder).as_posix(): path.read_text(encoding="utf-8") for path in files}


async def call(client: Client, tool: str, arguments: dict[str, Any]) -> dict[str, Any]:
    """Call a tool, show its one line, return its structured result."""
    result = await client.call_tool(tool, arguments)
    [text] = [block.text for block in result.content if block.type == "text"]
    print(f"  {tool}: {text}")
    if result.is_error or result.structured_content is None:
        raise SystemExit(1)
    return result.structured_content


async def main(folder: Path, workspace: Path) -> int:
    """Run the folder's workflow in the workspace; 0 if it succeeded."""
    command = shutil.which("fabro") or str(Path(sys.executable).with_name("fabro"))
    server = StdioServerParameters(command=command, args=["mcp", "start"], env=_environment())
    async with Client(stdio_client(server), read_timeout_seconds=300) as client:
        tools = await client.list_tools()
        print(f"  {len(tools.tools)} tools: {', '.join(tool.name for tool in tools.tools)}")
        version = await call(
            client,
            "fabro_workflow_version_create",
            {"entrypoint": "workflow.fabro", "files": supplied_files(folder)},
        )
        created = await call(
            client,
            "fabro_run_create",
            {
                "runs": [
                    {
                        "workflow_version_id": version["workflow_version_id"],
                        "target": {"kind": "folder", "path": str(workspace)},
                        "args": {"auto_approve": True, "labels": {"source": "mcp"}},
                    }
                ]
            },
        )
        run_id = created["runs"][0]["run_id"]
        while True:
            gathered = await call(client, "fabro_run_gather", {"run_ids": [run_id], "timeout_seconds": 30})
            if not gathered["timed_out"]:
                break
        run = gathered["runs"][0]
        stages = await call(
            client,
            "fabro_run_events",
            {"action": "list", "run_id": run_id, "event_types": ["stage.completed", "stage.failed"], "first": 50},
        )
        for row in stages["events"]:
            event = row["event"]
            properties = event["properties"]
            how = properties.get("status") or properties["failure"]["message"]
            print(f"    {event['stage_id']:<16} {how}")
        print(f"  the run {run['status']}")
        return 0 if run["status"] == "succeeded" else 1


def _environment() -> dict[str, str]:
    """What the server's process has to know of ours: where Fabro keeps its things."""
    return {name: value for name, value in os.environ.items() if name.startswith(("FABRO_", "HOME", "PATH"))}


if __name__ == "__main__":
    given = [Path(argument).resolve() for argument in sys.argv[1:3]]
    target = given[0] if given else HERE / "release-check"
    where = given[1] if len(given) > 1 else HERE.parent
    sys.exit(anyio.run(main, target, where))
