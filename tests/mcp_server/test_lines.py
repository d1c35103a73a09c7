"""Bytes to lines."""

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from fabro.mcp_server.lines import LineSplitter, LineTooLong


def split(chunks: list[bytes], longest: int = 1000) -> list[bytes | str]:
    splitter = LineSplitter(longest)
    found = [one for chunk in chunks for one in splitter.feed(chunk)]
    found.extend(splitter.end())
    return ["too long" if isinstance(one, LineTooLong) else one for one in found]


@given(st.binary(max_size=200), st.lists(st.integers(0, 200)))
def test_how_the_bytes_arrive_makes_no_difference(content: bytes, cuts: list[int]) -> None:
    edges = [0, *sorted(cuts), len(content)]
    chunks = [content[begin:end] for begin, end in pairwise(edges)]
    assert split(chunks) == split([content])


@given(st.lists(st.binary(max_size=30).filter(lambda line: b"\n" not in line and not line.endswith(b"\r"))))
def test_lines_come_back_whatever_their_end(lines: list[bytes]) -> None:
    for end in (b"\n", b"\r\n"):
        assert split([b"".join(line + end for line in lines)]) == lines


def test_only_the_byte_10_ends_a_line() -> None:
    content = "a\u2028b\u2029c\x0bd\x0ce\x85f\rg".encode()
    assert split([content + b"\n"]) == [content]


def test_a_last_line_needs_no_end() -> None:
    assert split([b"a\nb"]) == [b"a", b"b"]


def test_a_line_over_the_limit_is_skipped_to_its_end_and_not_kept() -> None:
    assert split([b"x" * 6, b"x" * 6, b"x\nok\n", b"y" * 11, b"\n"], longest=10) == ["too long", b"ok", "too long"]
    assert split([b"z" * 11], longest=10) == ["too long"]
    assert split([b"z" * 10 + b"\n"], longest=10) == [b"z" * 10]
