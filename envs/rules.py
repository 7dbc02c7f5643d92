"""How a game's `Rules` are made: from its own kernels, and from defaults for those that it does not need."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba.np.unsafe.ndarray import to_fixed_tuple

from deltaw.envs import rules_type  # noqa: F401 - tells Numba what the rules of a game are
from deltaw.envs.bits import mix
from deltaw.envs.game import Rules
from deltaw.envs.kernel import JIT, kernel
from deltaw.envs.tuples import TUPLES, active_entries


def make_rules(
    state: type,
    *,
    initial: Any,
    seat: Any,
    legal_moves: Any,
    play: Any,
    outcome: Any,
    features: Any,
    cells: Any,
    num_cells: int,
    max_moves: int,
    outcomes: tuple[int, ...],
    tuple_values: int = 0,
    tuple_cells: Any = None,
    key: Any = None,
    exact_key: bool = False,
    max_plies: int = 0,
    num_players: int = 2,
    max_chance: int = 0,
    num_chance: Any = None,
    chance: Any = None,
    expand: Any = None,
    noisy: Any = None,
    null: Any = None,
    score: Any = None,
    payoffs: Any = None,
    num_actions: int = 0,
    action_mask: Any = None,
    spell: Any = None,
    observation_size: int = 0,
    observe: Any = None,
) -> Rules:
    """A game's `Rules`: its own kernels, and defaults for the optional ones."""
    width = len(state._fields)  # type: ignore[attr-defined]
    if num_players > 2 and payoffs is None:
        raise ValueError(f"a game of {num_players} players needs `payoffs`")
    load, store = _row_kernels(state, width)
    return Rules(
        initial=initial,
        seat=seat,
        legal_moves=legal_moves,
        play=play,
        outcome=outcome,
        num_chance=num_chance or _no_chance,
        chance=chance or _certain,
        features=_or_tuples(features, tuple_cells or cells, seat, num_cells) if tuple_values else features,
        expand=expand or _expand_by_playing(legal_moves, play, store),
        load=load,
        store=store,
        cells=cells,
        tuple_cells=tuple_cells or cells,
        key=key or _mixed_key(store, width),
        noisy=noisy or unmarked,
        null=null or _no_null,
        score=score or _score_by_outcome(outcome),
        payoffs=payoffs or _payoffs_by_outcome(outcome),
        action_mask=action_mask or _mask_by_moves(legal_moves, max_moves),
        spell=spell or _spell_whole_move,
        observe=observe or _observe_cells(cells, num_cells),
        width=width,
        max_moves=max_moves,
        max_chance=max_chance,
        max_plies=max_plies,
        num_players=num_players,
        num_cells=num_cells,
        num_actions=num_actions or max_moves,
        observation_size=observation_size or num_cells,
        tuple_values=tuple_values,
        exact_key=exact_key,
        outcomes=outcomes,
    )


# --- defaults of the optional kernels ---------------------------------------------------------------------


def _row_kernels(state: type, width: int) -> tuple[Any, Any]:
    if not JIT:

        def load(row):
            return state(*(int(x) for x in row))
    else:

        @kernel
        def load(row):
            return state(*to_fixed_tuple(row, width))

    @kernel
    def store(state, row):
        for i in range(width):
            row[i] = state[i]

    return load, store


def _or_tuples(features, tuple_cells, seat, num_cells):
    """The game's own feature sets, and n-tuple networks. The board is noted in the unused end of `index`, so that
    nothing is allocated."""

    @kernel
    def features_or_tuples(state, spec, index, value):
        if spec[0] == TUPLES:
            board = index[len(index) - num_cells :]
            tuple_cells(state, board)
            n = active_entries(board, spec, seat(state), index)
            value[:n] = 1.0
        else:
            n = features(state, spec, index, value)
        return n

    return features_or_tuples


@kernel
def _no_chance(state):
    return 0


@kernel
def _certain(state, i):
    return state, 1.0


@kernel
def unmarked(state, move):
    return False


@kernel
def _no_null(state):
    return state


@kernel
def _spell_whole_move(state, word, action):
    return action, True


def _expand_by_playing(legal_moves, play, store):
    @kernel
    def expand(state, moves, rows):
        n = legal_moves(state, moves)
        for i in range(n):
            store(play(state, moves[i]), rows[i])
        return n

    return expand


def _mixed_key(store, width):
    @kernel
    def key(state):
        row = np.empty(width, np.int64)
        store(state, row)
        word = mix(np.uint64(0))
        for i in range(width):
            word = mix(word ^ np.uint64(row[i]))
        return np.int64(word >> np.uint64(1))

    return key


def _score_by_outcome(outcome):
    @kernel
    def score(state):
        return outcome(state)[1]

    return score


def _payoffs_by_outcome(outcome):
    @kernel
    def payoffs(state, out):
        out[0] = outcome(state)[1]
        out[1] = -out[0]

    return payoffs


def _mask_by_moves(legal_moves, max_moves):
    @kernel
    def action_mask(state, word, out):
        out[:] = 0
        moves = np.empty(max_moves, np.int64)
        for i in range(legal_moves(state, moves)):
            out[moves[i]] = 1

    return action_mask


def _observe_cells(cells, num_cells):
    @kernel
    def observe(state, word, out):
        board = np.empty(num_cells, np.int64)
        cells(state, board)
        for i in range(num_cells):
            out[i] = board[i]

    return observe
