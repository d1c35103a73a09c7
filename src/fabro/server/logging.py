"""Where the server's log goes: standard error, or a file that is rotated. Above: the process. Below: structlog.

Libraries log through the standard library; their lines end up in the same place and form.
"""

import logging
import logging.handlers
import os
import sys
from pathlib import Path

import structlog
from structlog.types import EventDict, Processor, WrappedLogger

LARGEST_FILE = 5 << 20
OLD_FILES = 4
"""Rotated files beside the current one."""
_LOGFMT = structlog.processors.LogfmtRenderer(key_order=["timestamp", "level", "event"], drop_missing=True)


def configure_logging(file: Path | None, *, verbose: bool = False) -> None:
    """Send everything that is logged to a file, or to standard error; in a file also what is printed there."""
    shared: list[Processor] = [
        structlog.stdlib.add_log_level,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
        structlog.processors.format_exc_info,
    ]
    formatter = structlog.stdlib.ProcessorFormatter(
        foreign_pre_chain=shared, processors=[structlog.stdlib.ProcessorFormatter.remove_processors_meta, render]
    )
    handler = _file_handler(file) if file is not None else logging.StreamHandler(sys.stderr)
    handler.setFormatter(formatter)
    logging.basicConfig(handlers=[handler], level=logging.DEBUG if verbose else logging.INFO, force=True)
    for quieter in ("uvicorn", "asyncio", "httpx", "httpcore"):
        logging.getLogger(quieter).setLevel(logging.WARNING)
    structlog.configure(
        processors=[
            structlog.stdlib.filter_by_level,
            *shared,
            structlog.stdlib.ProcessorFormatter.wrap_for_formatter,
        ],
        logger_factory=structlog.stdlib.LoggerFactory(),
        cache_logger_on_first_use=False,
    )


def render(logger: WrappedLogger, method: str, event: EventDict) -> str:
    """One line of `key=value` pairs, and a traceback as it is below it."""
    traceback = event.pop("exception", None)
    line = _LOGFMT(logger, method, event)
    return f"{line}\n{traceback}" if traceback else line


def _file_handler(file: Path) -> logging.Handler:
    file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    with file.open("ab") as same:
        for stream in (1, 2):
            os.dup2(same.fileno(), stream)
    return logging.handlers.RotatingFileHandler(
        file, maxBytes=LARGEST_FILE, backupCount=OLD_FILES, encoding="utf-8"
    )
