"""The tutorial works: its files are written, its commands run one after the other, and what it says they print they
print."""

from __future__ import annotations

import importlib
import os
import re
import shlex
import subprocess
import sys
import urllib.request
from pathlib import Path
from typing import NamedTuple

import pytest
from conftest import ROOT, random_game

from deltaw.search.doors.view import cells_of

TEXT = (ROOT / "docs" / "tutorial.md").read_text()
TOLERANCE = 0.25
"""of stated numbers with a decimal point: training ends elsewhere where another processor adds in another order"""
TYPED = {"play": "hint\na2-a3\nquit\n"}
"""what a person types"""


class Block(NamedTuple):
    language: str
    text: str


def blocks() -> list[Block]:
    return [Block(*found) for found in re.findall(r"```(\w+)\n(.*?)```", TEXT, flags=re.DOTALL)]


def files() -> dict[str, str]:
    """Name -> text of the blocks that begin with the name of a file."""
    named = (re.match(r"# (\w+\.(?:py|toml))\n", block.text) for block in blocks())
    return {match[1]: match.string[match.end() :] for match in named if match}


class Place:
    """A folder in which somebody follows the tutorial."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.site = folder / "my_games", folder / "site"
        self.folder.mkdir()
        known = os.pathsep.join(filter(None, [str(self.site), str(ROOT), os.environ.get("PYTHONPATH", "")]))
        self.environment = os.environ | {"PYTHONPATH": known}

    def run(self, command: str) -> str:
        """What a command of the tutorial prints, on standard output and error."""
        words = shlex.split(command, comments=True)
        if words[:3] == ["pip", "install", "-e"]:
            options = ["--quiet", "--no-deps", "--no-build-isolation", "--no-index", "--target", str(self.site)]
            return self.python(["-m", "pip", "install", *options, *words[3:]])
        if words[:2] == ["make", "test"]:
            arguments = shlex.split(words[2].removeprefix("ARGS="))
            return self.python(["-m", "pytest", "-n", "0", "-p", "no:cacheprovider", *arguments], ROOT)
        if words[0] == "tensorboard":  # it would not end
            assert list((self.folder / words[2]).glob("*/events*"))
            return ""
        assert words[0] == "deltaw", command
        if words[1] == "serve":
            return self.serve(["-m", *words])
        return self.python(["-m", *words], typed=TYPED.get(words[1], ""))

    def serve(self, words: list[str]) -> str:
        """Start the web board, open its page, end it."""
        words = [sys.executable, *words, "--port", "0"]
        with subprocess.Popen(
            words, cwd=self.folder, env=self.environment, stdout=subprocess.PIPE, text=True
        ) as server:
            try:
                address = re.search(r"http://\S+", server.stdout.readline())[0]
                with urllib.request.urlopen(address) as page:
                    assert "<html" in page.read().decode()
            finally:
                server.terminate()
        return ""

    def python(self, words: list[str], folder: Path | None = None, typed: str = "") -> str:
        done = subprocess.run(
            [sys.executable, *words],
            cwd=folder or self.folder,
            env=self.environment,
            input=typed,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        assert done.returncode == 0, f"{shlex.join(words)}\n{done.stdout}"
        return done.stdout


def is_like(stated: str, printed: str) -> bool:
    """Whether a printed line begins with the stated words; numbers with a decimal point may differ by TOLERANCE."""
    wanted, found = stated.split(), printed.split()
    if len(found) < len(wanted):
        return False
    return all(a == b or _close(a, b) for a, b in zip(wanted, found, strict=False))


def _close(a: str, b: str) -> bool:
    number = r"[+-]?\d+\.\d+"
    return bool(re.fullmatch(number, a) and re.fullmatch(number, b)) and abs(float(a) - float(b)) <= TOLERANCE


@pytest.fixture(scope="module")
def place(tmp_path_factory) -> Place:
    place = Place(tmp_path_factory.mktemp("tutorial"))
    for name, text in files().items():
        (place.folder / name).write_text(text)
    return place


@pytest.mark.slow  # it compiles every kernel for a game of its own
def test_the_tutorial_from_its_beginning_to_its_end(place):
    printed, commands, statements = "", 0, 0
    for block in blocks():
        if block.language == "sh":
            lines = block.text.replace("\\\n", "").splitlines()
            printed = "".join(place.run(line) for line in lines)
            commands += len(lines)
        elif block.language == "text":
            for stated in block.text.splitlines():
                assert any(is_like(stated, line) for line in printed.splitlines()), f"{stated}\n{printed}"
                statements += 1
        elif block.language == "python" and not block.text.startswith("# breakthrough.py"):
            printed = place.python(["-c", block.text])
    assert commands >= 10
    assert statements >= 5
    check_the_weights(place)


def check_the_weights(place: Place) -> None:
    """What step 4 says of the page: a pawn is worth more the further it has come."""
    page = (place.folder / "linear.html").read_text()
    weights = {name: float(value) for name, value in re.findall(r"<title>me_(\w\d) ([+-][\d.]+)</title>", page)}
    rows = [sum(weights[f"{column}{row}"] for column in "abcde") / 5 for row in (1, 2, 3, 4)]
    assert rows == sorted(rows)
    assert abs(rows[0]) < 0.2
    assert 1 <= rows[-1] <= 2


def test_the_board_stands_still_while_players_turn_it(place, monkeypatch):
    """Text, and the cells that programs and pages are shown (`search/doors/view.py`), are the first player's view; only
    the states turn."""
    monkeypatch.syspath_prepend(str(place.folder))
    game = importlib.import_module("breakthrough").GAME
    for number in range(3):
        before = ""
        for state in random_game(game, 3, number):
            rows = [line.split()[1:] for line in game.ansi(state).splitlines()[:5]]
            shown = "".join(piece for row in rows for piece in row)
            assert shown == "".join(".XO"[cell] for cell in cells_of(game, state))
            assert sum(a != b for a, b in zip(before, shown, strict=False)) == (2 if before else 0)
            before = shown


def test_the_rules_are_short():
    """`Forty lines` is what such a game takes, blank ones not counted."""
    lines = [line for line in files()["breakthrough.py"].splitlines() if line.strip()]
    assert len(lines) <= 42


def test_the_comparison_can_fail():
    assert is_like("│ random   │  +0.999 ± 0.001 │ 5,000 │", "│ random   │  +0.950 ± 0.003 │ 5,000 │")
    assert not is_like("│ random   │  +0.999 ± 0.001 │ 5,000 │", "│ random   │  +0.650 ± 0.003 │ 5,000 │")
    assert not is_like("  a2-a3   21,328", "  a2-a3   21,329")
    assert not is_like("one two three", "one two")


@pytest.mark.parametrize("target", sorted(set(re.findall(r"\]\(([^)#:]+)\)", TEXT))))
def test_links_exist(target):
    assert (ROOT / "docs" / target).exists()


@pytest.mark.parametrize("path", sorted(set(re.findall(r"`((?:envs|tests)/[\w/]+\.py)`", TEXT))))
def test_files_that_are_named_exist(path):
    assert (ROOT / path).exists()
