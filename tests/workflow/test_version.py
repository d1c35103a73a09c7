import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fabro.errors import InvalidInput, TooLarge
from fabro.ids import VersionId
from fabro.workflow.version import MAX_FILE_BYTES, MAX_FILES, MAX_VERSION_BYTES, Version, parse_version

CHILD = VersionId("843637b651b6d7468eb14b7639089dcb2786e52e60e22370a6d255f5dedd517e")
VECTORS = [
    (
        Version(entrypoint="workflow", files={"workflow": "digraph W {}"}),
        "df35773d552ce98136f8840de80dbb940ec8d3f482a99ca2450a9572dd267805",
    ),
    (
        Version(entrypoint="workflow.fabro", files={"z.txt": "Z", "workflow.fabro": "digraph W {}", "a.txt": "A"}),
        "4e7fbbe735901f76eaff29d78ae89dd9cc043f4fd5569254efcf54bbb502a35f",
    ),
    (Version(entrypoint="child.fabro", files={"child.fabro": "digraph Child {}"}), CHILD),
]


@pytest.mark.parametrize(("version", "expected"), VECTORS)
def test_known_ids(version: Version, expected: str) -> None:
    assert version.id == expected
    assert parse_version(version.canonical_bytes) == version


def test_the_canonical_form() -> None:
    assert len(VECTORS[0][0].canonical_bytes) == 88
    assert VECTORS[1][0].canonical_bytes == (
        b'{"entrypoint":"workflow.fabro","files":{"a.txt":"A","workflow.fabro":"digraph W {}","z.txt":"Z"},'
        b'"workflow_dependencies":{}}'
    )


TEXTS = st.text(alphabet=st.characters(codec="utf-8"))


@given(st.dictionaries(st.from_regex(r"[a-zé😀]{1,4}", fullmatch=True), TEXTS, min_size=1, max_size=4))
def test_order_and_spacing_make_no_difference(files: dict[str, str]) -> None:
    version = Version(entrypoint=next(iter(files)), files=files)
    backward = {
        "workflow_dependencies": {},
        "files": dict(reversed(files.items())),
        "entrypoint": version.entrypoint,
    }
    for content in (version.canonical_bytes, json.dumps(backward, indent=1).encode()):
        assert parse_version(content).id == version.id
        assert parse_version(content).canonical_bytes == version.canonical_bytes


def test_line_ends_are_part_of_the_content() -> None:
    assert Version(entrypoint="a", files={"a": "x\r\n"}).id != Version(entrypoint="a", files={"a": "x\n"}).id


def test_dependencies_are_ids_in_any_case() -> None:
    content = {"entrypoint": "a", "files": {"a": ""}, "workflow_dependencies": {"b": CHILD.upper()}}
    assert parse_version(json.dumps(content).encode()).workflow_dependencies == {"b": CHILD}


@pytest.mark.parametrize(
    ("content", "code"),
    [
        (b"nonsense", "invalid_json"),
        (b"\xff", "invalid_json"),
        (b'{"entrypoint":"a","entrypoint":"a","files":{"a":""},"workflow_dependencies":{}}', "invalid_json"),
        (b'{"entrypoint":"a","files":{"a":"","a":"x"},"workflow_dependencies":{}}', "invalid_json"),
        (b"[" * 100_000, "invalid_json"),
        (b"[]", "workflow_version_invalid"),
        (b'{"entrypoint":"a","files":{"a":""}}', "workflow_version_invalid"),
        (b'{"entrypoint":"a","files":{"a":""},"workflow_dependencies":{},"x":1}', "workflow_version_invalid"),
        (b'{"entrypoint":1,"files":{"a":""},"workflow_dependencies":{}}', "workflow_version_invalid"),
        (b'{"entrypoint":"a","files":{"a":1},"workflow_dependencies":{}}', "workflow_version_invalid"),
        (b'{"entrypoint":"a","files":["a"],"workflow_dependencies":{}}', "workflow_version_invalid"),
        (b'{"entrypoint":"b","files":{"a":""},"workflow_dependencies":{}}', "workflow_version_invalid"),
        (b'{"entrypoint":"a","files":{"a":"","a/b":""},"workflow_dependencies":{}}', "workflow_version_invalid"),
        (b'{"entrypoint":"a","files":{"a":""},"workflow_dependencies":{"b":"x"}}', "workflow_version_invalid"),
        (b'{"entrypoint":"a","files":{"a":"\\ud800"},"workflow_dependencies":{}}', "workflow_version_invalid"),
        (b'{"entrypoint":"a","files":{"a":"","../b":""},"workflow_dependencies":{}}', "invalid_workflow_path"),
    ],
)
def test_refused(content: bytes, code: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        parse_version(content)
    assert caught.value.code == code


def test_limits_are_inclusive() -> None:
    Version(entrypoint="f0", files={f"f{number}": "" for number in range(MAX_FILES)})
    Version(entrypoint="a", files={"a": "x" * MAX_FILE_BYTES})
    full = Version(entrypoint="a", files={"a": "x", **{f"b{number}": "x" * MAX_FILE_BYTES for number in range(3)}})
    room = MAX_VERSION_BYTES - len(full.canonical_bytes) - len(',"c":""')
    exact = Version(entrypoint="a", files={**full.files, "c": "x" * room})
    assert len(exact.canonical_bytes) == MAX_VERSION_BYTES
    with pytest.raises(TooLarge):
        Version(entrypoint="a", files={**full.files, "c": "x" * (room + 1)})


@pytest.mark.parametrize(
    "files",
    [
        {f"f{number}": "" for number in range(MAX_FILES + 1)},
        {"f0": "x" * (MAX_FILE_BYTES + 1)},
        {"f0": "é" * (MAX_FILE_BYTES // 2 + 1)},
        {"f0": "\x01" * MAX_FILE_BYTES},
    ],
)
def test_over_the_limit(files: dict[str, str]) -> None:
    with pytest.raises(TooLarge) as caught:
        Version(entrypoint="f0", files=files)
    assert caught.value.code == "workflow_version_too_large"
