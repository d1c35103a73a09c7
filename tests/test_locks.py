"""The locks hold every package that pyproject.toml names, in a version that it allows, by hash alone."""

import re
import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import NormalizedName, canonicalize_name
from packaging.version import Version

ROOT = Path(__file__).resolve().parent.parent
FOLDER = ROOT / "requirements"
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
GROUPS = PROJECT["dependency-groups"]
PIN = re.compile(r"(?m)^(?P<name>[a-z0-9-]+)==(?P<version>[^ ]+)(?P<rest>[^\\\n]*(?:\\\n[^\\\n]*)*)$")
WANTED: dict[str, list[str]] = {
    "run.txt": PROJECT["project"]["dependencies"],
    "dev.txt": [*PROJECT["project"]["dependencies"], *GROUPS["dev"], *GROUPS["bench"]],
    "local.txt": PROJECT["project"]["optional-dependencies"]["local"],
    "bootstrap.txt": ["uv", *PROJECT["build-system"]["requires"]],
}


def pins(name: str) -> dict[NormalizedName, Version]:
    found = PIN.finditer((FOLDER / name).read_text(encoding="utf-8"))
    return {canonicalize_name(pin["name"]): Version(pin["version"]) for pin in found}


@pytest.mark.parametrize("name", WANTED)
def test_a_lock_holds_what_the_project_names(name: str) -> None:
    locked = pins(name)
    for requirement in map(Requirement, WANTED[name]):
        version = locked.get(canonicalize_name(requirement.name))
        assert version is not None, f"{requirement.name} is not locked; run scripts/lock"
        assert requirement.specifier.contains(version), f"{requirement} is locked as {version}; run scripts/lock"


@pytest.mark.parametrize("name", WANTED)
def test_each_package_has_hashes_and_nothing_says_where_it_comes_from(name: str) -> None:
    text = (FOLDER / name).read_text(encoding="utf-8")
    assert all("--hash=sha256:" in pin["rest"] for pin in PIN.finditer(text))
    assert [line for line in PIN.sub("", text).splitlines() if line and not line.startswith("#")] == []


def test_the_locks_agree() -> None:
    everything = pins("dev.txt")
    for name in WANTED:
        assert {one: pin for one, pin in pins(name).items() if everything.get(one, pin) != pin} == {}


def test_the_libraries_that_the_weights_ask_for_are_left_out() -> None:
    lines = (FOLDER / "excluded.txt").read_text(encoding="utf-8").splitlines()
    excluded = {canonicalize_name(line) for line in lines if line and not line.startswith("#")}
    assert excluded
    assert not excluded & {*pins("local.txt"), *pins("dev.txt"), *pins("run.txt")}
