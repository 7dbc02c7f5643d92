"""`deltaw` and every module that can be run explain themselves: `--help` prints something and ends with 0."""

from __future__ import annotations

import importlib
import subprocess
import sys

import pytest
from conftest import ROOT

from deltaw import __main__ as command_line


def runnable_modules() -> list[str]:
    """All files that run by `python -m`."""
    found = []
    for folder in ("envs", "search", "learn"):
        for file in sorted((ROOT / folder).rglob("*.py")):
            text = file.read_text()
            if "\ndef main(" in text and '__name__ == "__main__"' in text:
                found.append("deltaw." + ".".join(file.relative_to(ROOT).with_suffix("").parts))
    return found


def test_every_module_that_can_be_run_is_a_command():
    assert sorted(command_line.MODULES.values()) == sorted(runnable_modules())


@pytest.mark.parametrize("words", [["--help"], ["perft", "--help"], ["--version"]])
def test_the_command_explains_itself(words, monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["deltaw", *words])
    try:
        status = command_line.main()
    except SystemExit as end:
        status = end.code
    assert status == 0
    assert "deltaw" in capsys.readouterr().out


@pytest.mark.parametrize("words", [[], ["trian"]])
def test_another_command_is_one_line(words, monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["deltaw", *words])
    assert command_line.main() == 2
    out, err = capsys.readouterr()
    assert (out, err.count("\n")) == ("", 1)
    assert "train" in err


def test_usage_names_every_command_and_loads_none():
    """A process named `deltaw` loads neither Numba nor Gymnasium for it."""
    code = "import sys; sys.argv = ['deltaw']; from deltaw.__main__ import usage; print(usage()); "
    code += "print(not {'numba', 'gymnasium', 'numpy'} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert all(f"\n  {name} " in done.stdout for name in command_line.MODULES)
    assert done.stdout.endswith("True\n")


@pytest.mark.parametrize("module", runnable_modules())
def test_help(module, monkeypatch, capsys):
    """In this process: a process each would take a second. Hydra's commands read sys.argv."""
    monkeypatch.setattr(sys, "argv", [module, "--help"])
    try:
        status = importlib.import_module(module).main()
    except SystemExit as end:
        status = end.code
    out, err = capsys.readouterr()
    assert status in (0, None)
    assert err == ""
    assert len(out.splitlines()) > 5
    assert "usage" in out.lower() or "hydra" in out.lower()
