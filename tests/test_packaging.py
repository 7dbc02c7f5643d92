"""The wheel must hold every folder of code and every file that the code reads."""

from __future__ import annotations

import tomllib
from pathlib import Path

from conftest import ROOT

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
PACKAGES = set(PROJECT["tool"]["setuptools"]["packages"])
PLACES = PROJECT["tool"]["setuptools"]["package-dir"]
FOLDERS = ("deltaw", "envs", "search", "learn", "conf", "checkpoints")


def test_every_folder_of_code_is_a_listed_package():
    found = {package_of(path.parent) for folder in FOLDERS for path in (ROOT / folder).rglob("*.py")}
    assert found == PACKAGES


def package_of(folder: Path) -> str:
    names = folder.relative_to(ROOT).parts
    return ".".join(names if names[0] == "deltaw" else ("deltaw", *names))


def folder_of(package: str) -> Path:
    """The inverse, as `package-dir` says."""
    place = next(p for p in (*sorted(PLACES, key=len, reverse=True),) if package == p or package.startswith(p + "."))
    return ROOT.joinpath(PLACES[place], *package.removeprefix(place).strip(".").split("."))


def test_every_data_file_is_package_data():
    """Each file beside the code matches a pattern of its nearest package."""
    patterns = PROJECT["tool"]["setuptools"]["package-data"]["*"]
    matched, present = set(), set()
    for package in PACKAGES:
        folder = folder_of(package)
        matched |= {path for pattern in patterns for path in folder.glob(pattern)}
        present |= {path for path in folder.rglob("*") if path.is_file() and "__pycache__" not in path.parts}
    assert not {str(path.relative_to(ROOT)) for path in present - matched if path.suffix != ".py"}


def test_constraints_pin_dependencies_only():
    """`make` installs under constraints.txt: a pin of something else would be a leftover."""
    lines = (line for line in (ROOT / "constraints.txt").read_text().splitlines() if line and line[0] != "#")
    pinned = {line.split("==")[0] for line in lines}
    assert "torch" in pinned
    assert all(any(need.startswith(name) for need in PROJECT["project"]["dependencies"]) for name in pinned)
