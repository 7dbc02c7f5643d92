"""Other programs at the same work, in the same run, one core each: `--peers`, with `pip install "deltaw[peers]"`.

gnubg-nn gets the very decisions that this project decides. It has networks and a move filter of its own, and is
called position by position from Python: the decisions compare whole programs, and say nothing about strength.
OpenSpiel plays random games of its own; its actions move two checkers, a double is two turns, and different actions
may have one result. python-chess counts moves from the same position.
"""

from __future__ import annotations

import functools
import importlib
import random
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.bench_plies import chooser
from benchmarks.bench_rules import expand_rolls
from benchmarks.material import (
    BACKGAMMON,
    SEED,
    SMALL_SET,
    Trained,
    decisions_of,
    fill_random,
    in_turn,
    random_rows,
    trained,
)
from benchmarks.measure import Row, Settings, Timing, rate, row
from deltaw.envs import games, perft
from deltaw.envs.game import Game
from deltaw.envs.games.backgammon.rules import BAR, DICE_HIGH, DICE_LOW
from deltaw.envs.path import make_path
from deltaw.search.evaluators.evaluator import evaluate_rows
from deltaw.search.evaluators.work import make_work
from deltaw.search.players.gnubg import read_boards
from deltaw.search.players.plies import CANDIDATES

GNUBG_CACHE = 1024
"""positions that gnubg remembers here: those of one decision, but not those of the last round of the sample. (With
its own cache a second round is two to four times as fast as the first, and the benchmark would measure that.)"""

MANY_MOVES = "r3k2r/p1ppqpb1/bn2pnp1/3PN3/1p2P3/2N2Q1p/PPPBBPPP/R3K2R w KQkq - 0 1"
"""P. McKenzie's test position of chess, in which every kind of move occurs"""

Decision = tuple[list[list[int]], int, int]
"""gnubg's board, higher die, lower die"""


def bench_gnubg(settings: Settings) -> Iterator[Row]:
    gnubg = peer("gnubg_nn", settings)
    if gnubg is None:
        return
    _limit_cache(gnubg)
    player = trained(SMALL_SET, settings)
    decisions = _gnubg_decisions(player)

    def theirs(do: Callable[[Decision], object]) -> Timing:
        return rate(_one_by_one(decisions, do), settings.seconds)

    timing = theirs(lambda d: gnubg.moves(*d))
    yield from compared("gnubg-nn: all results", "rolls/s", timing, rate(_expander(player), settings.seconds))
    timing = theirs(lambda d: gnubg.probabilities(d[0], 0))
    yield from compared("gnubg-nn: evaluate", "evaluations/s", timing, rate(_evaluator(player), settings.seconds))
    for plies, candidates, chunk in ((1, 0, 500), (2, CANDIDATES, 40)):
        timing = theirs(functools.partial(_gnubg_move, gnubg, plies))
        ours = rate(chooser(player, plies, candidates, chunk), settings.seconds)
        name = f"gnubg-nn: decide, {plies} {'ply' if plies == 1 else 'plies'}"
        yield from compared(name, "decisions/s", timing, ours, f"gnubg calls it {plies - 1}-ply")


def bench_open_spiel(settings: Settings) -> Iterator[Row]:
    spiel = peer("pyspiel", settings)
    if spiel is None:
        return
    game, theirs = games.load(BACKGAMMON), spiel.load_game("backgammon")
    states = _open_spiel_decisions(theirs, settings.positions)

    def children(state: Any) -> int:
        return len([state.child(action) for action in state.legal_actions()])

    timing = rate(_counting(states, children), settings.seconds)
    yield from compared("OpenSpiel: all results", "results/s", timing, rate(_results(game, settings), settings.seconds))
    draw = random.Random(SEED)
    timing = rate(lambda: sum(1 for _ in _open_spiel_game(theirs, draw)), settings.seconds)
    note = "Python loop over C++ rules; ours is compiled"
    yield from compared("OpenSpiel: random play", "plies/s", timing, rate(_random_play(game), settings.seconds), note)


def bench_python_chess(settings: Settings) -> Iterator[Row]:
    chess = peer("chess", settings)
    if chess is None:
        return
    game = games.load("chess")

    def sequences(board: Any, depth: int) -> int:
        if depth == 1:
            return board.legal_moves.count()
        total = 0
        for move in board.legal_moves:
            board.push(move)
            total += sequences(board, depth - 1)
            board.pop()
        return total

    timing = rate(lambda: sequences(chess.Board(MANY_MOVES), 3), settings.seconds)
    ours = rate(functools.partial(perft.count, game, game.parse(MANY_MOVES), 4), settings.seconds)
    note = "a position with 48 moves, 3 plies in Python, 4 by ours; the last move is counted"
    yield from compared("python-chess: perft", "leaves/s", timing, ours, note)


def compared(name: str, unit: str, theirs: Timing, ours: Timing, note: str = "") -> Iterator[Row]:
    """What the peer does, and how many times that ours is."""
    yield row(name, unit, theirs, note=note)
    yield row(f"{name}, ours / theirs", "x", ours, note=f"ours: {ours.median:,.0f} {unit}", scale=1.0 / theirs.median)


def peer(module: str, settings: Settings) -> Any:
    """The peer's module; None, with one line of advice, where it is missing."""
    if not settings.peers:
        return None
    try:
        return importlib.import_module(module)
    except ImportError:
        print(f'{module} is not installed: pip install "deltaw[peers]"')
        return None


def _one_by_one(things: list[Any], do: Callable[[Any], object]) -> Callable[[], int]:
    """Work for `rate`: `do` the next thing; a unit is a thing."""
    return in_turn(things, 1, lambda part: do(part[0]))


def _counting(things: list[Any], do: Callable[[Any], int]) -> Callable[[], int]:
    """Work for `rate`: `do` the next thing, which says how many units it was."""
    done = [0]
    step = _one_by_one(things, lambda thing: done.__setitem__(0, do(thing)))

    def work() -> int:
        step()
        return done[0]

    return work


# --- our side of the comparison -------------------------------------------------------------------------------------


def _expander(player: Trained) -> Callable[[], int]:
    game = player.learner.play.game
    buffers = game.buffers()
    return in_turn(player.decisions, 500, lambda rows: expand_rolls(game.rules, rows, *buffers))


def _evaluator(player: Trained) -> Callable[[], int]:
    game, leaf = player.learner.play.game, player.learner.evaluator().leaf
    work, values = make_work(leaf, game), np.empty(500)
    outputs = np.empty((500, len(leaf.weights.outcomes)), np.float32)
    return in_turn(player.decisions, 500, lambda rows: evaluate_rows(game.rules, leaf, rows, work, values, outputs))


def _results(game: Game, settings: Settings) -> Callable[[], int]:
    rows, buffers = decisions_of(game, random_rows(game.name, settings.positions)), game.buffers()
    return lambda: expand_rolls(game.rules, rows, *buffers)[1]


def _random_play(game: Game) -> Callable[[], int]:
    buffers, rows = game.buffers(), np.empty((100, game.rules.width), np.int64)
    return lambda: fill_random(game.rules, np.int64(SEED), np.int64(100), make_path(game.rules), *buffers, rows)


# --- theirs -----------------------------------------------------------------------------------------------------------


@functools.cache
def _limit_cache(gnubg: Any) -> Any:
    """Make gnubg use its network with a small cache, for the rest of this process; returns the network, to be kept."""
    with tempfile.TemporaryDirectory() as folder:
        path = str(Path(folder) / "weights")
        gnubg.net_save(path)
        network = gnubg.net_load(path, GNUBG_CACHE)
    gnubg.net_use(network)
    return network


def _gnubg_move(gnubg: Any, plies: int, decision: Decision) -> Any:
    return gnubg.best_move(*decision, n=plies - 1)


def _gnubg_decisions(player: Trained) -> list[Decision]:
    boards = np.empty((len(player.decisions), 2, BAR + 1), np.int64)
    read_boards(player.decisions, boards)
    rolls = player.decisions[:, 4]
    return list(zip(boards.tolist(), DICE_HIGH[rolls].tolist(), DICE_LOW[rolls].tolist(), strict=True))


def _open_spiel_decisions(game: Any, n: int) -> list[Any]:
    """Decisions of random games."""
    draw = random.Random(SEED)
    states: list[Any] = []
    while len(states) < n:
        states += [state.clone() for state in _open_spiel_game(game, draw)]
    return draw.sample(states, n)


def _open_spiel_game(game: Any, draw: random.Random) -> Iterator[Any]:
    """The decisions of one random game; each is gone when the next one comes."""
    state = game.new_initial_state()
    while not state.is_terminal():
        if state.is_chance_node():
            outcomes, chances = zip(*state.chance_outcomes(), strict=True)
            state.apply_action(draw.choices(outcomes, chances)[0])
        else:
            yield state
            state.apply_action(draw.choice(state.legal_actions()))
