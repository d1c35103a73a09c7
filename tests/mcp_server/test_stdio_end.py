"""The end of a conversation on standard input and output. Source: known faults S-03, S-04."""

import os
import signal
import time
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from typing import Any, cast

import anyio
import pytest

from fabro.mcp_server import stdio
from fabro.operations.calls import Operations
from tests.mcp_server.conversation import (
    ASKING,
    HELLO,
    HELLO_DONE,
    a_waiting_run,
    by_id,
    call,
    error_of,
    gather,
    lazily,
    line,
    lines,
    parsed,
    peer_of,
    request,
    run_command,
    serving,
)

pytestmark = pytest.mark.anyio
PING = request("ping", "ping")


async def test_what_was_asked_before_the_end_of_input_is_answered(operations: Operations) -> None:
    run_id = await a_waiting_run(operations)
    async with peer_of(serving(operations)) as peer:
        await peer.send(HELLO, HELLO_DONE, *(call(n, "fabro_run_get", {"run_id": run_id}) for n in range(20)))
        await peer.send_bytes(line(PING).strip())
        peer.end()
        answers = [await peer.receive() for _ in range(22)]
    assert set(by_id(answers)) == {"hello", "ping", *range(20)}


async def test_waits_end_with_their_result_at_the_end_of_input_and_the_run_goes_on(operations: Operations) -> None:
    run_id = await a_waiting_run(operations)
    begun = time.monotonic()
    async with peer_of(serving(operations)) as peer:
        await peer.greet()
        await peer.send(gather(1, run_id), PING)
        assert (await peer.receive())["id"] == "ping"
        await peer.send(gather(2, run_id))
        peer.end()
        answers = by_id([await peer.receive(), await peer.receive()])
    assert time.monotonic() - begun < 5
    for request_id in (1, 2):
        gathered = cast("Any", answers[request_id])["result"]["structuredContent"]
        assert (gathered["timed_out"], gathered["runs"][0]["status"]) == (True, "blocked")
    run = await operations.runs.get(await operations.runs.resolve(run_id))
    assert run.lifecycle.status.kind == "blocked"


@asynccontextmanager
async def slowly(operations: Operations, seconds: float) -> AsyncGenerator[Operations]:
    """Calls that are there after a time, as those of a server that has to be started first."""
    with anyio.move_on_after(seconds):
        await anyio.sleep_forever()
    yield operations


@pytest.mark.slow
async def test_a_call_that_needs_time_is_answered_after_the_end_of_input(operations: Operations) -> None:
    run_id = await a_waiting_run(operations)
    async with peer_of(lazily(lambda: slowly(operations, 4))) as peer:
        await peer.send(HELLO, HELLO_DONE, call(1, "fabro_run_get", {"run_id": run_id}))
        peer.end()
        answer = cast("Any", await peer.answer_to(1))
    assert answer["result"]["structuredContent"]["summary"]["run_id"] == run_id


async def test_the_time_to_answer_is_limited(operations: Operations) -> None:
    assert stdio.SECONDS_TO_ANSWER == 30
    async with peer_of(lazily(lambda: slowly(operations, 600)), patience=0.1) as peer:
        await peer.send(HELLO, HELLO_DONE, call(1, "fabro_run_get", {"run_id": "x"}))
        peer.end()
        assert error_of(await peer.answer_to(1))[0] == -32000


async def test_a_signal_ends_the_time_to_answer(operations: Operations) -> None:
    served = lazily(lambda: slowly(operations, 600))
    async with peer_of(served) as peer:
        await peer.send(HELLO, HELLO_DONE, call(1, "fabro_run_get", {"run_id": "x"}))
        peer.end()
        await served.ending.wait()
        begun = time.monotonic()
        os.kill(os.getpid(), signal.SIGTERM)
        assert error_of(await peer.answer_to(1))[0] == -32000
    assert time.monotonic() - begun < 3


@pytest.mark.slow
def test_the_command_answers_before_it_ends_though_a_server_must_start(
    fabro_home: Mapping[str, str],
) -> None:
    arguments = {"entrypoint": "w", "files": {"w": ASKING}}
    given = lines(HELLO, HELLO_DONE, call(1, "fabro_workflow_version_create", arguments))
    ended = run_command(fabro_home, given)
    assert ended.returncode == 0, ended.stderr
    version_id = cast("Any", by_id(parsed(ended.stdout))[1])["result"]["structuredContent"]["workflow_version_id"]
    item = {"workflow_version_id": version_id, "target": {"kind": "none"}, "start": False}
    ended = run_command(fabro_home, lines(HELLO, HELLO_DONE, call(2, "fabro_run_create", {"runs": [item]})))
    run_id = cast("Any", by_id(parsed(ended.stdout))[2])["result"]["structuredContent"]["runs"][0]["run_id"]
    begun = time.monotonic()
    ended = run_command(
        fabro_home, lines(HELLO, HELLO_DONE, call(3, "fabro_run_gather", {"run_ids": [run_id]}, token=0))
    )
    assert (ended.returncode, ended.stderr) == (0, b"")
    assert time.monotonic() - begun < 5
    answers = by_id(parsed(ended.stdout))
    assert cast("Any", answers[3])["result"]["structuredContent"]["timed_out"] is True


@pytest.mark.slow
async def test_a_client_that_reads_nothing_does_not_keep_the_server(operations: Operations) -> None:
    with anyio.fail_after(20):
        async with peer_of(serving(operations)) as peer:
            await peer.send(HELLO, HELLO_DONE, *(request(n, "tools/list") for n in range(100)))
            peer.end()
