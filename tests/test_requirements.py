"""The list of requirements, the tests that name them and the list of open ones fit in both directions."""

import tomllib
from pathlib import Path

import pytest

from scripts.requirements import (
    PARTS,
    Ledger,
    Mention,
    Requirement,
    main,
    mentions_in,
    open_text,
    problems,
    read_ledger,
    table,
)

TESTS = Path(__file__).parent
NO_IDS: dict[str, tuple[str, ...]] = dict.fromkeys(PARTS, ())


def ledger(*, named: tuple[str, ...] = (), listed: tuple[str, ...] = ()) -> Ledger:
    return Ledger(
        rows=(Requirement(id="a.one", part="A"), Requirement(id="a.two", part="A")),
        listed={**NO_IDS, "A": listed},
        mentions=tuple(Mention(id=one, place="tests/test_x.py:1") for one in named),
    )


def ids_in(source: str) -> list[str | None]:
    return [mention.id for mention in mentions_in(source, "test_x.py")]


def test_the_lists_and_the_tests_fit() -> None:
    assert problems(read_ledger(TESTS)) == []


def test_nothing_to_say_when_each_is_proven_or_listed() -> None:
    assert problems(ledger(named=("a.one",), listed=("a.two",))) == []


def test_an_unknown_id_is_named_with_its_place() -> None:
    found = problems(ledger(named=("a.one", "a.two", "a.three")))
    assert found == ["tests/test_x.py:1: a.three is not in requirements.toml"]


def test_a_proven_id_must_leave_the_list() -> None:
    assert problems(ledger(named=("a.one", "a.two"), listed=("a.two",))) == [
        "requirements_open.toml: take a.two off A"
    ]


def test_a_lost_proof_is_a_problem() -> None:
    assert problems(ledger(named=("a.one",))) == ["no test names a.two any more (A)"]


def test_ids_stand_once() -> None:
    assert problems(ledger(named=("a.one",), listed=("a.two", "a.two"))) == [
        "requirements_open.toml: a.two stands there more than once"
    ]


@pytest.mark.parametrize(
    "source",
    [
        '@pytest.mark.requirement("x", "y")\ndef test_a(): ...\n',
        'pytestmark = [pytest.mark.anyio, pytest.mark.requirement("x", "y")]\n',
        'class TestA:\n    @pytest.mark.requirement("x", "y")\n    async def test_a(self): ...\n',
        'CASES = [pytest.param(1, marks=pytest.mark.requirement("x", "y"))]\n',
    ],
)
def test_markers_are_found_wherever_pytest_takes_them(source: str) -> None:
    assert ids_in(source) == ["x", "y"]


@pytest.mark.parametrize("name", ["skip", 'skip(reason="r")', "xfail()", "skipif(True)"])
def test_a_test_that_does_not_pass_proves_nothing(name: str) -> None:
    test = f'@pytest.mark.{name}\n@pytest.mark.requirement("x")\ndef test_a(): ...\n'
    whole_class = (
        f'@pytest.mark.{name}\nclass TestA:\n    @pytest.mark.requirement("x")\n    def test_a(self): ...\n'
    )
    assert ids_in(test) == []
    assert ids_in(whole_class) == []


def test_an_id_must_be_a_literal() -> None:
    assert ids_in("@pytest.mark.requirement(NAME)\ndef test_a(): ...\n") == [None]
    assert problems(Ledger(rows=(), listed=NO_IDS, mentions=(Mention(id=None, place="tests/test_x.py:1"),))) == [
        "tests/test_x.py:1: an id must be a literal string"
    ]


def test_the_written_list_reads_back() -> None:
    ids = {**NO_IDS, "C": ("c.one", "c.two")}
    assert tomllib.loads(open_text(ids)) == {part: list(listed) for part, listed in ids.items()}


def test_the_table_counts_and_names_the_open_ones() -> None:
    lines = table(ledger(named=("a.one",))).splitlines()
    assert lines[:2] == ["A spine: 1 of 2 open", "  a.two"]
    assert lines[-1] == "1 of 2 proven"


def test_unknown_arguments_are_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--nonsense"]) == 2
    assert "usage:" in capsys.readouterr().err
