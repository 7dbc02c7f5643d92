"""Retrograde analysis: against plain minimax, against the nim-sum, against bounded search on random graphs with cycles,
and on Connect Four endings."""

from __future__ import annotations

import functools
import os
import subprocess
import sys
from typing import NamedTuple

import numpy as np
import pytest
from conftest import DATA, ROOT, read_json

from deltaw.envs import games
from deltaw.envs.bits import random_word
from deltaw.envs.errors import InputError
from deltaw.envs.game import FeatureSet, Game
from deltaw.envs.kernel import kernel
from deltaw.envs.rules import make_rules
from deltaw.search.databases.book import make_book
from deltaw.search.databases.retrograde import STATES, reachable, retrograde, solve
from deltaw.search.solvers import Solution

TIC_TAC_TOE = games.load("tic_tac_toe")


def children(game: Game, state) -> dict[int, tuple]:
    """Results of the moves, as plain tuples."""
    moves, rows = game.buffers()
    n = game.rules.expand(state, moves, rows)
    return {int(move): tuple(map(int, row)) for move, row in zip(moves[:n], rows[:n], strict=True)}


# --- plain minimax ---------------------------------------------------------------------------------------------------


@functools.cache
def minimax(name: str, state: tuple) -> tuple[int, int | None]:
    """(value for the mover, plies to the end; None where the end is a draw that has not come), by plain recursion."""
    game = games.load(name)
    state = game.state(*state)
    over, value = game.rules.outcome(state)
    if over:
        return int(value), 0
    worths = [worth(game, state, child, minimax(name, child)) for child in children(game, state).values()]
    return best_of(worths)


def worth(game: Game, state, child: tuple, known: tuple[int, int | None]) -> tuple[int, int | None]:
    """What a child's value and distance mean for the mover, one ply earlier."""
    value, distance = known
    turned = game.rules.seat(game.state(*child)) != game.rules.seat(state)
    return (-value if turned else value), None if distance is None else distance + 1


def best_of(worths: list) -> tuple[int, int | None]:
    value = max(value for value, _ in worths)
    distances = [distance for v, distance in worths if v == value]
    if value == 0:
        return 0, None
    return value, min(distances) if value > 0 else max(distances)


@pytest.mark.parametrize("symmetric", [False, True])
def test_all_of_tic_tac_toe_is_minimax(symmetric):
    database = retrograde(TIC_TAC_TOE, symmetric=symmetric)
    solved = solve(TIC_TAC_TOE, symmetric=False)
    known = read_json("tic_tac_toe/counts.json")
    assert len(solved.rows) == known["states"]
    assert len(database) == known["states_up_to_symmetry" if symmetric else "states"]
    for row in solved.rows:
        state = TIC_TAC_TOE.unrow(row)
        value, distance = minimax("tic_tac_toe", tuple(row.tolist()))
        assert database.find(state) == (value, distance)
        if not TIC_TAC_TOE.rules.outcome(state)[0]:
            reached = {
                m: worth(TIC_TAC_TOE, state, c, minimax("tic_tac_toe", c))
                for m, c in children(TIC_TAC_TOE, state).items()
            }
            best = [m for m, (v, d) in reached.items() if v == value and (value == 0 or d == distance)]
            assert database.moves(state) == best


def test_all_of_nim_is_its_nim_sum():
    """Won exactly where the exclusive or of the heaps is not 0 (Bouton 1901); distances by plain minimax."""
    game = games.load("nim")
    database, solved = retrograde(game), solve(game)
    assert len(solved.rows) == len(database) > 300
    for row in solved.rows:
        state = game.unrow(row)
        heaps = np.empty(game.rules.num_cells, np.int64)
        game.rules.cells(state, heaps)
        won = np.bitwise_xor.reduce(heaps) != 0
        entry = database.find(state)
        assert entry == minimax("nim", tuple(row.tolist()))
        assert entry.value == (1 if won else -1)
        best = [game.rules.play(state, move) for move in database.moves(state)]
        assert all(database.find(child).value == -entry.value for child in best)
        assert bool(best) == bool(heaps.any())


# --- random graphs: cycles, moves that keep the turn, wins of different sizes -----------------------------------------

NODES, MOST = 40, 3


class Place(NamedTuple):
    graph: int
    node: int


@kernel
def draw(state, what, count):
    return random_word(state.graph, state.node, what, 0) % count


@kernel
def start():
    return Place(np.int64(0), np.int64(0))


@kernel
def turn(state):
    return draw(state, 1, 2)


@kernel
def list_moves(state, out):
    n = 1 + draw(state, 2, MOST)
    for i in range(n):
        out[i] = i
    return n


@kernel
def go(state, move):
    return Place(np.int64(state.graph), np.int64(random_word(state.graph, state.node, 10 + move, 0) % NODES))


@kernel
def end(state):
    """A quarter of the nodes end the game, for -2 .. 2."""
    over = state.node > 0 and draw(state, 3, 4) == 0
    return over, np.int64(draw(state, 4, 5) - 2) if over else np.int64(0)


@kernel
def nothing(state, spec, index, value):
    return 0


@kernel
def label(state):
    """Exact, but for graphs of negative numbers."""
    return state.graph * NODES + state.node if state.graph >= 0 else state.node % 7


@kernel
def where(state, out):
    out[0] = state.node % 64


def no_text(*things):
    raise InputError("a graph has no notation")


def graph_game() -> Game:
    rules = make_rules(
        Place,
        initial=start,
        seat=turn,
        legal_moves=list_moves,
        play=go,
        outcome=end,
        features=nothing,
        cells=where,
        num_cells=1,
        key=label,
        max_moves=MOST,
        outcomes=(-2, -1, 0, 1, 2),
    )
    features = {"none": FeatureSet("none", (0,), 1, 1, lambda: ["nothing"])}
    return Game("graph", "A graph", Place, rules, features, "none", no_text, str, no_text, no_text, no_text)


GRAPH = graph_game()


def forced(edges: dict, seats: dict, ends: dict, player: int, least: int) -> set:
    """Places from which `player` reaches an end worth `least` or more to himself, whatever the other does."""
    won = {s for s, v in ends.items() if (v if seats[s] == player else -v) >= least}
    while True:
        more = {
            s for s, to in edges.items() if s not in won and (any if seats[s] == player else all)(t in won for t in to)
        }
        if not more:
            return won
        won |= more


def oracle(solved) -> tuple[dict, dict]:
    """Values and distances of all places, from the definitions: what each player can force, and by how soon if both
    play for just that."""
    places = [tuple(row.tolist()) for row in solved.rows]
    seats = {s: int(turn(Place(*s))) for s in places}
    ends = {s: int(end(Place(*s))[1]) for s in places if end(Place(*s))[0]}
    edges = {s: set(children(GRAPH, Place(*s)).values()) for s in places if s not in ends}
    values = dict.fromkeys(places, 0) | ends
    for least in (1, 2):
        for player in (0, 1):
            for s in forced(edges, seats, ends, player, least):
                values[s] = least if seats[s] == player else -least
    distances: dict = dict.fromkeys(ends, 0)
    for ply in range(1, len(places) + 1):  # each round decides what can be forced in one ply more
        new = {}
        for s in edges:
            kept = [t for t in edges[s] if values[s] == (values[t] if seats[t] == seats[s] else -values[t])]
            if values[s] and s not in distances and (any if values[s] > 0 else all)(t in distances for t in kept):
                new[s] = ply
        distances |= new
    return values, distances


def test_random_graphs_equal_bounded_search():
    drawn, sizes, longest, lost = 0, set(), 0, 0
    for number in range(100):
        root = Place(number, 0)
        solved = solve(GRAPH, [root])
        values, distances = oracle(solved)
        for row, value, distance in zip(solved.rows.tolist(), solved.values, solved.distances, strict=True):
            assert value == values[tuple(row)]
            assert distance == distances.get(tuple(row), -1)
        open_ones = [v for s, v in values.items() if not end(Place(*s))[0]]
        drawn += open_ones.count(0)
        lost += sum(v < 0 for v in open_ones)
        sizes |= set(open_ones)
        longest = max(longest, solved.distances.max())
    assert sizes == {-2, -1, 0, 1, 2}
    assert drawn > 100
    assert lost > 100
    assert longest > 8


class Known:
    """A solver that looks things up."""

    def __init__(self, database):
        self.database = database

    def solve(self, state, *, seconds=None, nodes=None, best=True):
        return Solution(self.database.find(state).value, (), 1)


def test_a_book_of_a_game_with_cycles_solves_every_position():
    for number in range(20):
        root, told = Place(number, 0), []
        known = retrograde(GRAPH, [root])
        book = make_book(GRAPH, 3, [root], solver=Known(known), report=lambda *numbers, told=told: told.append(numbers))
        rows = solve(GRAPH, [root]).rows
        found = [state for row in rows if (state := GRAPH.unrow(row)) and not end(state)[0] and book.find(state)]
        assert len(found) == len(book) > 0
        assert all(book.find(state).value == known.find(state).value for state in found)
        assert not told or told[-1][1] <= len(book)


# --- what is reachable ------------------------------------------------------------------------------------------------


def test_connect_four_has_as_many_positions_as_are_known():
    """By plies, and half as many classes (a mirrored position and itself)."""
    game, known = games.load("connect_four"), read_json("connect_four/perft.json")["distinct_positions_by_ply"]
    start = game.rules.initial()
    for plies in (0, 1, 5, 8):
        graph = reachable(game, [start], symmetric=False, plies=plies)
        assert graph.counts[STATES] == sum(known[: plies + 1])
    halved = reachable(game, [start], plies=8).counts[STATES]
    assert sum(known[:9]) / 2 < halved < sum(known[:9]) / 2 * 1.01


def test_connect_four_endings_are_what_a_solver_says():
    """Pascal Pons' positions: a score is 22 minus the winner's stones at the end, so it tells the distance as well."""
    game = games.load("connect_four")
    lines = [line.split() for line in (DATA / "connect_four" / "Test_L3_R1").read_text().splitlines()]
    played = {moves: game.parse(moves) for moves, _ in lines if len(moves) >= 28}
    database = retrograde(game, played.values())
    signs = set()
    for moves, score in lines:
        if moves in played:
            entry, state = database.find(played[moves]), played[moves]
            assert entry.value == np.sign(int(score))
            signs.add(entry.value)
            if entry.value:
                winner = state.me if entry.value > 0 else state.all ^ state.me
                more = (entry.distance + (entry.value > 0)) // 2
                assert 22 - (int(winner).bit_count() + more) == abs(int(score))
    assert signs == {-1, 0, 1}
    assert len(database) > 100_000


def test_several_roots_are_solved_together():
    roots = [TIC_TAC_TOE.parse(text) for text in ("X-O------", "X---O----", "X-O------")]
    together = retrograde(TIC_TAC_TOE, roots)
    apart = [retrograde(TIC_TAC_TOE, [root]) for root in roots]
    assert set(together.positions.keys) == set(apart[0].positions.keys) | set(apart[1].positions.keys)
    assert together.find(TIC_TAC_TOE.rules.initial()) is None


def test_progress_is_reported():
    told = []
    solve(TIC_TAC_TOE, symmetric=False, report=lambda *numbers: told.append(numbers))
    assert told[-1] == (5478, 5478)
    assert all(done <= found for done, found in told)


# --- faults -----------------------------------------------------------------------------------------------------------


def test_what_cannot_be_solved_is_refused_in_one_line():
    with pytest.raises(InputError, match="game of chance"):
        solve(games.load("backgammon"))
    three = next((games.load(name) for name in games.names() if games.load(name).rules.num_players == 3), None)
    if three is not None:
        with pytest.raises(InputError, match="3 players"):
            solve(three)
    with pytest.raises(InputError, match="more than 1,000 positions of tic_tac_toe"):
        solve(TIC_TAC_TOE, symmetric=False, limit=1000)


def test_too_little_memory_is_said_before_it_is_taken(monkeypatch):
    from deltaw.envs import memory

    monkeypatch.setattr(memory, "free_memory", lambda: 100_000)
    with pytest.raises(InputError, match="GiB"):
        solve(TIC_TAC_TOE, symmetric=False)


def test_keys_that_collide_are_noticed():
    with pytest.raises(InputError, match="same key"):
        solve(GRAPH, [Place(-1, 0), Place(-1, 7)])  # at the roots
    with pytest.raises(InputError, match="same key"):
        solve(GRAPH, [Place(-2, 0)])  # on the way


INTERPRETED = """
from deltaw.envs import games
from deltaw.search.databases.retrograde import retrograde
game = games.load("tic_tac_toe")
print(retrograde(game, [game.parse("X-O------")]).description.sha256)
"""


def test_compiled_equals_interpreted():
    variables = os.environ | {"PYTHONPATH": str(ROOT), "NUMBA_DISABLE_JIT": "1"}
    done = subprocess.run(
        [sys.executable, "-c", INTERPRETED], env=variables, capture_output=True, text=True, check=True
    )
    compiled = retrograde(TIC_TAC_TOE, [TIC_TAC_TOE.parse("X-O------")])
    assert done.stdout.strip() == compiled.description.sha256
