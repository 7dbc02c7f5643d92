"""The search library: leaves and nodes a second, and how many nodes each algorithm needs for the same answer.

Of node counts the order is what matters; the note says on which positions. All on one core.
"""

from __future__ import annotations

import functools
import statistics
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from benchmarks.material import BACKGAMMON, decisions_of, random_rows
from benchmarks.measure import REPEATS, Row, Settings, Timing, rate, row
from deltaw.envs import games, perft
from deltaw.envs.control import NODES
from deltaw.envs.game import START, Baseline, Game
from deltaw.envs.kernel import kernel
from deltaw.search.evaluators.evaluator import Evaluator, make_evaluator
from deltaw.search.evaluators.named import find_evaluator
from deltaw.search.solvers.exact import NOTHING
from deltaw.search.tree.algorithm import evaluate_state, make_setup
from deltaw.search.tree.engine import DEEP_ENOUGH, Engine
from deltaw.search.tree.engine_node import PLAIN, Options
from deltaw.search.tree.stack import Visitor
from deltaw.search.tree.transposition import make_table

CONNECT_FOUR, OTHELLO = "connect_four", "othello"
PERFT_DEPTHS = {"tic_tac_toe": 9, CONNECT_FOUR: 8, OTHELLO: 8, "chess": 5, "checkers": 9}
COUNTED = {CONNECT_FOUR: 7, OTHELLO: 5}
"""how deep nodes are counted"""
COUNTED_ROWS = 20
"""random positions"""
TABLE_ENTRIES = 1 << 20
CHESS_NODES = 500_000


def start_of(game: Game) -> Any:
    return game.unrow(game.row(game.rules.initial()))


def bench_perft(settings: Settings) -> Iterator[Row]:
    """Move sequences of one length from the start; the last move is counted, not played."""
    for name, depth in PERFT_DEPTHS.items():
        game = games.load(name)
        start = start_of(game)
        work: Callable[[], int] = functools.partial(perft.count, game, start, depth)
        yield row(f"{name}: perft {depth}", "leaves/s", rate(work, settings.seconds))


# --- nodes a second ---------------------------------------------------------------------------------------------------


def bench_connect_four(settings: Settings) -> Iterator[Row]:
    """From the start, with an evaluator that takes no time: the search itself."""
    game = games.load(CONNECT_FOUR)
    state = start_of(game)
    setup = make_setup(game, NOTHING, "negamax", 8)

    def negamax() -> int:
        before = setup.stack.control[NODES]
        evaluate_state(setup, state, 8)
        return int(setup.stack.control[NODES] - before)

    yield row("connect_four: negamax 8", "nodes/s", rate(negamax, settings.seconds), "no table")
    engine = Engine(game, NOTHING, options=Options(), entries=TABLE_ENTRIES)
    timing = thinking(engine, state, 14, settings.seconds)
    yield row("connect_four: engine 14", "nodes/s", timing, "table of 2^20, empty")


def thinking(engine: Engine, state: Any, depth: int, seconds: float, nodes: int | None = None) -> Timing:
    """Nodes a second of searches that remember nothing, by the engine's own clock: emptying the table is not part of
    the work."""
    values, spent = [], 0.0
    engine.search(state, depth=depth, nodes=nodes)
    while len(values) < REPEATS or spent < seconds:
        engine.forget()
        found = engine.search(state, depth=depth, nodes=nodes)
        values.append(found.nodes / found.seconds)
        spent += found.seconds
    return Timing(values)


def disc_squares(game: Game) -> Evaluator:
    """A linear evaluator over single squares: the weights of the game's positional baseline, as far as discs go."""
    features = game.features("discs")
    weights = np.zeros((features.num_features, 1))
    weights[:, 0] = [corner_weight(square) for square in range(features.num_features)]
    return make_evaluator(game, {"weight0": weights, "bias0": np.zeros(1)}, features=features, head="identity")


def corner_weight(square: int) -> float:
    """Corners are good, squares beside them bad; scaled into outcome units."""
    edge = [min(k, 7 - k) for k in divmod(square, 8)]
    table = {(0, 0): 1.0, (0, 1): -0.25, (1, 1): -0.25, (0, 2): 0.1, (0, 3): 0.05}
    return table.get((min(edge), max(edge)), 0.01) / 16


def bench_othello(settings: Settings) -> Iterator[Row]:
    """Eight moves deep from the start with a linear evaluator over the discs of each square."""
    game = games.load(OTHELLO)
    engine = Engine(game, disc_squares(game), options=Options(), entries=TABLE_ENTRIES)
    for depth in (8, 11):
        timing = thinking(engine, start_of(game), depth, settings.seconds)
        yield row(f"othello: engine {depth}, linear", "nodes/s", timing, "table of 2^20, empty")


PAWNS = {"pawn": 1.0, "knight": 3.2, "bishop": 3.3, "rook": 5.0, "queen": 9.0}
ADVANCE, CENTRE = 0.06, 0.08
"""pawns: what a step towards promotion, or towards the centre with a minor piece, is worth"""
PAWNS_TO_WIN = 4.0
OPENING = "r1bq1rk1/pp2ppbp/2np1np1/8/3NP3/2N1B3/PPP1BPPP/R2Q1RK1 w - - 0 9"
ENDGAME = "2r3k1/pp3pp1/4p2p/3pP3/3P4/1P1R3P/P4PP1/6K1 w - - 0 1"


def piece_squares(game: Game) -> Evaluator:
    """A linear evaluator of chess over pieces and squares, by hand: material, advanced pawns, central minor pieces."""
    features = game.features("pieces")
    weights = np.array([[piece_square(name)] for name in features.names()])
    return make_evaluator(game, {"weight0": weights, "bias0": np.zeros(1)}, features=features, head="tanh")


def piece_square(name: str) -> float:
    """The weight of a feature such as `middle_knights` or `middle_knight_e5`."""
    _, kind, *square = name.split("_")
    if not square:
        return PAWNS[kind.removesuffix("s")] / PAWNS_TO_WIN
    file, rank = "abcdefgh".index(square[0][0]), int(square[0][1])
    central = 7 - abs(2 * file - 7) / 2 - abs(2 * rank - 9) / 2
    place = ADVANCE * (rank - 2) if kind == "pawn" else CENTRE * central if kind in ("knight", "bishop") else 0.0
    return place / PAWNS_TO_WIN


def bench_chess(settings: Settings) -> Iterator[Row]:
    """The engine as it plays, with a linear evaluator over pieces and squares."""
    game = games.load("chess")
    engine = Engine(game, piece_squares(game), entries=TABLE_ENTRIES)
    for name, fen in (("start", START), ("opening", OPENING), ("endgame", ENDGAME)):
        timing = thinking(engine, game.read_position(fen), DEEP_ENOUGH, settings.seconds, nodes=CHESS_NODES)
        yield row(f"chess: engine, {name}", "nodes/s", timing, f"{CHESS_NODES:,} nodes; table of 2^20, empty")


# --- node counts ------------------------------------------------------------------------------------------------------


@kernel
def count_leaves(memory, state, depth, lower, upper):
    if depth == 0:
        memory[0] += 1


ALGORITHMS = ("minimax", "alphabeta", "ordered", "negascout", "scout", "alphabeta_table", "iterative_deepening", "mtdf")


def bench_nodes(settings: Settings) -> Iterator[Row]:
    """The same positions, depth and values; counts do not depend on the machine."""
    for name, depth in COUNTED.items():
        game = games.load(name)
        evaluator = next(b for b in game.baselines.values() if b.kind == "value")
        states = [game.unrow(r) for r in random_rows(name, COUNTED_ROWS)]
        for algorithm in ALGORITHMS:
            counts = [nodes_of(game, evaluator, algorithm, state, depth) for state in states]
            yield counted(f"{name} {depth}: {algorithm}", counts)
        levels = [nodes_by_levels(game, evaluator, state, depth) for state in states]
        yield counted(f"{name} {depth}: mtdf by levels", levels, "one table; each level guesses the last one's value")
        plain = [Engine(game, evaluator, options=PLAIN).search(state, depth=depth).nodes for state in states]
        yield counted(f"{name} {depth}: engine, plain", plain, "NegaScout with table and ordering, all levels")


def nodes_of(game: Game, evaluator: Baseline, algorithm: str, state: Any, depth: int) -> int:
    setup = make_setup(game, evaluator, algorithm, depth)
    evaluate_state(setup, state, depth)
    return int(setup.stack.control[NODES])


def nodes_by_levels(game: Game, evaluator: Baseline, state: Any, depth: int) -> int:
    """MTD(f) as it is used: depth 1, 2 ... with one table, from which each level takes its first guess."""
    table, nodes = make_table(TABLE_ENTRIES), 0
    for level in range(1, depth + 1):
        setup = make_setup(game, evaluator, "mtdf", level, table=table)
        evaluate_state(setup, state, level)
        nodes += int(setup.stack.control[NODES])
    return nodes


def counted(name: str, counts: list[int], note: str = "") -> Row:
    timing = Timing([float(sum(counts))])
    return row(name, "nodes", timing, note or f"{len(counts)} random positions")


def bench_leaves(settings: Settings) -> Iterator[Row]:
    """SSS* visits no leaf that alpha-beta does not."""
    game = games.load(CONNECT_FOUR)
    evaluator = next(b for b in game.baselines.values() if b.kind == "value")
    states = [game.unrow(r) for r in random_rows(CONNECT_FOUR, COUNTED_ROWS)]
    for algorithm in ("alphabeta", "sss_star"):
        memory = np.zeros(1, np.int64)
        setup = make_setup(game, evaluator, algorithm, 6, visitor=Visitor(count_leaves, memory))
        for state in states:
            evaluate_state(setup, state, 6)
        yield counted(f"connect_four 6: {algorithm}, leaves", [int(memory[0])], f"{len(states)} random positions")


def bench_chance(settings: Settings) -> Iterator[Row]:
    """Star1 and Star2 find expectiminimax's value with fewer evaluations; the shipped linear evaluator."""
    game = games.load(BACKGAMMON)
    evaluator = find_evaluator(game, "linear")
    states = [game.unrow(r) for r in decisions_of(game, random_rows(BACKGAMMON, COUNTED_ROWS))]
    for algorithm in ("expectiminimax", "star1", "star2"):
        memory = np.zeros(1, np.int64)
        setup = make_setup(game, evaluator, algorithm, 2, visitor=Visitor(count_leaves, memory))
        values = [evaluate_state(setup, state, 2) for state in states]
        note = f"{len(states)} decisions, mean value {statistics.fmean(values):+.4f}"
        yield counted(f"backgammon 2: {algorithm}, leaves", [int(memory[0])], note)
