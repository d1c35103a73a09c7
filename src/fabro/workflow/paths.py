"""Paths inside a workflow: which ones may be stored, and what a reference means. Above: version, package, load.

Rules: reference/mcp-server.md §2. Nothing here touches a disk.
"""

import unicodedata
from collections.abc import Iterable, Sequence

from fabro.errors import InvalidInput

MAX_PATH_BYTES = 240
MAX_COMPONENTS = 16


def check_path(path: str) -> None:
    """Accept a path that may be stored in a version.

    Raises:
        InvalidInput: `invalid_workflow_path`, with the reason.
    """
    reason = _reason(path)
    if reason is not None:
        raise InvalidInput(
            f"invalid workflow path `{path[:MAX_PATH_BYTES]}`: {reason}",
            code="invalid_workflow_path",
            hint="use a relative path with forward slashes, such as `prompts/review.md`",
        )


def _reason(path: str) -> str | None:
    """Why a path may not be stored; None if it may."""
    components = path.split("/")
    reasons = (
        (not path, "the path is empty"),
        (path.startswith("/"), "absolute paths are not allowed"),
        (path.startswith("~"), "paths with a leading tilde are not allowed"),
        ("\\" in path, "backslashes are not allowed"),
        (path.endswith("/"), "trailing slashes are not allowed"),
        ("//" in path, "repeated slashes are not allowed"),
        (path[1:2] == ":" and path[0].isascii() and path[0].isalpha(), "Windows drive paths are not allowed"),
        (any(character < " " or character == "\x7f" for character in path), "control characters are not allowed"),
        (any("\ud800" <= character <= "\udfff" for character in path), "the path is not valid Unicode"),
        (any(part in {".", ".."} for part in components), "dot segments are not allowed in stored paths"),
        (len(components) > MAX_COMPONENTS, f"the path has more than {MAX_COMPONENTS} components"),
        (len(path.encode("utf-8", "replace")) > MAX_PATH_BYTES, f"the path is longer than {MAX_PATH_BYTES} bytes"),
    )
    return next((reason for applies, reason in reasons if applies), None)


def resolve_reference(referrer: str, reference: str) -> str:
    """The path that `reference`, written in the file `referrer`, means; `.` and `..` are followed.

    Raises:
        InvalidInput: it leaves the workflow's folder (`reference_escapes`), or is no storable path.
    """
    if not reference.startswith(("/", "~")) and "\\" not in reference:
        steps = [*referrer.split("/")[:-1], *reference.split("/")]
        reference = "/".join(_walk(steps, reference))
    check_path(reference)
    return reference


def _walk(steps: Sequence[str], reference: str) -> list[str]:
    walked: list[str] = []
    for step in steps:
        if step == "..":
            if not walked:
                raise InvalidInput(
                    f"the reference `{reference[:MAX_PATH_BYTES]}` leaves the workflow's folder",
                    code="reference_escapes",
                    hint="copy the file into the workflow's folder and refer to it there",
                )
            walked.pop()
        elif step != ".":
            walked.append(step)
    return walked


def find_collision(paths: Iterable[str], *, portable: bool) -> tuple[str, str] | None:
    """The first two paths that can't stand beside each other: equal ones, or a file that is another's folder.

    With `portable`, letter case and Unicode composition make no difference, as on many file systems.
    """
    ordered = list(paths)
    keys = [portable_key(path) if portable else path for path in ordered]
    seen: dict[str, str] = {}
    folders: dict[str, str] = {}
    for path, key in zip(ordered, keys, strict=True):
        parents = ["/".join(key.split("/")[:count]) for count in range(1, key.count("/") + 1)]
        clash = (
            seen.get(key) or folders.get(key) or next((seen[parent] for parent in parents if parent in seen), None)
        )
        if clash is not None:
            return clash, path
        seen[key] = path
        for parent in parents:
            folders.setdefault(parent, path)
    return None


def portable_key(path: str) -> str:
    """The path without differences of letter case and composition."""
    composed = unicodedata.normalize("NFC", path)
    return unicodedata.normalize("NFC", unicodedata.normalize("NFC", composed.casefold()).casefold())
