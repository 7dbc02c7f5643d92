"""Evaluations with damaged evaluators and tables, for `test_damaged_files.py`, which runs this with
NUMBA_BOUNDSCHECK=1.

Every file is either refused by an InputError or evaluated; anything else that is raised ends the program. Prints, as
JSON, how many of each kind were refused and evaluated.
"""

from __future__ import annotations

import dataclasses
import itertools
import json
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from safetensors.numpy import save as to_bytes

from deltaw.envs import games
from deltaw.envs.errors import InputError
from deltaw.envs.game import Game
from deltaw.search.databases.bearoff import build_bearoff, knows, load_bearoff, race, save_bearoff
from deltaw.search.databases.bearoff_pairs import build_pairs
from deltaw.search.databases.book import make_book
from deltaw.search.databases.database import checksum, load_database, save_database, with_database
from deltaw.search.evaluators.evaluator import load_evaluator, make_evaluator, save_evaluator
from deltaw.search.evaluators.inputs import inputs_of
from deltaw.search.evaluators.tensor_file import read_file
from deltaw.search.evaluators.work import make_work
from deltaw.search.players.agent import Agent
from deltaw.search.tree.deep import deep

EACH = 300
"""damaged files of each kind"""


def positions(game: Game) -> list[Any]:
    """A decision, and what follows from its moves."""
    state = game.rules.initial()
    return [state, *(game.rules.play(state, move) for move in game.moves(state))]


# --- damage ---------------------------------------------------------------------------------------------------------


def damage_number(random: np.random.Generator, fields: Any) -> None:
    """One whole number somewhere in the lists of `fields` is changed."""
    lists = [value for value in fields.values() if isinstance(value, list) and value]
    chosen = lists[random.integers(len(lists))]
    i = int(random.integers(len(chosen)))
    old = chosen[i]
    others = (
        old + 1,
        old - 1,
        -old,
        0,
        1,
        -1,
        old + int(random.integers(-60, 60)),
        2**31,
        -(2**31),
        2**63,
        -(2**63),
        10**30,
    )
    chosen[i] = others[random.integers(len(others))]
    if random.random() < 0.1:
        del chosen[i]


def damage_tensor(random: np.random.Generator, tensors: dict[str, np.ndarray]) -> None:
    """A few bytes of a tensor are changed, or its shape."""
    name = sorted(tensors)[random.integers(len(tensors))]
    tensor = tensors[name].copy()
    data = tensor.reshape(-1).view(np.uint8)
    for at in random.integers(len(data), size=random.integers(1, 4)) if len(data) else ():
        data[at] = random.integers(256)
    tensors[name] = tensor[:-1] if random.random() < 0.1 else tensor


def damaged(random: np.random.Generator, path: Path, fields: dict[str, Any], tensors: dict[str, np.ndarray]) -> None:
    """Writes a damaged file with a checksum that fits."""
    fields, tensors = json.loads(json.dumps(fields)), dict(tensors)
    for _ in range(random.integers(1, 3)):
        if random.random() < 0.5 and any(isinstance(value, list) for value in fields.values()):
            damage_number(random, fields)
        else:
            damage_tensor(random, tensors)
    if "sha256" in fields:
        fields["sha256"] = checksum(tensors)
    path.write_bytes(to_bytes(tensors, metadata={"deltaw": json.dumps(fields)}))


# --- use --------------------------------------------------------------------------------------------------------------


def use_evaluator(game: Game, path: Path) -> None:
    """At one ply, as deep searches evaluate, and as inputs of other programs."""
    evaluator = load_evaluator(path, game)
    states = positions(game)
    evaluator.values(np.array([game.row(state) for state in states]))
    inputs_of(game, evaluator.features, np.array([game.row(state) for state in states]))
    Agent(game, evaluator, plies=1).choose(states[0])
    searched = deep(game, evaluator)
    for state in states:
        searched.leaf.evaluate(game.rules, searched.leaf.weights, state, searched.work)


def use_database(game: Game, path: Path) -> None:
    database = load_database(path, game)
    evaluator = evaluator_of(game, (), "classes")
    leaf = with_database(evaluator.leaf, database)
    work = make_work(leaf, game)
    for state in positions(game):
        database.moves(state)
        leaf.evaluate(game.rules, leaf.weights, state, work)


def use_bearoff(game: Game, path: Path) -> None:
    table = load_bearoff(path)
    known = 0
    for me in range(64):
        state = game.state(me & 7, 0, me >> 3, 0, 0, 0)
        if knows(table.packed, state):
            race(table, state)
            known += 1
    assert known


# --- files to be damaged ----------------------------------------------------------------------------------------------


def evaluator_of(game: Game, hidden: tuple[int, ...], head: str, tuples: bool = False) -> Any:
    """Random weights."""
    random = np.random.default_rng(1)
    features = game.tuples([[0, 1, 2], [3, 4]], per_seat=True) if tuples else game.features()
    sizes = (features.num_features, *hidden, len(game.rules.outcomes) if head == "classes" else 1)
    tensors = {}
    for k, (inputs, outputs) in enumerate(itertools.pairwise(sizes)):
        tensors[f"weight{k}"] = random.normal(size=(inputs, outputs))
        tensors[f"bias{k}"] = random.normal(size=outputs)
    return make_evaluator(game, tensors, features=features, head=head)


def main() -> None:
    tic_tac_toe, connect_four, backgammon = (games.load(name) for name in ("tic_tac_toe", "connect_four", "backgammon"))
    bearoff = dataclasses.replace(build_bearoff(backgammon, 3), pairs=build_pairs(backgammon, 2))
    kinds: dict[str, tuple[Game, Callable[[Path], None], Callable[[Game, Path], None]]] = {
        "n-tuples": (
            connect_four,
            lambda p: save_evaluator(evaluator_of(connect_four, (), "tanh", True), p),
            use_evaluator,
        ),
        "network": (
            tic_tac_toe,
            lambda p: save_evaluator(evaluator_of(tic_tac_toe, (5, 4), "classes"), p),
            use_evaluator,
        ),
        "linear": (tic_tac_toe, lambda p: save_evaluator(evaluator_of(tic_tac_toe, (), "identity"), p), use_evaluator),
        "database": (tic_tac_toe, lambda p: save_database(make_book(tic_tac_toe, 2), p), use_database),
        "bear-off": (backgammon, lambda p: save_bearoff(bearoff, p), use_bearoff),
    }
    counts = {}
    with tempfile.TemporaryDirectory() as folder:
        for kind, (game, save, use) in kinds.items():
            whole, broken = Path(folder, "whole"), Path(folder, "broken")
            save(whole)
            use(game, whole)
            fields, tensors = read_file(whole, kind, 1, dict)
            random, refused, evaluated = np.random.default_rng(2), 0, 0
            for _ in range(EACH):
                damaged(random, broken, fields, tensors)
                try:
                    use(game, broken)
                    evaluated += 1
                except InputError as error:
                    refused += "\n" not in str(error)
            counts[kind] = {"refused in one line": refused, "evaluated": evaluated}
    print(json.dumps(counts))


if __name__ == "__main__":
    main()
