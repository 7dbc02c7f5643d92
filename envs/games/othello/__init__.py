"""Othello (Reversi with a fixed start): rules, features, baselines, notation and drawing."""

from __future__ import annotations

import numpy as np

from deltaw.envs.game import Game
from deltaw.envs.games.othello import rules
from deltaw.envs.games.othello.baselines import BASELINES
from deltaw.envs.games.othello.drawing import ansi, draw
from deltaw.envs.games.othello.features import FEATURE_SETS, features
from deltaw.envs.games.othello.game_files import GGF, LINES
from deltaw.envs.games.othello.notation import EXAMPLE, format_state, move_text, parse, read_move
from deltaw.envs.games.othello.rules import CELLS, MAX_MOVES, PASS, State
from deltaw.envs.rules import make_rules


def _symmetries() -> np.ndarray:
    """int64 [8, 64]: the four turns of the board, and their mirror images; the start looks the same after half turns
    and after mirroring at a long diagonal, and otherwise with its colours swapped."""
    board = np.arange(CELLS).reshape(8, 8)
    turns = [np.rot90(board, k) for k in range(4)]
    return np.array([image.ravel() for turn in turns for image in (turn, turn.T)], np.int64)


GAME = Game(
    name="othello",
    title="Othello",
    state=State,
    rules=make_rules(
        State,
        initial=rules.initial,
        seat=rules.seat,
        legal_moves=rules.legal_moves,
        play=rules.play,
        outcome=rules.outcome,
        features=features,
        cells=rules.cells,
        num_cells=CELLS,
        tuple_values=3,
        key=rules.key,
        noisy=rules.noisy,
        null=rules.null,
        score=rules.score,
        max_moves=MAX_MOVES,
        num_actions=PASS + 1,
        outcomes=(-1, 0, 1),
    ),
    feature_sets=FEATURE_SETS,
    default_features="expert",
    parse=parse,
    format=format_state,
    move_text=move_text,
    read_move=read_move,
    ansi=ansi,
    draw=draw,
    baselines=BASELINES,
    probes=(  # the values of the last two are known: endgames 1 and 3 of the FFO test suite, 18 and 2 discs
        ("start", EXAMPLE),
        ("corner to take", "-XXXXXX---XOOOO--XOXXOOX-OOOOOOOOOOOXXOOOOOXXOOX--XXOO----XXXXX- X"),
        ("winning end", "--XXXXX--OOOXX-O-OOOXXOX-OXOXOXXOXXXOXXX--XOXOXX-XXXOOO--OOOOO-- X"),
        ("close end", "----OX----OOXX---OOOXX-XOOXXOOOOOXXOXXOOOXXOOOOOXXXXOXO--OOOOOX- X"),
    ),
    board=(8, 8),
    solved_from=48,
    symmetries=_symmetries(),
    files={".txt": LINES, ".ggf": GGF},
)
