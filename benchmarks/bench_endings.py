"""Databases of endings: how fast they are asked and built."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from benchmarks.measure import Row, Settings, rate, row
from deltaw.envs import games
from deltaw.envs.bits import random_word
from deltaw.envs.game import Game
from deltaw.envs.kernel import kernel
from deltaw.search.databases.endings import EndingDatabase, find_endings, probe
from deltaw.search.databases.slices import groups_of, solve_group


@kernel
def ask_all(rules, facts, rows):
    known = 0
    for i in range(len(rows)):
        known += probe(facts, rules.load(rows[i]))[0]
    return known


def random_positions(game: Game, database: EndingDatabase, count: int) -> np.ndarray:
    """int64 [count, W]: of all slices alike, in no order."""
    slices, codes, rows = game.slices, list(database.slices), []
    assert slices is not None
    while len(rows) < count:
        code = codes[random_word(1, len(rows), 0, 0) % len(codes)]
        number = random_word(1, len(rows), 1, 0)
        exists = False
        while not exists:
            number = random_word(number, 0, 0, 0)
            exists, state = slices.position(code, np.int64(number % slices.size(code)))
        rows.append(game.row(state))
    return np.array(rows)


def bench_probe(settings: Settings) -> Iterator[Row]:
    """Positions looked up a second, in the shipped databases."""
    for name in ("checkers", "chess"):
        game = games.load(name)
        database = find_endings(game)
        assert database is not None
        rows = random_positions(game, database, settings.batch)

        def ask(game: Game = game, database: EndingDatabase = database, rows: np.ndarray = rows) -> int:
            assert ask_all(game.rules, database.facts, rows) == len(rows)
            return len(rows)

        yield row(f"{name}: probe", "positions/s", rate(ask, settings.seconds), f"{len(database):,} positions")


def bench_build(settings: Settings) -> Iterator[Row]:
    """Positions solved a second, by one thread."""
    for name, pieces in (("checkers", "3"), ("chess", "KPK")):
        game = games.load(name)
        assert game.slices is not None
        groups = groups_of(game.slices, game.slices.read(pieces))

        def solve(game: Game = game, groups: list = groups) -> int:
            known: dict = {}
            for group in groups:
                known |= solve_group(game, group, known)
            return sum(game.slices.size(code) for code in known)  # type: ignore[union-attr]

        yield row(f"{name}: database {pieces}", "positions/s", rate(solve, settings.seconds), "one thread")
