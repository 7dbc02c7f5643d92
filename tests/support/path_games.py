"""Two small games for what the games of this package do not have: positions that come again, and a hidden card."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from deltaw.envs.bits import mix
from deltaw.envs.errors import InputError
from deltaw.envs.game import FORBIDDEN, Baseline, FeatureSet, Game
from deltaw.envs.kernel import kernel
from deltaw.envs.rules import make_rules

# --- a corridor ------------------------------------------------------------------------------------------------------

CELLS, WAITS = 7, 2


class Walk(NamedTuple):
    """One piece in a corridor of seven cells, which both players move by a step; the mover wants it in the last one,
    the other in the first. Twice in a game somebody may wait instead; then no earlier position can come again."""

    place: int
    waits: int
    """left"""
    since: int
    """moves since the last wait"""
    seat: int


@kernel
def walk_initial():
    return Walk(np.int64(CELLS // 2), np.int64(WAITS), np.int64(0), np.int64(0))


@kernel
def walk_seat(state):
    return state.seat


@kernel
def walk_moves(state, out):
    out[0], out[1], out[2] = 0, 1, 2
    return 3 if state.waits > 0 else 2


@kernel
def walk_play(state, move):
    """0: a step back, 1: a step on, 2: wait."""
    place = state.place + (move == 1) - (move == 0)
    waited = np.int64(move == 2)
    since = np.int64(0) if move == 2 else state.since + 1
    return Walk(CELLS - 1 - place, state.waits - waited, since, 1 - state.seat)


@kernel
def walk_outcome(state):
    if state.place == CELLS - 1:
        return True, np.int64(1)
    if state.place == 0:
        return True, np.int64(-1)
    return False, np.int64(0)


@kernel
def walk_cells(state, out):
    out[:] = 0
    out[state.place] = 1


@kernel
def walk_features(state, spec, index, value):
    """The place, waits left and seat together: each position has a weight of its own."""
    index[0] = (state.place * (WAITS + 1) + state.waits) * 2 + state.seat
    value[0] = 1.0
    return 1


@kernel
def walk_key(state):
    return np.int64(1 + (state.place * (WAITS + 1) + state.waits) * 2 + state.seat)


@kernel
def walk_reversible(state):
    return state.since


@kernel
def walk_value(state):
    """An opinion without sense, different everywhere."""
    return np.float64(mix(np.uint64(walk_key(state))) >> np.uint64(40)) / (1 << 24) - 0.5


def corridor(repetition: int) -> Game:
    """The game in which the n-th occurrence of a position is a draw, or in which none may come again."""
    rules = make_rules(
        Walk, initial=walk_initial, seat=walk_seat, legal_moves=walk_moves, play=walk_play, outcome=walk_outcome,
        features=walk_features, cells=walk_cells, num_cells=CELLS, key=walk_key, exact_key=True, max_moves=3,
        outcomes=(-1, 0, 1), repetition=repetition, path_plies=40, repetition_key=walk_key, reversible=walk_reversible,
    )  # fmt: skip
    name = "corridor_forbidden" if repetition == FORBIDDEN else f"corridor_{repetition}"
    size = CELLS * (WAITS + 1) * 2
    return Game(
        name=name, title="Corridor", state=Walk, rules=rules, default_features="places",
        feature_sets={"places": FeatureSet("places", (0,), size, 1, lambda: [f"place {i}" for i in range(size)])},
        parse=lambda text: _fields(Walk, text), format=lambda state: " ".join(map(str, state)),
        move_text=lambda state, move: ("back", "on", "wait")[move], ansi=lambda state, color=False: str(state),
        draw=None,  # type: ignore[arg-type]
        baselines={"odd": Baseline("odd", "value", walk_value, "an opinion without sense")},
    )  # fmt: skip


# --- one hidden card ------------------------------------------------------------------------------------------------

CARDS = 5
UNDEALT, FIRST, SECOND, SHOWN, FOLDED = range(5)


class Bet(NamedTuple):
    """Two players have one card each, and the higher card wins a point. The first player passes or bets; after a bet
    the second gives up the point, or calls and plays for two."""

    mine: int
    theirs: int
    stage: int
    seat: int
    stake: int


@kernel
def bet_initial():
    return Bet(np.int64(0), np.int64(0), np.int64(UNDEALT), np.int64(0), np.int64(1))


@kernel
def bet_num_chance(state):
    return CARDS * (CARDS - 1) if state.stage == UNDEALT else 0


@kernel
def bet_one_event(state):
    return 1 if state.stage == UNDEALT else 0


@kernel
def bet_chance(state, i):
    mine, theirs = i // (CARDS - 1), i % (CARDS - 1)
    theirs += theirs >= mine
    return Bet(np.int64(mine + 1), np.int64(theirs + 1), np.int64(FIRST), state.seat, state.stake), 1.0 / (
        CARDS * (CARDS - 1)
    )


@kernel
def bet_deal(state, word):
    return bet_chance(state, word % (CARDS * (CARDS - 1)))[0]


@kernel
def bet_seat(state):
    return state.seat


@kernel
def bet_moves(state, out):
    out[0], out[1] = 0, 1
    return 2


@kernel
def bet_play(state, move):
    """First 0: pass, 1: bet; then 0: give up, 1: call."""
    stage, stake = np.int64(SHOWN), state.stake
    if state.stage == FIRST and move == 1:
        stage = np.int64(SECOND)
    elif state.stage == SECOND:
        stage, stake = (np.int64(SHOWN), np.int64(2)) if move == 1 else (np.int64(FOLDED), np.int64(1))
    return Bet(state.theirs, state.mine, stage, 1 - state.seat, stake)


@kernel
def bet_outcome(state):
    if state.stage == SHOWN:
        return True, state.stake if state.mine > state.theirs else -state.stake
    if state.stage == FOLDED:
        return True, np.int64(1)
    return False, np.int64(0)


@kernel
def bet_cells(state, out):
    out[0], out[1] = state.mine, state.stage


@kernel
def bet_features(state, spec, index, value):
    """The mover's own card and what has been done: nothing of the other card."""
    index[0] = state.mine * 5 + state.stage
    value[0] = 1.0
    return 1


@kernel
def bet_information(state):
    return np.int64(state.mine * 5 + state.stage)


@kernel
def bet_determinize(state, word):
    theirs = word % (CARDS - 1) + 1
    theirs += theirs >= state.mine
    return Bet(state.mine, np.int64(theirs), state.stage, state.seat, state.stake)


def one_card(listed: bool = True) -> Game:
    """`listed`: the deal is a chance node whose outcomes can be listed; else it is only dealt at random."""
    rules = make_rules(
        Bet, initial=bet_initial, seat=bet_seat, legal_moves=bet_moves, play=bet_play, outcome=bet_outcome,
        features=bet_features, cells=bet_cells, num_cells=2, max_moves=2, outcomes=(-2, -1, 0, 1, 2),
        num_chance=bet_num_chance if listed else bet_one_event, chance=bet_chance if listed else None,
        sample_chance=None if listed else bet_deal, max_chance=CARDS * (CARDS - 1) if listed else 1, only_deals=True,
        information_key=bet_information, determinize=bet_determinize,
    )  # fmt: skip
    names = [f"card {i // 5} stage {i % 5}" for i in range(5 * (CARDS + 1))]
    return Game(
        name="one_card" if listed else "one_card_dealt", title="One card", state=Bet, rules=rules,
        feature_sets={"view": FeatureSet("view", (0,), len(names), 1, lambda: names)}, default_features="view",
        parse=lambda text: _fields(Bet, text), format=lambda state: " ".join(map(str, state)),
        move_text=lambda state, move: (("pass", "bet"), ("fold", "call"))[int(state.stage == SECOND)][move],
        ansi=lambda state, color=False: str(state), draw=None,  # type: ignore[arg-type]
    )  # fmt: skip


def _fields(kind: Any, text: str) -> Any:
    try:
        return kind(*(int(field) for field in text.split()))
    except (TypeError, ValueError):
        raise InputError(f"{text!r} is no position") from None
