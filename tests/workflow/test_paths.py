import pytest
from hypothesis import given
from hypothesis import strategies as st

from fabro.errors import InvalidInput
from fabro.workflow.paths import check_path, find_collision, resolve_reference


@pytest.mark.parametrize(
    "path", ["workflow", "a/b.md", "ünï/c d.md", "a" * 240, "/".join("a" * 16), "..a", "a..b", "xy:z"]
)
def test_storable(path: str) -> None:
    check_path(path)


@pytest.mark.parametrize(
    ("path", "reason"),
    [
        ("", "empty"),
        ("/a", "absolute"),
        ("~/a", "tilde"),
        ("a\\b", "backslashes"),
        ("a/", "trailing"),
        ("a//b", "repeated"),
        ("C:", "drive"),
        ("c:/a", "drive"),
        ("a\nb", "control"),
        ("a\x7f", "control"),
        ("./a", "dot segments"),
        ("a/../b", "dot segments"),
        ("/".join("a" * 17), "components"),
        ("é" * 121, "bytes"),
        ("\ud800", "Unicode"),
    ],
)
def test_not_storable(path: str, reason: str) -> None:
    with pytest.raises(InvalidInput, match=reason) as caught:
        check_path(path)
    assert caught.value.code == "invalid_workflow_path"


@pytest.mark.parametrize(
    ("referrer", "reference", "expected"),
    [
        ("w.fabro", "p.md", "p.md"),
        ("a/w.fabro", "p.md", "a/p.md"),
        ("a/w.fabro", "./b/./p.md", "a/b/p.md"),
        ("a/b/w.fabro", "../p.md", "a/p.md"),
        ("a/b/w.fabro", "../../p.md", "p.md"),
    ],
)
def test_references(referrer: str, reference: str, expected: str) -> None:
    assert resolve_reference(referrer, reference) == expected


@pytest.mark.parametrize(
    ("reference", "code"),
    [
        ("../p.md", "reference_escapes"),
        ("../../etc/passwd", "reference_escapes"),
        ("a/../../p.md", "reference_escapes"),
        ("/etc/passwd", "invalid_workflow_path"),
        ("~/x", "invalid_workflow_path"),
        ("..\\x", "invalid_workflow_path"),
        ("", "invalid_workflow_path"),
        ("a/..", "invalid_workflow_path"),
    ],
)
def test_references_that_lead_nowhere(reference: str, code: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        resolve_reference("w.fabro", reference)
    assert caught.value.code == code


@given(st.text(alphabet="ab./~\\:"), st.text(alphabet="ab./~\\:é"))
def test_a_resolved_reference_is_storable(referrer: str, reference: str) -> None:
    try:
        path = resolve_reference(referrer, reference)
    except InvalidInput:
        return
    check_path(path)


@pytest.mark.parametrize(
    "paths",
    [
        ["A", "a"],
        ["A", "a/b.md"],
        ["a/b.md", "A"],
        ["é", "É"],
        ["\u039f\u03a3", "\u03bf\u03c3"],
        ["\u03bf\u03c2", "\u03bf\u03c3"],
        ["Straße", "STRASSE"],
        ["e\u0301", "é"],
        ["\u03b1\u0345\u0301", "\u1fb4"],
        ["x", "Dir/a", "dir"],
    ],
)
def test_portable_collisions(paths: list[str]) -> None:
    assert find_collision(paths, portable=True) is not None
    assert find_collision(paths, portable=False) is None


@pytest.mark.parametrize("paths", [["a", "a"], ["a", "a/b"], ["a/b", "assets.txt", "a"]])
def test_exact_collisions(paths: list[str]) -> None:
    assert find_collision(paths, portable=False) is not None


@pytest.mark.parametrize(
    "paths", [[], ["a", "b"], ["assets", "assets.txt"], ["a/b", "a/c"], ["assets/a", "assets.txt"]]
)
def test_no_collision(paths: list[str]) -> None:
    assert find_collision(paths, portable=True) is None
