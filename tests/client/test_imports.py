"""What a command pays for being able to reach a server."""

import subprocess
import sys

SERVER_SIDE = ("fastapi", "mcp", "pydantic_ai", "sqlite3", "starlette", "structlog", "uvicorn", "fabro.engine")


def test_the_client_loads_nothing_of_the_server() -> None:
    program = f"import sys, fabro.client.connect; print([name for name in {SERVER_SIDE!r} if name in sys.modules])"
    ended = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=60)
    assert ended.stdout.strip() == "[]"
