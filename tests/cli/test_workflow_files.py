import os
from pathlib import Path

import pytest

from fabro.cli.workflow_files import MAX_READ_BYTES, find_workflow, workflow_reader
from fabro.errors import InvalidInput, NotFound


def test_reading(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "b.md").write_bytes("é\r\n".encode())
    read = workflow_reader(tmp_path)
    assert read("a/b.md") == "é\r\n"
    assert read("a/no.md") is None
    assert read("a") is None


def test_a_link_inside_the_folder_is_followed(tmp_path: Path) -> None:
    (tmp_path / "b.md").write_text("x")
    (tmp_path / "a.md").symlink_to("b.md")
    linked = tmp_path.parent / f"{tmp_path.name}-link"
    linked.symlink_to(tmp_path)
    assert workflow_reader(linked)("a.md") == "x"
    linked.unlink()


def refused(root: Path, path: str) -> str:
    with pytest.raises(InvalidInput) as caught:
        workflow_reader(root)(path)
    assert caught.value.hint
    return caught.value.message


def test_what_is_refused(tmp_path: Path) -> None:
    root = tmp_path / "w"
    root.mkdir()
    (tmp_path / "secret").write_text("x")
    (root / "out.md").symlink_to(tmp_path / "secret")
    (root / "dir").symlink_to(tmp_path)
    (root / "loop").symlink_to("loop")
    (root / "nul").write_bytes(b"a\0b")
    (root / "latin").write_bytes(b"a\n\xe9")
    (root / "big").write_bytes(b"x" * (MAX_READ_BYTES + 1))
    assert "out of the workflow's folder" in refused(root, "out.md")
    assert "out of the workflow's folder" in refused(root, "dir/secret")
    assert "out of the workflow's folder" in refused(root, "../secret")
    assert "can't be used" in refused(root, "loop")
    assert "NUL byte" in refused(root, "nul")
    assert "line 2" in refused(root, "latin")
    assert str(MAX_READ_BYTES) in refused(root, "big")
    assert "can't be read" in refused(root, "x" * 300)


def test_a_pipe_is_no_file(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    assert workflow_reader(tmp_path)("pipe") is None


def test_finding(tmp_path: Path) -> None:
    graph = tmp_path / "workflow.fabro"
    graph.write_text("x")
    assert find_workflow(graph).entrypoint == "workflow.fabro"
    assert find_workflow(tmp_path).entrypoint == "workflow.fabro"
    (tmp_path / "workflow.toml").write_text("")
    found = find_workflow(tmp_path)
    assert (found.root, found.entrypoint) == (tmp_path, "workflow.toml")
    for missing in (tmp_path / "no.fabro", tmp_path / "a\0b"):
        with pytest.raises(NotFound):
            find_workflow(missing)
