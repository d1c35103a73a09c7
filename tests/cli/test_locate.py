"""Which workflow a command line means."""

from pathlib import Path

import pytest

from fabro.cli.locate import locate
from fabro.errors import NotFound


def write(path: Path) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("digraph g {}")
    return path


def found(given: str, folder: Path, **environment: str) -> Path:
    path = locate(given, folder=folder, environment=environment)
    return (path.root / path.entrypoint).resolve()


def test_a_file_a_folder_and_spaces(tmp_path: Path) -> None:
    file = write(tmp_path / "my flöws" / "a b.fabro")
    assert found("my flöws/a b.fabro", tmp_path) == file.resolve()
    assert found(str(file), Path("/")) == file.resolve()
    graph = write(tmp_path / "my flöws" / "workflow.fabro")
    assert found("my flöws", tmp_path) == graph.resolve()
    config = write(tmp_path / "my flöws" / "workflow.toml")
    assert found("my flöws", tmp_path) == config.resolve()


def test_a_name_is_looked_up_upwards_then_at_home(tmp_path: Path) -> None:
    home, project = tmp_path / "home", tmp_path / "p"
    inner = project / "a" / "b"
    inner.mkdir(parents=True)
    at_home = write(home / ".fabro" / "workflows" / "hello" / "workflow.fabro")
    assert found("hello", inner, HOME=str(home)) == at_home.resolve()
    assert found("hello", inner, FABRO_HOME=str(home / ".fabro")) == at_home.resolve()
    outer = write(project / ".fabro" / "workflows" / "hello" / "workflow.toml")
    assert found("hello", inner, HOME=str(home)) == outer.resolve()
    nearer = write(project / "a" / ".fabro" / "workflows" / "hello" / "workflow.fabro")
    assert found("hello", inner, HOME=str(home)) == nearer.resolve()


def test_a_file_wins_over_a_name(tmp_path: Path) -> None:
    write(tmp_path / ".fabro" / "workflows" / "hello" / "workflow.fabro")
    file = write(tmp_path / "hello")
    assert found("hello", tmp_path) == file.resolve()


@pytest.mark.parametrize(
    ("given", "message", "hint"),
    [
        ("missing.fabro", "there is no workflow file", None),
        ("no/such", "there is no workflow file", None),
        ("helo", "there is no workflow 'helo'", "Did you mean 'hello'?"),
        ("zzz", "there is no workflow 'zzz'", "Known names: hello."),
        ("empty", "holds neither", None),
    ],
)
def test_what_is_not_there_is_said(given: str, message: str, hint: str | None, tmp_path: Path) -> None:
    write(tmp_path / ".fabro" / "workflows" / "hello" / "workflow.fabro")
    (tmp_path / "empty").mkdir()
    with pytest.raises(NotFound, match=message) as refused:
        found(given, tmp_path)
    assert refused.value.hint == hint
    assert refused.value.code == "workflow_not_found"
