"""The wheel must hold every folder of code and every file that the code reads."""

from __future__ import annotations

import tomllib

from conftest import ROOT

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
PACKAGES = set(PROJECT["tool"]["setuptools"]["packages"])


def test_every_folder_of_code_is_a_listed_package():
    folders = ("envs", "search", "learn", "conf", "checkpoints")
    found = {
        ".".join(path.parent.relative_to(ROOT).parts) for folder in folders for path in (ROOT / folder).rglob("*.py")
    }
    assert found == PACKAGES


def test_every_data_file_is_package_data():
    """Each file beside the code matches a pattern of its nearest package."""
    patterns = PROJECT["tool"]["setuptools"]["package-data"]["*"]
    matched, present = set(), set()
    for package in PACKAGES:
        folder = ROOT.joinpath(*package.split("."))
        matched |= {path for pattern in patterns for path in folder.glob(pattern)}
        present |= {path for path in folder.rglob("*") if path.is_file() and "__pycache__" not in path.parts}
    assert not {str(path.relative_to(ROOT)) for path in present - matched if path.suffix != ".py"}


def test_console_scripts_name_listed_packages():
    for target in PROJECT["project"]["scripts"].values():
        assert target.split(":")[0].split(".")[0] in PACKAGES


def test_constraints_pin_dependencies_only():
    """`make` installs under constraints.txt: a pin of something else would be a leftover."""
    lines = (line for line in (ROOT / "constraints.txt").read_text().splitlines() if line and line[0] != "#")
    pinned = {line.split("==")[0] for line in lines}
    assert "torch" in pinned
    assert all(any(need.startswith(name) for need in PROJECT["project"]["dependencies"]) for name in pinned)
