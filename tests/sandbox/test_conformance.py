"""What every sandbox does that runs real processes. The `provider` fixture says which there are."""

import os
import signal
from collections.abc import Callable, Iterator
from datetime import timedelta
from pathlib import Path

import anyio
import pytest

from fabro.ids import RunId, sha256_hex
from fabro.run.target import NoTarget
from fabro.sandbox.port import CommandRequest, CommandResult, Provider, Sandbox
from tests.sandbox.commands import HOLD, POLITE, SCRIPTS, STUBBORN, Lifeline, Shell

pytestmark = pytest.mark.anyio

KIB = 1024
UNFORCED_SECONDS = 1.5
"""Sooner than any use of force."""


def whole(result: CommandResult) -> bytes:
    """All the bytes that went to the spool, which is deleted."""
    assert result.spool is not None
    content = result.spool.read_bytes()
    result.discard()
    assert not result.spool.exists()
    return content


@pytest.fixture
def inheritable(tmp_path: Path) -> Iterator[None]:
    """A file that this process holds open and that would go to a child that asks for no better."""
    with (tmp_path / "held").open("w") as held:
        os.set_inheritable(held.fileno(), True)
        yield


@pytest.mark.parametrize("code", [0, 1, 77, 255])
async def test_exit_status(shell: Shell, code: int) -> None:
    result = await shell(f"exit {code}")
    assert (result.termination, result.exit_code, result.output) == ("exited", code, "")
    assert result.spool is None
    assert 0 <= result.duration_ms < 20_000


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL, signal.SIGSEGV, signal.SIGPIPE])
async def test_a_signal_is_told_apart(shell: Shell, number: int) -> None:
    result = await shell(f"kill -{number} $$")
    assert (result.termination, result.exit_code) == ("signaled", 128 + number)


async def test_output_and_error_come_in_the_order_in_which_they_were_written(shell: Shell) -> None:
    result = await shell("for i in $(seq 100); do echo out $i; echo error $i >&2; done")
    assert result.output == "".join(f"out {i}\nerror {i}\n" for i in range(1, 101))
    assert result.output_bytes == len(result.output)


async def test_commands_start_in_the_working_directory(sandbox: Sandbox, shell: Shell) -> None:
    assert (await shell("pwd")).output == f"{sandbox.working_directory}\n"


async def test_the_same_run_finds_its_files_again(provider: Provider, run_id: RunId, shell: Shell) -> None:
    await shell("echo kept > note")
    again = await provider.prepare(run_id, NoTarget())
    result = await again.run(CommandRequest(argv=("cat", "note"), timeout=timedelta(seconds=20)))
    assert result.output == "kept\n"


async def test_arguments_are_not_read_by_a_shell(sandbox: Sandbox) -> None:
    words = ("$(touch pwned)", "'; rm x #", "a\nb", "-rf", "", "č🎈")
    request = CommandRequest(argv=("printf", "%s|", *words), timeout=timedelta(seconds=20))
    assert (await sandbox.run(request)).output == "".join(f"{word}|" for word in words)


async def test_variables_are_laid_over_a_base_and_empty_ones_stay(shell: Shell) -> None:
    result = await shell('echo "${PATH:+path} ${HOME:+home} [${EMPTY-unset}] $WORD"', EMPTY="", WORD="č x")
    assert result.output == "path home [] č x\n"


async def test_secrets_of_the_server_stay_with_the_server(shell: Shell) -> None:
    result = await shell("env")
    assert "of-ours" not in result.output
    assert "somebody/else" not in result.output


async def test_nothing_of_the_server_is_open_in_a_command(shell: Shell, inheritable: None) -> None:
    result = await shell(
        "ls /proc/$$/fd | while read fd; do readlink /proc/$$/fd/$fd; done; readlink /proc/$$/fd/0"
    )
    opened = set(result.output.split())
    assert "/dev/null" in opened
    assert len(opened) <= 3, "the null device, one pipe for both outputs, and what the shell itself opened"
    assert (await shell("cat")).output == ""


async def test_input_reaches_the_command(shell: Shell) -> None:
    assert (await shell("cat", stdin=b"a\nb")).output == "a\nb"
    assert (await shell("cat", stdin=b"")).output == ""
    megabyte = bytes(range(256)) * 4 * KIB
    assert (await shell("sha256sum", stdin=megabyte)).output.split()[0] == sha256_hex(megabyte)


@pytest.mark.parametrize("script", ["true", "exec 0<&-; sleep 0.05", "head -c 10 >/dev/null; sleep 0.05"])
async def test_input_that_nobody_reads_blocks_nobody(shell: Shell, script: str) -> None:
    result = await shell(script, stdin=b"x" * KIB * KIB)
    assert (result.termination, result.exit_code) == ("exited", 0)


async def test_output_up_to_16_kib_is_shown_whole(shell: Shell) -> None:
    result = await shell("head -c 16384 /dev/zero | tr '\\0' x")
    assert (result.output, result.spool) == ("x" * 16 * KIB, None)


async def test_larger_output_is_shown_by_its_ends_and_kept_whole(shell: Shell) -> None:
    result = await shell("seq 10000")
    text = "".join(f"{i}\n" for i in range(1, 10_001))
    head, line, tail = result.output[: 8 * KIB], result.output[8 * KIB : -8 * KIB], result.output[-8 * KIB :]
    assert text.startswith(head)
    assert text.endswith(tail)
    assert line.strip() == f"[... {len(text) - 16 * KIB} bytes not shown ...]"
    assert result.output_bytes == len(text)
    assert whole(result) == text.encode()


async def test_a_line_of_5_mb(shell: Shell) -> None:
    result = await shell("head -c 5000000 /dev/zero | tr '\\0' x")
    assert result.output_bytes == 5_000_000
    assert len(result.output) < 17 * KIB
    assert whole(result) == b"x" * 5_000_000


async def test_any_bytes_become_text(shell: Shell) -> None:
    result = await shell("head -c 1M /dev/urandom | tee copy")
    assert result.output_bytes == KIB * KIB
    assert "\0" not in result.output
    result.output.encode()
    result.discard()


async def test_odd_bytes_are_shown_and_control_sequences_kept(shell: Shell) -> None:
    result = await shell(r"""printf 'a\0b \xf0 \033[1mbold\033]0;t\007 \r\n data: {"jsonrpc": "2.0"}\n\n'""")
    assert result.output == 'a\u2400b \ufffd \033[1mbold\033]0;t\007 \r\n data: {"jsonrpc": "2.0"}\n\n'


@pytest.mark.slow
async def test_200_mb_take_bounded_space(shell: Shell) -> None:
    result = await shell("yes | head -c 200M")
    assert result.output_bytes == 200 * KIB * KIB
    assert len(result.output) < 17 * KIB
    content = whole(result)
    assert len(content) == 64 * KIB * KIB
    assert content == b"y\n" * (32 * KIB * KIB)


async def test_a_command_that_runs_out_of_time_is_ended(shell: Shell, lifeline: Lifeline) -> None:
    result = await shell("echo before; " + POLITE, seconds=0.3)
    assert (result.termination, result.exit_code, result.output) == ("timed_out", None, "before\n")
    assert result.duration_ms >= 300
    await lifeline.broken()


async def test_output_written_at_the_end_of_the_time_is_kept(shell: Shell) -> None:
    script = "trap 'seq 20000; exit 3' TERM; sleep 9999 & wait"
    result = await shell(script, seconds=0.3)
    assert result.termination == "timed_out"
    assert whole(result).endswith(b"\n20000\n")


@pytest.mark.parametrize("script", ["stray", "stubborn stray"])
@pytest.mark.slow
async def test_time_is_up_for_all_that_was_started(shell: Shell, lifeline: Lifeline, script: str) -> None:
    assert (await shell(SCRIPTS[script], seconds=0.3)).termination == "timed_out"
    await lifeline.broken()


@pytest.mark.parametrize("script", ["polite", "stray"])
async def test_cancelling_ends_all_that_was_started(shell: Shell, lifeline: Lifeline, script: str) -> None:
    async with anyio.create_task_group() as group:
        group.start_soon(shell, SCRIPTS[script])
        await lifeline.ready()
        group.cancel_scope.cancel()
    await lifeline.broken()


@pytest.mark.parametrize("seconds", [0.005, pytest.param(1, marks=pytest.mark.slow)])
@pytest.mark.parametrize("script", ["polite", "stubborn"])
@pytest.mark.slow
async def test_cancelling_at_any_moment(shell: Shell, lifeline: Lifeline, seconds: float, script: str) -> None:
    with anyio.move_on_after(seconds) as scope:
        await shell(SCRIPTS[script])
    assert scope.cancelled_caught
    await lifeline.broken()


async def test_nothing_starts_after_a_cancellation(sandbox: Sandbox, shell: Shell) -> None:
    with anyio.CancelScope() as scope:
        scope.cancel()
        await shell("touch started")
    assert scope.cancelled_caught
    assert (await shell("ls")).output == ""


@pytest.mark.parametrize("script", ["polite", "stray"])
async def test_a_command_that_is_told_to_stop_has_a_result(
    sandbox: Sandbox, lifeline: Lifeline, script: str
) -> None:
    stop = anyio.Event()
    request = CommandRequest(argv=("bash", "-c", "echo before; " + SCRIPTS[script]), timeout=timedelta(seconds=20))
    results: list[CommandResult] = []

    async def run() -> None:
        results.append(await sandbox.run(request, stop=stop))

    async with anyio.create_task_group() as group:
        group.start_soon(run)
        await lifeline.ready()
        stop.set()
    assert [(each.termination, each.exit_code, each.output) for each in results] == [
        ("cancelled", None, "before\n")
    ]
    await lifeline.broken()


async def test_nothing_starts_when_it_is_to_stop_already(sandbox: Sandbox, shell: Shell) -> None:
    stop = anyio.Event()
    stop.set()
    request = CommandRequest(argv=("touch", "started"), timeout=timedelta(seconds=20))
    assert (await sandbox.run(request, stop=stop)).termination == "cancelled"
    assert (await shell("ls")).output == ""


async def test_a_polite_end_is_quick(shell: Shell, lifeline: Lifeline) -> None:
    with anyio.fail_after(UNFORCED_SECONDS):
        await shell(POLITE, seconds=0.1)


@pytest.mark.slow
async def test_two_cancellations_at_once(shell: Shell, lifeline: Lifeline) -> None:
    async with anyio.create_task_group() as outer:

        async def inner() -> None:
            with anyio.CancelScope() as scope:
                scopes.append(scope)
                await shell(STUBBORN)

        scopes = [outer.cancel_scope]
        outer.start_soon(inner)
        await lifeline.ready()
        for scope in scopes * 2:
            scope.cancel()
    await lifeline.broken()


@pytest.mark.parametrize("output", ["", ">/dev/null 2>&1"], ids=["holds the output", "gave back the output"])
async def test_what_is_left_in_the_group_ends_with_the_command(
    shell: Shell, lifeline: Lifeline, output: str
) -> None:
    with anyio.fail_after(UNFORCED_SECONDS):
        result = await shell(f"{HOLD} sleep 9999 {output} & echo said")
    assert (result.termination, result.exit_code, result.output) == ("exited", 0, "said\n")
    await lifeline.broken()


async def test_who_left_the_group_and_holds_the_output_is_ended(shell: Shell, lifeline: Lifeline) -> None:
    script = HOLD + "mkfifo gone; setsid sh -c 'echo gone > gone; echo said; exec sleep 9999' & read x < gone"
    with anyio.fail_after(4):
        result = await shell(script)
    assert (result.termination, result.exit_code, result.output) == ("exited", 0, "said\n")
    await lifeline.broken()


async def test_50_commands_at_once(shell: Shell) -> None:
    results: dict[int, CommandResult] = {}

    async def one(number: int) -> None:
        results[number] = await shell(f"seq {1000 + number}; exit {number}")

    async with anyio.create_task_group() as group:
        for number in range(50):
            group.start_soon(one, number)
    assert [results[number].exit_code for number in range(50)] == list(range(50))
    assert all(results[number].output.endswith(f"\n{1000 + number}\n") for number in range(50))


@pytest.mark.slow
async def test_20_of_all_kinds_cancelled_at_once(shell: Shell, lifeline: Lifeline) -> None:
    async with anyio.create_task_group() as group:
        for script in [*SCRIPTS.values()] * 5:
            group.start_soon(shell, script)
        await lifeline.ready(times=20)
        group.cancel_scope.cancel()
    await lifeline.broken()


NOT_STARTED: dict[str, tuple[Callable[[Path], tuple[str, ...]], str]] = {
    "unknown command": (lambda _: ("no-such-command",), "PATH is"),
    "missing file": (lambda _: ("./missing",), "No such file"),
    "missing interpreter": (lambda _: ("./orphan",), "interpreter"),
    "not executable": (lambda _: ("./plain",), "Permission denied"),
    "a folder": (lambda folder: (str(folder),), "Permission denied"),
    "too long": (lambda _: ("echo", "x" * 300 * KIB), "too long"),
    "NUL": (lambda _: ("echo", "a\0b"), "null byte"),
    "nothing": (lambda _: (), "no command"),
    "empty": (lambda _: ("",), "no command"),
}


@pytest.mark.parametrize("case", NOT_STARTED)
async def test_what_can_not_start_says_why(sandbox: Sandbox, shell: Shell, case: str) -> None:
    await shell("echo '#!/nowhere/interpreter' > orphan; chmod +x orphan; echo > plain")
    argv, words = NOT_STARTED[case]
    request = CommandRequest(argv=argv(Path(sandbox.working_directory)), timeout=timedelta(seconds=20))
    result = await sandbox.run(request)
    assert (result.termination, result.exit_code, result.output_bytes) == ("not_started", None, 0)
    assert words in result.output


async def test_a_bad_variable_is_a_reason_too(sandbox: Sandbox) -> None:
    result = await sandbox.run(
        CommandRequest(argv=("true",), environment={"A=B": "x"}, timeout=timedelta(seconds=20))
    )
    assert (result.termination, "environment variable" in result.output) == ("not_started", True)
