"""One client on standard input and output. Source: known faults S-01, S-03, S-04, S-06, S-13, S-14."""

import json
import os
import signal
import subprocess
import time
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, cast

import anyio
import pytest

from fabro.mcp_server import stdio
from fabro.operations.calls import Operations
from tests.mcp_server.conversation import (
    COMMAND,
    HELLO,
    HELLO_DONE,
    a_waiting_run,
    by_id,
    call,
    error_of,
    gather,
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
GARBAGE = (
    b"",
    b"   ",
    b"not json",
    b'{"jsonrpc":"2.0"}',
    b"[]",
    line([request(1, "ping"), request(2, "ping"), request(3, "ping")]).strip(),
    line(request(None, "ping")).strip(),
    line(request(1.5, "ping")).strip(),
    line({**request(7, "tools/call"), "params": []}).strip(),
    b"[" * 5000 + b"]" * 5000,
    b'{"jsonrpc":"2.0","id":8,"method":"\xff\xfe"}',
    b'{"jsonrpc":"2.0","id":9,"method":"ping","params":{"x":"\\ud83d"}}',
)


@pytest.mark.parametrize("end", [b"\n", b"\r\n"])
async def test_after_any_garbage_a_good_request_is_answered(end: bytes, operations: Operations) -> None:
    async with peer_of(serving(operations)) as peer:
        await peer.send_bytes(
            b"\xef\xbb\xbf" + json.dumps(HELLO).encode() + end + json.dumps(HELLO_DONE).encode() + end
        )
        assert (await peer.receive())["id"] == "hello"
        for garbage in GARBAGE:
            await peer.send_bytes(garbage + end + json.dumps(PING).encode() + end)
            if garbage.strip():
                answer = await peer.receive()
                assert error_of(answer)[0] in (-32700, -32600, -32602)
                assert answer["id"] in (None, 7, 9)
            assert await peer.receive() == {"jsonrpc": "2.0", "id": "ping", "result": {}}


async def test_a_line_of_ten_mebibytes_is_refused_by_the_limit_that_it_breaks(operations: Operations) -> None:
    files = {f"file{number}": "x" * 1024 * 1024 for number in range(10)}
    arguments = {"entrypoint": "file0", "files": files}
    async with peer_of(serving(operations)) as peer:
        await peer.greet()
        await peer.send(call(1, "fabro_workflow_version_create", arguments), PING)
        result = cast("Any", await peer.answer_to(1))["result"]
        assert result["isError"] is True
        assert "524288" in result["content"][0]["text"]


async def test_a_line_over_the_limit_is_skipped(operations: Operations) -> None:
    async with peer_of(serving(operations)) as peer:
        await peer.greet()
        await peer.send_bytes(b"x" * (16 * 1024 * 1024 + 1) + b"\n" + line(PING))
        code, message = error_of(await peer.receive())
        assert code == -32600
        assert str(16 * 1024 * 1024) in message
        assert (await peer.receive())["id"] == "ping"


async def test_an_id_that_is_in_use_is_refused_and_the_first_request_goes_on(operations: Operations) -> None:
    async with peer_of(serving(operations)) as peer:
        run_id = await a_waiting_run(operations)
        await peer.greet()
        await peer.send(gather(1, run_id), request(1, "ping"))
        answer = await peer.receive()
        assert answer["id"] is None
        assert "id 1 is in use" in error_of(answer)[1]
        await peer.send({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 1}})
        with anyio.fail_after(10):
            answer = {"id": None}
            while answer["id"] is None:
                await peer.send(request(1, "ping"))
                answer = await peer.receive()
        assert answer == {"jsonrpc": "2.0", "id": 1, "result": {}}


async def test_more_requests_at_once_than_allowed_are_refused(operations: Operations) -> None:
    async with peer_of(serving(operations)) as peer:
        run_id = await a_waiting_run(operations)
        await peer.greet()
        await peer.send(*(gather(number, run_id) for number in range(stdio.MOST_REQUESTS + 1)))
        answer = await peer.receive()
        assert answer["id"] == stdio.MOST_REQUESTS
        assert str(stdio.MOST_REQUESTS) in error_of(answer)[1]
        cancelled = [
            {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": number}}
            for number in range(stdio.MOST_REQUESTS)
        ]
        await peer.send(*cancelled, PING)
        assert (await peer.answer_to("ping"))["result"] == {}


async def test_a_slow_call_delays_no_other(operations: Operations) -> None:
    async with peer_of(serving(operations)) as peer:
        run_id = await a_waiting_run(operations)
        await peer.greet()
        await peer.send(gather(2, run_id), request(3, "ping"), call(4, "fabro_run_get", {"run_id": run_id}))
        begun = time.monotonic()
        assert {(await peer.receive())["id"], (await peer.receive())["id"]} == {3, 4}
        assert time.monotonic() - begun < 5
        await peer.send({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 2}})


async def test_texts_of_all_kinds_come_back_as_they_were_sent(operations: Operations) -> None:
    goal = "řemeslník ★ 🎉 漢字 \u2028 \u2029 \x85 \r\n \x01 end"
    async with peer_of(serving(operations)) as peer:
        await peer.greet()
        source = "digraph W { start [shape=Mdiamond] exit [shape=Msquare] start -> exit }"
        await peer.send(call(1, "fabro_workflow_version_create", {"entrypoint": "w", "files": {"w": source}}))
        version_id = cast("Any", await peer.answer_to(1))["result"]["structuredContent"]["workflow_version_id"]
        item = {"workflow_version_id": version_id, "target": {"kind": "none"}, "goal": goal, "start": False}
        await peer.send_bytes(
            json.dumps(call(2, "fabro_run_create", {"runs": [item]}), ensure_ascii=False).encode() + b"\r\n"
        )
        created = cast("Any", await peer.answer_to(2))["result"]["structuredContent"]["runs"][0]
        await peer.send(call(3, "fabro_run_get", {"run_id": created["run_id"]}))
        found = cast("Any", await peer.answer_to(3))["result"]["structuredContent"]
        assert found["summary"]["goal"] == goal


@pytest.mark.parametrize(
    "variables",
    [
        {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONIOENCODING": "cp1252", "PYTHONCOERCECLOCALE": "0"},
        pytest.param({"PYTHONWARNINGS": "default", "PYTHONDEVMODE": "1"}, marks=pytest.mark.slow),
    ],
)
def test_the_command_writes_messages_in_utf8_and_nothing_else(
    variables: Mapping[str, str], fabro_home: Mapping[str, str]
) -> None:
    bad = call(2, "fabro_run_get", {"run_id": "★", "řemeslník": "🎉"})
    given = lines(HELLO, HELLO_DONE, request(1, "tools/list")) + json.dumps(bad, ensure_ascii=False).encode()
    ended = run_command({**fabro_home, **variables}, given)
    assert ended.returncode == 0, ended.stderr
    answers = by_id(parsed(ended.stdout))
    assert set(answers) == {"hello", 1, 2}
    assert "`řemeslník`" in cast("Any", answers[2])["result"]["content"][0]["text"]
    assert b"Traceback" not in ended.stderr


def test_the_command_needs_no_home_to_list_its_tools(fabro_home: Mapping[str, str], tmp_path: Path) -> None:
    """Source: known fault U-03."""
    environment = {name: value for name, value in fabro_home.items() if name not in ("HOME", "FABRO_HOME")}
    (tmp_path / "settings.toml").write_text("this is [not toml")
    given = lines(HELLO, HELLO_DONE, request(1, "tools/list"), call(2, "fabro_run_get", {"run_id": "x"}))
    answers = by_id(parsed(run_command(environment, given).stdout))
    assert len(cast("Any", answers[1])["result"]["tools"]) == 5
    assert "HOME is not set" in cast("Any", answers[2])["result"]["content"][0]["text"]


def test_a_server_that_is_not_there_is_an_error_of_the_call(fabro_home: Mapping[str, str], tmp_path: Path) -> None:
    given = lines(HELLO, HELLO_DONE, call(1, "fabro_run_get", {"run_id": "x"}), request(2, "tools/list"))
    ended = run_command(fabro_home, given, arguments=("--server", str(tmp_path / "none.sock")))
    assert ended.returncode == 0
    answers = by_id(parsed(ended.stdout))
    assert cast("Any", answers[1])["result"]["isError"] is True
    assert str(tmp_path / "none.sock") in cast("Any", answers[1])["result"]["content"][0]["text"]
    assert "result" in answers[2]


def test_an_empty_input_ends_the_command(fabro_home: Mapping[str, str]) -> None:
    with Path(os.devnull).open("rb") as nothing:
        ended = subprocess.run(COMMAND, stdin=nothing, env=fabro_home, capture_output=True, timeout=60, check=False)
    assert (ended.returncode, ended.stdout) == (0, b"")


@contextmanager
def started(environment: Mapping[str, str]) -> Generator[subprocess.Popen[bytes]]:
    """The command, after the handshake, with its input held open."""
    with subprocess.Popen(
        COMMAND,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=environment,
        start_new_session=True,
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(lines(HELLO, HELLO_DONE))
        process.stdin.flush()
        assert parsed(process.stdout.readline())[0]["id"] == "hello"
        try:
            yield process
        finally:
            process.kill()


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_one_signal_ends_the_command(number: signal.Signals, fabro_home: Mapping[str, str]) -> None:
    with started(fabro_home) as process:
        begun = time.monotonic()
        process.send_signal(number)
        assert process.wait(timeout=30) == 0
        assert time.monotonic() - begun < 5
        assert process.stderr is not None
        assert process.stderr.read() == b""


async def test_a_signal_ends_a_call_that_is_under_way(operations: Operations) -> None:
    run_id = await a_waiting_run(operations)
    async with peer_of(serving(operations)) as peer:
        await peer.greet()
        await peer.send(gather(1, run_id), PING)
        assert (await peer.receive())["id"] == "ping"
        os.kill(os.getpid(), signal.SIGTERM)
        assert error_of(await peer.receive())[0] == -32000


CLAIM = "import os, subprocess; from fabro.mcp_server.descriptors import claim_standard_streams as c; wire = c(); "


def claimed(program: str) -> subprocess.CompletedProcess[bytes]:
    """Run a program whose standard streams have been claimed."""
    return subprocess.run(
        [COMMAND[0], "-c", CLAIM + program], input=b"for the server", capture_output=True, timeout=60, check=False
    )


def test_what_the_process_and_its_children_print_goes_to_standard_error() -> None:
    ended = claimed("print('a', flush=True); subprocess.run(['echo', 'b']); os.write(wire.write, b'message')")
    assert (ended.stdout, ended.stderr) == (b"message", b"a\nb\n")


def test_children_read_nothing_and_inherit_no_end_of_the_wire() -> None:
    ended = claimed("subprocess.run(['sh', '-c', f'wc -c; true <&{wire.read} || echo closed'], close_fds=False)")
    assert ended.stderr.split()[0] == b"0"
    assert ended.stderr.split()[-1] == b"closed"
    assert ended.stdout == b""


@pytest.mark.slow
@pytest.mark.parametrize("closed", ["<&-", ">&-", "2>&-"])
def test_a_standard_stream_may_be_closed(closed: str, fabro_home: Mapping[str, str]) -> None:
    ended = subprocess.run(
        ["sh", "-c", f'exec "$@" {closed}', "sh", *COMMAND],
        input=lines(HELLO),
        env=fabro_home,
        capture_output=True,
        timeout=60,
        check=False,
    )
    assert ended.returncode == 0, ended.stderr
    assert len(parsed(ended.stdout)) == (1 if closed == "2>&-" else 0)
