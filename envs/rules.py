"""How a game's `Rules` are made: from its own kernels, and from defaults for those that it does not need."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba.np.unsafe.ndarray import to_fixed_tuple

from deltaw.envs import rules_type  # noqa: F401 - tells Numba what the rules of a game are
from deltaw.envs.bits import mix, unit
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
    weigh: Any = None,
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
    noisy_moves: Any = None,
    gain: Any = None,
    in_danger: Any = None,
    null: Any = None,
    score: Any = None,
    payoffs: Any = None,
    num_actions: int = 0,
    action_mask: Any = None,
    spell: Any = None,
    observation_size: int = 0,
    observe: Any = None,
    repetition: int = 0,
    path_plies: int = 0,
    repetition_key: Any = None,
    reversible: Any = None,
    information_key: Any = None,
    determinize: Any = None,
    sample_chance: Any = None,
    only_deals: bool = False,
) -> Rules:
    """A game's `Rules`: its own kernels, and defaults for the optional ones. `weigh` makes its kernel from the game's
    features, those of n-tuples included.

    Raises ValueError for kernels that are missing: `payoffs` of a game for more than two, `repetition_key` and
    `path_plies` where a repetition means something. A game with chance but without `chance` needs `sample_chance`.
    """
    width = len(state._fields)  # type: ignore[attr-defined]
    if num_players > 2 and payoffs is None:
        raise ValueError(f"a game of {num_players} players needs `payoffs`")
    if (repetition != 0) != (repetition_key is not None) or (repetition != 0) != (path_plies > 0):
        raise ValueError("`repetition`, `repetition_key` and `path_plies` belong together")
    if num_chance is not None and chance is None and sample_chance is None:
        raise ValueError("a game with chance events needs `chance` or `sample_chance`")
    load, store = _row_kernels(state, width)
    key = key or _mixed_key(store, width)
    features = _or_tuples(features, tuple_cells or cells, seat, num_cells) if tuple_values else features
    num_chance, exact_chance = num_chance or _no_chance, num_chance is None or chance is not None
    chance = chance or _certain
    return Rules(
        initial=initial,
        seat=seat,
        legal_moves=legal_moves,
        play=play,
        outcome=outcome,
        num_chance=num_chance,
        chance=chance,
        features=features,
        weigh=(weigh or weigh_features)(features),
        expand=expand or _expand_by_playing(legal_moves, play, store),
        load=load,
        store=store,
        cells=cells,
        tuple_cells=tuple_cells or cells,
        key=key,
        noisy=noisy or unmarked,
        noisy_moves=noisy_moves or _filter_noisy(legal_moves, noisy or unmarked),
        gain=gain or _no_gain,
        in_danger=in_danger or never_in_danger,
        null=null or _no_null,
        score=score or _score_by_outcome(outcome),
        payoffs=payoffs or _payoffs_by_outcome(outcome),
        repetition_key=repetition_key or _never_repeats,
        reversible=reversible or _all_reversible(path_plies),
        information_key=information_key or key,
        determinize=determinize or _all_seen,
        sample_chance=sample_chance or _sample_by_probability(num_chance, chance),
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
        repetition=repetition,
        path_plies=path_plies,
        hidden=determinize is not None,
        exact_chance=exact_chance,
        only_deals=only_deals,
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


def weigh_features(features):
    """`weigh` of a game by its `features`."""

    @kernel
    def weigh(state, spec, weight, index, value):
        n = features(state, spec, index, value)
        even, odd = np.float64(weight[len(weight) - 1]), 0.0  # two sums: one addition need not wait for the other
        for i in range(0, n - 1, 2):
            even += weight[index[i]] * value[i]
            odd += weight[index[i + 1]] * value[i + 1]
        if n % 2 == 1:
            even += weight[index[n - 1]] * value[n - 1]
        return even + odd

    return weigh


@kernel
def _no_chance(state):
    return 0


@kernel
def _certain(state, i):
    return state, 1.0


@kernel
def unmarked(state, move):
    return False


def _filter_noisy(legal_moves, noisy):
    @kernel
    def noisy_moves(state, out):
        n = 0
        for i in range(legal_moves(state, out)):
            if noisy(state, out[i]):
                out[n] = out[i]
                n += 1
        return n

    return noisy_moves


@kernel
def _no_gain(state, move):
    return np.int64(0)


@kernel
def never_in_danger(state):
    return False


@kernel
def _no_null(state):
    return state


@kernel
def _never_repeats(state):
    return np.int64(0)


@kernel
def _all_seen(state, word):
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


def _all_reversible(path_plies):
    @kernel
    def reversible(state):
        return np.int64(path_plies)

    return reversible


def _sample_by_probability(num_chance, chance):
    @kernel
    def sample_chance(state, word):
        after, _ = chance(state, listed_outcome(num_chance, chance, state, word))
        return after

    return sample_chance


@kernel
def listed_outcome(num_chance, chance, state, word):
    """Number of the outcome of a chance node that 63 random bits decide."""
    k, left = num_chance(state), unit(word)
    for i in range(k):
        _, probability = chance(state, i)
        left -= probability
        if left < 0.0:
            return i
    return k - 1


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
