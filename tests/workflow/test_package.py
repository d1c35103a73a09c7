from collections.abc import Iterator, Mapping

import pytest

from fabro.errors import InvalidInput, TooLarge
from fabro.workflow.package import MAX_SOURCE_BYTES, Package, package, package_supplied
from fabro.workflow.version import MAX_FILE_BYTES, MAX_FILES, MAX_LEVELS, Version
from tests.workflow.graphs import line, whole

SEED = 'digraph W { start [shape=Mdiamond] work [prompt="@prompt.md"] exit [shape=Msquare] start -> work -> exit }'
GOOD = line("label=x")


def calling(*children: str) -> str:
    nodes = "\n".join(f'c{n} [label=x, stack.child_workflow="{child}"]' for n, child in enumerate(children))
    edges = " -> ".join(f"c{n}" for n in range(len(children)))
    return whole(f"node [shape=house]\n{nodes}\nstart -> {edges} -> exit")


def root_of(found: Package) -> Version:
    assert found.root is not None, found.diagnostics
    return found.root


def errors(found: Package) -> list[str]:
    return [diagnostic.rule for diagnostic in found.diagnostics if diagnostic.severity == "error"]


def test_the_seeds_example() -> None:
    found = package_supplied("workflow.fabro", {"workflow.fabro": SEED, "prompt.md": "Review the implementation."})
    assert root_of(found).files.keys() == {"workflow.fabro", "prompt.md"}
    assert found.refusal() is None


@pytest.mark.parametrize(
    ("entrypoint", "files", "expected"),
    [
        (
            "workflow",
            {"workflow": "digraph W {}"},
            "df35773d552ce98136f8840de80dbb940ec8d3f482a99ca2450a9572dd267805",
        ),
        (
            "workflow.fabro",
            {
                "workflow.fabro": 'digraph W { child [stack.child_workflow="child.fabro"] }',
                "child.fabro": "digraph Child {}",
            },
            "a4f59ba9c7375d04961228bf41821e9c7d4373904ee5fcbd248671e5a64df240",
        ),
    ],
)
def test_known_ids(entrypoint: str, files: Mapping[str, str], expected: str) -> None:
    found = package_supplied(entrypoint, files)
    assert root_of(found).id == expected
    assert "start_node" in errors(found)


def test_only_what_is_reached_is_in_the_version() -> None:
    files = {
        "a/w.fabro": line('prompt="@p/x.md", output_schema="@s.json"', "goal=\"{% include 'inc/g.md' %}\""),
        "a/p/x.md": "{% include '../inc/g.md' %} {{ goal }}",
        "a/inc/g.md": "{% include 'deep.md' %}",
        "a/inc/deep.md": "x",
        "a/s.json": '{"x": "{% include \'no.md\' %}"}',
        "a/unused.md": "x",
        "a/script.sh": "x",
    }
    found = package_supplied("a/w.fabro", files)
    assert root_of(found).files.keys() == files.keys() - {"a/unused.md", "a/script.sh"}
    assert found.diagnostics == ()


def test_scripts_are_literal() -> None:
    files = {"w": line("script=\"cat @data.txt ../x /etc/passwd {% include 'y' %} ./run.sh\""), "run.sh": "x"}
    assert root_of(package_supplied("w", files)).files.keys() == {"w"}


def test_children_come_before_parents_each_once() -> None:
    files = {
        "root": calling("left", "right"),
        "left": calling("sub/shared", "nested"),
        "right": calling("sub/shared"),
        "nested": GOOD,
        "sub/shared": line('prompt="@own.md"'),
        "sub/own.md": "x",
    }
    found = package_supplied("root", files)
    assert [version.entrypoint for version in found.versions] == ["sub/shared", "nested", "left", "right", "root"]
    by_path = {version.entrypoint: version for version in found.versions}
    assert by_path["left"].workflow_dependencies == {
        "sub/shared": by_path["sub/shared"].id,
        "nested": by_path["nested"].id,
    }
    assert by_path["sub/shared"].files.keys() == {"sub/shared", "sub/own.md"}
    assert by_path["root"].files.keys() == {"root"}


@pytest.mark.parametrize(
    ("files", "rule"),
    [
        ({"w": "digraph {"}, "syntax"),
        ({"w": line('prompt="@no.md"')}, "unresolved_file_ref"),
        ({"w": line('prompt="@../no.md"')}, "unresolved_file_ref"),
        ({"w": line('prompt="@/etc/passwd"')}, "unresolved_file_ref"),
        ({"w": line('prompt="@~/x"')}, "unresolved_file_ref"),
        ({"w": line('prompt="@{{ inputs.x }}"')}, "unresolved_file_ref"),
        ({"w": line("label=x", 'goal="@no.md"')}, "unresolved_file_ref"),
        ({"w": line('label=x, output_schema="@no.json"')}, "unresolved_file_ref"),
        ({"w": calling("no.fabro")}, "unresolved_file_ref"),
        ({"w": calling("../no.fabro")}, "unresolved_file_ref"),
        ({"w": line("prompt=\"{% include 'no.md' %}\"")}, "missing_include"),
        ({"w": line("prompt=\"{% include '../no.md' %}\"")}, "reference_escapes"),
        ({"w": line('prompt="@p.md"'), "p.md": "{% include 'no.md' %}"}, "missing_include"),
        ({"w": line("prompt=\"{% include 'w.md' %}\""), "w.md": "{% include 'w.md' %}"}, "include_cycle"),
        ({"w": line('prompt="{{ x"')}, "template_syntax"),
        ({"w": line('import="x.fabro", label=x'), "x.fabro": GOOD}, "import_unsupported"),
        ({"w": calling("w")}, "dependency_cycle"),
        ({"w": calling("b"), "b": calling("w")}, "dependency_cycle"),
        ({"w": calling("b"), "b": "digraph {"}, "syntax"),
        ({"w": GOOD, "workflow.toml": "= broken"}, "config_invalid"),
        ({"w": GOOD, "workflow.toml": "workflow = 3"}, "config_invalid"),
        ({"w": GOOD, "workflow.toml": "[workflow]\ngraph = 3"}, "config_invalid"),
        ({"w": GOOD, "workflow.toml": '[workflow]\ngraph = "../w"'}, "reference_escapes"),
    ],
)
def test_refused(files: Mapping[str, str], rule: str) -> None:
    found = package_supplied("w", files)
    assert found.versions == ()
    assert rule in errors(found)
    assert all(diagnostic.fix for diagnostic in found.diagnostics)
    refusal = found.refusal()
    assert refusal is not None
    assert refusal.code == "workflow_version_invalid"


def test_an_import_names_its_node() -> None:
    (finding,) = package_supplied("w", {"w": line('import="x.fabro", label=x')}).diagnostics
    assert finding.node == "n"


def test_a_refusal_holds_no_text_of_the_files() -> None:
    marker = "TOP_SECRET_TEXT"
    for files in (
        {"w": f"digraph {marker} {{ {marker} -- x:{marker} [label=<{marker}>] }}"},
        {"w": line(f'prompt="@p.md", {marker}=1'), "p.md": f"{{{{ {marker}"},
        {"w": GOOD, "workflow.toml": f"{marker} = = 3"},
    ):
        refusal = package_supplied("w", files).refusal()
        assert refusal is not None
        assert marker not in f"{refusal.message} {refusal.hint} {refusal.details}"


def test_rules_that_a_version_may_break_are_told() -> None:
    found = package_supplied("w", {"w": whole("start -> nowhere")})
    assert found.versions
    assert "edge_target_exists" in errors(found)


def test_what_lies_outside_is_never_read() -> None:
    asked: list[str] = []

    def read(path: str) -> str | None:
        asked.append(path)
        return line('prompt="@../../etc/passwd"') if path == "w" else None

    package("w", read)
    assert set(asked) == {"w", "workflow.toml"}
    for entrypoint in ("../w", "/w", "a/../w", ""):
        asked.clear()
        assert package(entrypoint, read).versions == ()
        assert asked == []


def test_a_reader_may_refuse_a_file() -> None:
    def read(path: str) -> str | None:
        if path == "p.md":
            raise InvalidInput("`p.md` can't be used", code="unreadable_file", hint="mend it")
        return line('prompt="@p.md"') if path == "w" else None

    (finding,) = package("w", read).diagnostics
    assert (finding.rule, finding.file, finding.fix) == ("unreadable_file", "p.md", "mend it")


CONFIG = '[workflow]\ngraph = "w.fabro"\n'


def test_a_config_that_selects_the_graph_belongs_to_it() -> None:
    files = {"d/w.fabro": GOOD, "d/workflow.toml": CONFIG}
    by_graph = package_supplied("d/w.fabro", files)
    by_config = package_supplied("d/workflow.toml", files)
    assert root_of(by_graph) == root_of(by_config)
    assert root_of(by_graph).files.keys() == files.keys()
    default = package_supplied(
        "workflow.fabro", {"workflow.fabro": GOOD, "workflow.toml": "\ufeff_version = 1\r\n"}
    )
    assert "workflow.toml" in root_of(default).files


def test_a_config_that_selects_another_graph_is_left_out() -> None:
    files = {"v.fabro": GOOD, "w.fabro": GOOD, "workflow.toml": CONFIG}
    assert root_of(package_supplied("v.fabro", files)).files.keys() == {"v.fabro"}


def test_a_config_must_stand_beside_its_graph() -> None:
    files = {"workflow.toml": '[workflow]\ngraph = "sub/w.fabro"', "sub/w.fabro": GOOD}
    assert errors(package_supplied("workflow.toml", files)) == ["config_invalid"]
    assert errors(package_supplied("workflow.toml", {"workflow.toml": CONFIG})) == ["missing_file"]


@pytest.mark.parametrize("name", ["Workflow.toml", "WORKFLOW.TOML"])
def test_a_config_is_spelled_exactly(name: str) -> None:
    with pytest.raises(InvalidInput, match=name):
        package_supplied("w", {"w": GOOD, name: CONFIG})


@pytest.mark.parametrize(
    ("entrypoint", "files"),
    [
        ("w.fabro", {"w": GOOD}),
        ("W", {"w": GOOD}),
        ("../w", {"../w": GOOD}),
        ("w", {"w": GOOD, "/abs": ""}),
        ("w", {"w": GOOD, "A": "", "a": ""}),
        ("w", {"w": GOOD, "A": "", "a/b.md": ""}),
        ("w", {"w": GOOD, "x": "\ud800"}),
    ],
)
def test_a_supplied_tree_must_be_in_order(entrypoint: str, files: Mapping[str, str]) -> None:
    with pytest.raises(InvalidInput):
        package_supplied(entrypoint, files)


def test_limits_of_a_supplied_tree() -> None:
    fitting = {"w": GOOD, **{f"f{n}": "" for n in range(MAX_FILES - 1)}}
    package_supplied("w", fitting)
    full = {"w": GOOD, **{f"f{n}": "x" * MAX_FILE_BYTES for n in range(3)}}
    full["g"] = "x" * (MAX_SOURCE_BYTES - sum(map(len, full.values())))
    package_supplied("w", full)
    for files in (
        {**fitting, "more": ""},
        {"w": GOOD, "f": "x" * (MAX_FILE_BYTES + 1)},
        {**full, "h": "x"},
    ):
        with pytest.raises(TooLarge):
            package_supplied("w", files)


def test_a_version_may_not_grow_over_its_limit() -> None:
    files = {f"p{n}.md": "\x01" * 200_000 for n in range(2)}
    nodes = " ".join(f'n{n} [prompt="@p{n}.md"]' for n in range(2))
    found = package_supplied("w", {"w": whole(f"{nodes} start -> n0 -> n1 -> exit"), **files})
    assert errors(found) == ["workflow_version_too_large"]


def test_a_reached_file_may_not_be_too_large() -> None:
    big = {"w": line('prompt="@p.md"'), "p.md": "x" * (MAX_FILE_BYTES + 1)}
    assert errors(package("w", big.get)) == ["workflow_version_too_large"]


def chain(length: int) -> dict[str, str]:
    return {f"w{n}": calling(f"w{n + 1}") if n < length - 1 else GOOD for n in range(length)}


def test_levels() -> None:
    assert len(package_supplied("w0", chain(MAX_LEVELS)).versions) == MAX_LEVELS
    for length in (MAX_LEVELS + 1, 384, 512):
        assert errors(package_supplied("w0", chain(length))) == ["dependency_nesting"]


def test_moving_the_folder_changes_nothing() -> None:
    def reader(base: str) -> Iterator[Package]:
        stored = {f"{base}/w": calling("c"), f"{base}/c": GOOD}
        yield package("w", lambda path: stored.get(f"{base}/{path}"))

    (one,), (other,) = reader("/x"), reader("/y/z")
    assert [version.id for version in one.versions] == [version.id for version in other.versions]
