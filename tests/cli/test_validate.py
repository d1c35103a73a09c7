import json
from pathlib import Path

import pytest

from fabro.cli.validate import validate
from tests.workflow.graphs import line, whole

GOOD = line('prompt="@p.md"')


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "p.md").write_text("do it")
    (tmp_path / "w.fabro").write_text(GOOD)
    return tmp_path


def test_a_valid_workflow(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert validate(["w.fabro"], json_output=False, strict=True) == 0
    out, err = capsys.readouterr()
    assert out == ""
    assert err == "Workflow: G (3 nodes, 2 edges)\nGraph: w.fabro\nValidation: OK\n"


def test_findings_show_place_line_caret_and_fix(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "w.fabro").write_text(whole("review [label=x]\nstart -> reveiw -> exit\nstart -> review -> exit"))
    assert validate(["w.fabro"], json_output=False, strict=False) == 1
    assert capsys.readouterr().err.split("\n") == [
        "Workflow: G (3 nodes, 4 edges)",
        "Graph: w.fabro",
        "error: w.fabro:6:10: [edge: start -> reveiw] node `reveiw` is not declared (edge_target_exists)",
        "    6 | start -> reveiw -> exit",
        "      |          ^^^^^^",
        '  fix: did you mean `review`? Otherwise declare the node: `reveiw [label="…"]`',
        "Validation: failed",
        "",
    ]


def test_json_holds_the_same(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "w.fabro").write_text(line("label=x, max_retries=many"))
    assert validate(["w.fabro", "no.fabro"], json_output=True, strict=False) == 2
    out, err = capsys.readouterr()
    assert err == ""
    found = json.loads(out)
    assert found["valid"] is False
    first, second = found["workflows"]
    assert (first["valid"], first["name"], first["nodes"], first["edges"]) == (True, "G", 3, 2)
    (finding,) = first["diagnostics"]
    assert (finding["rule"], finding["line"], finding["column"], finding["node"]) == (
        "unreadable_value",
        5,
        13,
        "n",
    )
    assert finding["fix"]
    assert second["error"]


def test_strict_counts_warnings(folder: Path) -> None:
    (folder / "w.fabro").write_text(line("label=x, max_retries=many"))
    assert validate(["w.fabro"], json_output=False, strict=False) == 0
    assert validate(["w.fabro"], json_output=False, strict=True) == 1
    (folder / "w.fabro").write_text(line("script=ls, type=tool"))
    assert validate(["w.fabro"], json_output=False, strict=True) == 0


def test_a_config_or_its_folder_will_do(folder: Path) -> None:
    (folder / "workflow.toml").write_text('[workflow]\ngraph = "w.fabro"')
    assert validate(["workflow.toml", ".", str(folder)], json_output=False, strict=True) == 0


def test_children_are_checked_too(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "w.fabro").write_text(line('shape=house, label=x, stack.child_workflow="c/child.fabro"'))
    (folder / "c").mkdir()
    (folder / "c" / "child.fabro").write_text(whole("start -> nowhere"))
    assert validate(["w.fabro"], json_output=False, strict=False) == 1
    assert "c/child.fabro:5:10" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"digraph G { \0 }", "NUL byte"),
        (b"digraph G { \xff }", "UTF-8"),
        (b"// " + b"x" * 2_200_000, "larger than"),
        (b"// " + b"x" * 600_000, "may have 524288 bytes"),
        (b"", "no graph"),
        (line('prompt="@../../etc/passwd"').encode(), "leaves the workflow's folder"),
        (line('prompt="@no.md"').encode(), "`no.md`, which does not exist"),
        (line('prompt="@out.md"').encode(), "out of the workflow's folder"),
        (line("prompt=\"{{ 'x' \"").encode(), "not a template"),
    ],
)
def test_files_that_cannot_be_used(
    folder: Path, capsys: pytest.CaptureFixture[str], content: bytes, message: str
) -> None:
    (folder / "out.md").symlink_to("/etc/passwd")
    (folder / "w.fabro").write_bytes(content)
    assert validate(["w.fabro"], json_output=False, strict=False) == 1
    shown = capsys.readouterr().err
    assert message in shown
    assert "fix: " in shown


def test_a_path_without_a_workflow(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "empty").mkdir()
    for path in ("no.fabro", "empty"):
        assert validate([path], json_output=False, strict=False) == 2
        assert "there is no workflow file" in capsys.readouterr().err
