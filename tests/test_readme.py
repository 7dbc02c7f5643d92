"""The README tells the truth: its Python runs, its commands parse, its links exist, and its numbers are those of the committed results."""

from __future__ import annotations

import importlib
import json
import re
import shlex
from pathlib import Path

import pytest
from hydra import compose, initialize_config_module

from benchmarks.learned import read_results, table
from learn.config import checked

ROOT = Path(__file__).parent.parent
TEXT = (ROOT / "README.md").read_text()
SEARCH = (ROOT / "docs" / "search.md").read_text()
LEARNING = (ROOT / "docs" / "learning.md").read_text()
MAKEFILE = (ROOT / "Makefile").read_text()


def blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", TEXT + SEARCH + LEARNING, flags=re.DOTALL)


def commands() -> list[str]:
    lines = [line.split("  #")[0].strip() for block in blocks("sh") for line in block.splitlines()]
    lines += [
        f"python -m {words}"
        for words in re.findall(r"`python -m ((?:search|learn)\.[^`]*[A-Za-z0-9])`", TEXT + LEARNING)
    ]
    return [re.sub(r"\s+#.*", "", line) for line in lines if line and not line.startswith("#")]


@pytest.mark.parametrize("block", blocks("python"))
def test_python_runs(block):
    exec(compile(block, "README.md", "exec"), {})


@pytest.mark.parametrize("command", commands())
def test_commands_are_understood(command):
    words = shlex.split(command)
    if words[0] == "make":
        assert re.search(rf"^{words[1]}:", MAKEFILE, flags=re.MULTILINE)
        return
    assert words[0].endswith("python")
    assert words[1] == "-m"
    module, arguments = words[2], words[3:]
    if module in ("learn.train", "learn.export"):
        with initialize_config_module("conf", version_base="1.3"):
            raw = compose(module.removeprefix("learn."), overrides=arguments)
        if module == "learn.train":
            checked(raw)
    else:
        loaded = importlib.import_module(module)
        if hasattr(loaded, "parser"):
            loaded.parser().parse_args(arguments)


@pytest.mark.parametrize("target", sorted(set(re.findall(r"\]\(([^)#:]+)\)", TEXT))))
def test_links_exist(target):
    assert (ROOT / target).exists()


@pytest.mark.parametrize("target", sorted(set(re.findall(r"\]\(([^)#:]+)\)", SEARCH + LEARNING))))
def test_links_of_the_documents_exist(target):
    assert (ROOT / "docs" / target).exists()


def test_speeds_are_those_of_the_committed_run():
    """Each row of the speed table whose first cell is a row of docs/bench.json shows its value, to three digits."""
    values: dict[str, list[float]] = {}
    for row in json.loads((ROOT / "docs" / "bench.json").read_text())["rows"]:
        values.setdefault(row["name"], []).append(row["value"])
    shown = re.findall(r"^\| ([^|]+?) \| ([\d,.]+) ", TEXT + SEARCH, flags=re.MULTILINE)
    named = [(name, float(value.replace(",", ""))) for name, value in shown if name in values]
    assert len(named) >= 15
    for name, value in named:
        assert any(value == pytest.approx(measured, rel=0.006) for measured in values[name]), name


def test_what_was_learned_is_that_of_the_committed_runs():
    """The table is what the command that measured it prints, seed by seed."""
    shown = table(read_results())
    assert shown.count("\n") > 8
    assert shown in TEXT


def test_every_learner_is_explained():
    for path in (ROOT / "conf" / "learner").glob("*.yaml"):
        assert f"`{path.stem}`" in LEARNING, path.stem


def test_at_most_200_lines():
    assert len(TEXT.splitlines()) <= 200
