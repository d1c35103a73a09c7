"""Paths of the REST API. Above: the calls. Below: nothing."""

from urllib.parse import quote


def run_path(run_id: str, *parts: str) -> str:
    """The path of a run, or of something of it; whatever the parts hold is quoted."""
    return "/".join(("/runs", *(quote(part, safe="@") for part in (run_id, *parts))))
