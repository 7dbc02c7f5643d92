"""What several test files share: golden data, random play-outs by counter-based dice, modules run as commands, and
PettingZoo."""

from __future__ import annotations

import gzip
import json
import signal
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from deltaw.envs.bits import EXPLORE, ROLL, random_unit, random_word
from deltaw.envs.game import Game

ROOT = Path(__file__).parent.parent
DATA = Path(__file__).parent / "data"

# A parent may ignore Ctrl-C, as a shell's background jobs do, and every process that a test starts would inherit that.
signal.signal(signal.SIGINT, signal.default_int_handler)


def read_json(name: str) -> Any:
    return json.loads((DATA / name).read_text())


def read_lines(name: str) -> list[dict]:
    """The records of a `.jsonl.gz` file."""
    with gzip.open(DATA / name, "rt") as lines:
        return [json.loads(line) for line in lines]


def python_state(game: Game, state: Any) -> Any:
    """The state with Python integers, as it comes back from any kernel."""
    return game.state(*(int(x) for x in state))


def pick_chance(game: Game, state: Any, unit: float) -> Any:
    """The chance outcome at the point `unit` of [0, 1)."""
    total = game.rules.num_chance(state)
    for i in range(total):
        after, probability = game.rules.chance(state, i)
        unit -= probability
        if unit < 0 or i == total - 1:
            return python_state(game, after)
    raise AssertionError("no chance outcome")


def random_game(game: Game, seed: int, number: int = 0, most: int = 100_000) -> Iterator[Any]:
    """The states of one random game, chance nodes and the last state included; at most `most` of them."""
    state = python_state(game, game.rules.initial())
    for ply in range(most):
        yield state
        if game.rules.outcome(state)[0]:
            return
        if game.rules.num_chance(state):
            state = pick_chance(game, state, random_unit(seed, number, ply, ROLL))
        else:
            moves = game.moves(state)
            move = moves[random_word(seed, number, ply, EXPLORE) % len(moves)]
            state = python_state(game, game.rules.play(state, move))


@pytest.fixture
def run_main(monkeypatch, capsys):
    """run_main(module, *overrides) -> (exit status, standard error) of `python -m module`, in this process."""

    def call(module, *overrides: str) -> tuple[int, str]:
        monkeypatch.setattr(sys, "argv", [module.__name__, *overrides])
        try:
            module.main()
        except SystemExit as end:
            return int(end.code or 0), capsys.readouterr().err
        return 0, capsys.readouterr().err

    return call


@pytest.fixture(scope="module")
def aec():
    pytest.importorskip("pettingzoo")
    from deltaw.envs.fronts import aec

    return aec
