"""Every console script of pyproject, and every module that can be run, explains itself: `--help` prints something and ends with 0."""

from __future__ import annotations

import importlib
import sys
import tomllib

import pytest
from conftest import ROOT

SCRIPTS = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["scripts"]


def runnable_modules() -> list[str]:
    """`folder.module:main` of all files that run by `python -m`."""
    found = []
    for folder in ("envs", "search", "learn"):
        for file in sorted((ROOT / folder).rglob("*.py")):
            text = file.read_text()
            if "\ndef main(" in text and '__name__ == "__main__"' in text:
                found.append(".".join(file.relative_to(ROOT).with_suffix("").parts) + ":main")
    return found


COMMANDS = sorted({*SCRIPTS.values(), *runnable_modules()})


def test_every_kind_is_found():
    assert {"search.play:main", "learn.train:main", "envs.perft:main", "search.record:main"} <= set(COMMANDS)


@pytest.mark.parametrize("command", COMMANDS)
def test_help(command, monkeypatch, capsys):
    """In this process: a process each would take a second. Hydra's commands read sys.argv."""
    module, function = command.split(":")
    monkeypatch.setattr(sys, "argv", [module, "--help"])
    try:
        status = getattr(importlib.import_module(module), function)()
    except SystemExit as end:
        status = end.code
    out, err = capsys.readouterr()
    assert status in (0, None)
    assert err == ""
    assert len(out.splitlines()) > 5
    assert "usage" in out.lower() or "hydra" in out.lower()
