"""Output in memory and on disk, for any bytes in any pieces."""

from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fabro.sandbox.output import END_BYTES, INLINE_BYTES, SPOOL_BYTES, Output

PIECES = st.lists(st.tuples(st.binary(max_size=9), st.integers(0, 4000)), max_size=6)
"""Bytes, and how often each is repeated."""


@given(pieces=PIECES)
def test_nothing_is_lost(pieces: list[tuple[bytes, int]]) -> None:
    chunks = [piece * times for piece, times in pieces]
    with TemporaryDirectory() as folder, Output(Path(folder) / "spool") as output:
        for chunk in chunks:
            output.add(chunk)
        everything = b"".join(chunks)
        assert output.size == len(everything)
        assert "\0" not in output.text()
        if len(everything) <= INLINE_BYTES:
            assert output.spool is None
            assert output.text() == everything.decode("utf-8", "replace").replace("\0", "\u2400")
        else:
            assert output.spool is not None
            assert output.spool.read_bytes() == everything


@given(before=st.integers(END_BYTES - 4, END_BYTES), after=st.integers(END_BYTES - 4, END_BYTES))
def test_characters_are_never_cut(before: int, after: int) -> None:
    """A character of four bytes lies on either cut, at each offset."""
    data = b"a" * before + "🎈".encode() + b"m" * INLINE_BYTES + "🎈".encode() + b"z" * after
    with TemporaryDirectory() as folder, Output(Path(folder) / "spool") as output:
        output.add(data)
        head, line, tail = output.text().split("\n")
    assert "\ufffd" not in head + tail
    missing = len(data) - len(head.encode()) - len(tail.encode())
    assert line == f"[... {missing} bytes not shown ...]"
    assert 0 <= 2 * END_BYTES - len(head.encode()) - len(tail.encode()) <= 6, "no more is left out than must be"
    assert data.startswith(head.encode())
    assert data.endswith(tail.encode())


def test_the_line_between_stands_alone(tmp_path: Path) -> None:
    with Output(tmp_path / "spool") as output:
        output.add(b"one\n" * INLINE_BYTES)
    missing = 3 * INLINE_BYTES
    assert f"one\n[... {missing} bytes not shown ...]\none\n" in output.text()


@pytest.mark.parametrize("data", [b"\xff\xfeA", b"\0", b"\xf0", b"a\r\nb"])
def test_few_bytes_that_text_cannot_hold_are_in_the_file(data: bytes, tmp_path: Path) -> None:
    with Output(tmp_path / "spool") as output:
        output.add(data)
        output.settle()
        lossless = output.text().encode() == data
        assert (output.spool is None) is lossless
        assert lossless or (tmp_path / "spool").read_bytes() == data


def test_the_file_is_capped(tmp_path: Path) -> None:
    chunk = b"x" * (1024 * 1024 + 1)
    with Output(tmp_path / "spool") as output:
        for _ in range(65):
            output.add(chunk)
    assert output.size == 65 * len(chunk)
    assert (tmp_path / "spool").stat().st_size == SPOOL_BYTES


def test_no_file_is_left_after_an_exception(tmp_path: Path) -> None:
    def fail(output: Output) -> None:
        with output:
            output.add(b"x" * (INLINE_BYTES + 1))
            assert list(tmp_path.iterdir()) == [output.spool]
            raise KeyError

    with pytest.raises(KeyError):
        fail(Output(tmp_path / "spool"))
    assert list(tmp_path.iterdir()) == []


def test_the_ends_are_shown_when_the_disk_takes_nothing(tmp_path: Path) -> None:
    with Output(tmp_path / "no such folder" / "spool") as output:
        output.add(b"x" * (INLINE_BYTES + 1))
    assert output.spool is None
    assert output.text().startswith("x" * END_BYTES + "\n[... 1 bytes not shown ...]\n")


def test_a_disk_that_fills_up_ends_the_file_and_nothing_else() -> None:
    with Output(Path("/dev/full")) as output:
        output.add(b"x" * (INLINE_BYTES + 1))
    assert output.spool is None
