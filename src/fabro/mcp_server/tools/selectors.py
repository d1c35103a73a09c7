"""Which runs a caller means. Above: the tools. Below: the calls. Source: reference/mcp-server.md §0."""

from collections.abc import Sequence

import anyio

from fabro.calls import Calls
from fabro.errors import FabroError, InvalidInput
from fabro.ids import RunId, is_run_id

RUN_SELECTOR = "A run's id, its unambiguous beginning, or a workflow's name, which means that workflow's newest run"


def check_selector(selector: str, place: str = "run_id") -> str:
    """The selector without blanks around it.

    Raises:
        InvalidInput: nothing is left of it.
    """
    kept = selector.strip()
    if not kept:
        raise InvalidInput(
            f"`{place}` is blank; wanted a run",
            code="run_selector_empty",
            hint="Pass the run_id that fabro_run_create returned.",
        )
    return kept


async def resolve(calls: Calls, selector: str) -> RunId:
    """The run that a checked selector means; a whole id is not looked up, as the next call does that.

    Raises:
        InvalidInput, NotFound: it means several runs, or none.
    """
    return RunId(selector) if is_run_id(selector) else await calls.runs.resolve(selector)


async def resolve_all(calls: Calls, selectors: Sequence[str]) -> list[RunId]:
    """The runs that checked selectors mean, in their order, looked up all at once.

    Raises:
        InvalidInput, NotFound: as `resolve`, for the first selector that fails.
    """
    found: dict[str, RunId | FabroError] = {}

    async def find(selector: str) -> None:
        try:
            found[selector] = await resolve(calls, selector)
        except FabroError as error:
            found[selector] = error

    async with anyio.create_task_group() as tasks:
        for selector in dict.fromkeys(selectors):
            tasks.start_soon(find, selector)
    return [_found(found[selector]) for selector in selectors]


def _found(result: RunId | FabroError) -> RunId:
    if isinstance(result, FabroError):
        raise result
    return result
