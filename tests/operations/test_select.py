"""Selectors: which run is meant, and that steering never reaches another workflow's run by chance."""

import pytest

from fabro.calls import RunIntent
from fabro.errors import InvalidInput, NotFound
from fabro.ids import RunId
from fabro.operations.calls import Operations
from fabro.run.target import NoTarget
from fabro.testing.memory_system import memory_system
from fabro.workflow.version import Version

pytestmark = pytest.mark.anyio

GRAPH = "digraph %s { start [shape=Mdiamond] exit [shape=Msquare] start -> exit }"


async def create(calls: Operations, file: str, graph: str) -> RunId:
    version = await calls.versions.create(
        Version(entrypoint=f"{file}.fabro", files={f"{file}.fabro": GRAPH % graph})
    )
    return (await calls.runs.create(RunIntent(workflow_version_id=version, target=NoTarget()))).id


async def test_a_whole_name_comes_before_a_newer_run_whose_name_holds_it() -> None:
    async with memory_system() as system:
        calls = system.operations("test")
        build = await create(calls, "build", "Build")
        await create(calls, "rebuild-prod", "Other")
        assert await calls.runs.resolve("build") == build
        assert await calls.runs.resolve("BUILD") == build
        newer = await create(calls, "build", "Build")
        assert await calls.runs.resolve("build") == newer


async def test_part_of_a_name_is_enough_where_only_one_workflow_has_it() -> None:
    async with memory_system() as system:
        calls = system.operations("test")
        await create(calls, "nightly", "N")
        rebuild = await create(calls, "rebuild-prod", "R")
        assert await calls.runs.resolve("build") == rebuild
        assert await calls.runs.resolve("rebuildprod") == rebuild
        await create(calls, "build-docs", "D")
        with pytest.raises(InvalidInput, match="several workflows") as caught:
            await calls.runs.resolve("build")
        assert caught.value.code == "run_selector_ambiguous"


async def test_the_beginning_of_an_id_is_enough_where_it_is_the_only_one() -> None:
    async with memory_system() as system:
        calls = system.operations("test")
        first = await create(calls, "a", "A")
        second = await create(calls, "b", "B")
        assert await calls.runs.resolve(first) == first
        assert await calls.runs.resolve(second.lower()) == second
        with pytest.raises(InvalidInput, match="beginning of several"):
            await calls.runs.resolve("01")


@pytest.mark.parametrize("selector", ["", "  "])
async def test_an_empty_selector_is_refused(selector: str) -> None:
    async with memory_system() as system:
        with pytest.raises(InvalidInput, match="must not be empty"):
            await system.operations("test").runs.resolve(selector)


async def test_what_means_nothing_is_not_found() -> None:
    async with memory_system() as system:
        await create(system.operations("test"), "a", "A")
        with pytest.raises(NotFound, match="no run found for 'zzz'"):
            await system.operations("test").runs.resolve("zzz")
