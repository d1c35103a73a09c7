"""Admission: what is refused, and in which words."""

from pathlib import Path

import pytest

from fabro.errors import InvalidInput
from fabro.operations.admission import check_inputs, check_title, materialise, unexecutable
from fabro.run.spec import RunArgs
from fabro.run.target import FolderTarget, NoTarget
from fabro.workflow.attributes import NodeType
from fabro.workflow.load import load


def test_what_cannot_be_executed_is_named() -> None:
    loaded = load(
        "w.fabro",
        {
            "w.fabro": "digraph W { start [shape=Mdiamond] exit [shape=Msquare]"
            " think [prompt=x] start -> think -> exit }"
        },
    )
    graph = loaded.valid
    assert graph is not None
    executable = frozenset(NodeType) - {NodeType.AGENT}
    problem = unexecutable(graph, executable)
    assert problem is not None
    assert "'think' (agent)" in problem
    assert unexecutable(graph, frozenset(NodeType)) is None


@pytest.mark.parametrize("title", ["", "  ", "x" * 101, "a\nb", "a\x00b", "a\x7f"])
def test_a_title_is_one_line_of_a_hundred_characters(title: str) -> None:
    with pytest.raises(InvalidInput, match="title"):
        check_title(title)


def test_a_title_is_trimmed_and_may_be_left_out() -> None:
    assert check_title(" Ship it ") == "Ship it"
    assert check_title("x" * 100) == "x" * 100
    assert check_title(None) is None


@pytest.mark.parametrize("value", [1 << 63, -(1 << 63) - 1, float("inf"), float("nan")])
def test_an_input_is_a_number_that_toml_holds(value: float) -> None:
    with pytest.raises(InvalidInput, match=r"args.inputs.k"):
        check_inputs(RunArgs(inputs={"k": value}))
    check_inputs(RunArgs(inputs={"a": (1 << 63) - 1, "b": True, "c": "x", "d": 1.5}))


def test_a_folder_is_taken_in_its_one_true_form(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "real")
    (tmp_path / "file").touch()
    assert materialise(NoTarget()) == NoTarget()
    through_link = FolderTarget(path=str(tmp_path / "link" / ".." / "link"))
    assert materialise(through_link) == FolderTarget(path=str((tmp_path / "real").resolve()))
    for path in ("relative", "", "/nowhere/at/all", str(tmp_path / "file"), "/tmp/\x00"):
        with pytest.raises(InvalidInput, match=r"target\.path"):
            materialise(FolderTarget(path=path))
