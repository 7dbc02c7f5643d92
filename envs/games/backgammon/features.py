"""Backgammon described to an evaluator: Tesauro's 196 inputs, and a richer set that contains them.

    0 ..  95   mover, points 1..24, four inputs each: 1 if at least 1, 2, 3 checkers; (n - 3)/2 above three
   96, 97      mover: checkers on the bar / 2, borne off / 15
   98 .. 195   the same for the opponent, from the opponent's end            -> `tesauro` ends here
  196, 197     pip counts / 167 (mover, opponent)                            -> `tesauro_pips` ends here
  198 .. 214   mover:    see EXTRAS                                          -> `expert` ends at 234
  215 .. 231   opponent: the same
  232 .. 234   both:     see SHARED

Tesauro (1992), "Practical issues in temporal difference learning", without the two inputs that say whose turn it is:
the mover is always seen as "me". Shots and escapes are the classical concepts of Berliner's BKG and of gnubg's inputs,
here in bit-parallel form.
"""

from __future__ import annotations

import numpy as np

from deltaw.envs.bits import highest, lowest, popcount
from deltaw.envs.game import FeatureSet
from deltaw.envs.games.backgammon.rules import BAR, BOARD, HOME, count, mirror, occupied, on_board, stacked
from deltaw.envs.kernel import kernel

TESAURO, TESAURO_PIPS, EXPERT = 0, 1, 2
START_PIPS = 167.0

EXTRAS = (
    "shots",  # rolls of 36 that let this side hit a blot, as a fraction; 0 in a race
    "escapes",  # rolls of 36 with which its rearmost checker can move by the whole roll, as a fraction; 0 in a race
    *(f"home_points_{n}" for n in range(1, 7)),  # it holds at least n of its six home points
    *(f"prime_{n}" for n in range(3, 7)),  # it holds n points in a row
    *(f"off_{n}" for n in (5, 10, 15)),  # borne off, in three steps of five
    "blots_home",  # its blots in its own home / 4
    "rearmost",  # distance of its rearmost checker / 25
)
SHARED = ("race", "contact", "lead")
"""no contact any more; how far the rearmost checkers are past each other / 24; mover's lead in pips / 100"""

NUM_FEATURES = (196, 198, 198 + 2 * len(EXTRAS) + len(SHARED))


@kernel
def features(state, spec, index, value):
    """Active features in increasing order; see the module's table. spec[0] is TESAURO, TESAURO_PIPS or EXPERT."""
    n, mine = side_features(state.me_low, state.me_high, 0, 0, index, value)
    n, his = side_features(state.opponent_low, state.opponent_high, 98, n, index, value)
    if spec[0] == TESAURO:
        return n
    n = add(196, mine / START_PIPS, n, index, value)
    n = add(197, his / START_PIPS, n, index, value)
    if spec[0] == EXPERT:
        me, opponent = state.me_low, state.opponent_low
        n = extra_features(me, state.me_high, opponent, state.opponent_high, 198, n, index, value)
        n = extra_features(opponent, state.opponent_high, me, state.me_high, 215, n, index, value)
        n = shared_features(state, mine, his, 232, n, index, value)
    return n


@kernel
def add(feature, amount, n, index, value):
    """Append a feature unless it is zero."""
    index[n] = feature
    value[n] = amount
    return n + (amount != 0.0)


@kernel
def side_features(low, high, start, n, index, value):
    """Tesauro's 98 inputs of one side; returns (n, its pip count)."""
    mask = occupied(low, high) & BOARD
    on_points, total = np.int64(0), np.int64(0)
    while mask:
        bit = lowest(mask)
        mask &= mask - 1
        checkers = count(low, high, bit)
        on_points += checkers
        total += (bit + 1) * checkers
        first = start + 4 * bit
        for k in range(3):  # always written, counted only as far as there are checkers: cheaper than a branch
            index[n + k] = first + k
            value[n + k] = 1.0
        n += min(checkers, np.int64(3))
        if checkers > 3:
            n = add(first + 3, (checkers - 3) * 0.5, n, index, value)
    on_bar = count(low, high, BAR)
    n = add(start + 96, on_bar * 0.5, n, index, value)
    n = add(start + 97, (15 - on_points - on_bar) / 15.0, n, index, value)
    return n, total + 25 * on_bar


@kernel
def extra_features(low, high, other_low, other_high, start, n, index, value):
    """The EXTRAS of one side."""
    mine, made = occupied(low, high), stacked(low, high)
    if highest(mine << 1 | 1) + highest(occupied(other_low, other_high) << 1 | 1) >= 25:
        blocked = mirror(stacked(other_low, other_high))
        blots = mirror(occupied(other_low, other_high)) & ~blocked
        sources = np.int64(1) << BAR if mine >> BAR else mine
        n = add(start, hitting_rolls(sources, blots, blocked) / 36.0, n, index, value)
        n = add(start + 1, escaping_rolls(highest(mine | 1), blocked) / 36.0, n, index, value)
    for k in range(popcount(made & HOME)):
        n = add(start + 2 + k, 1.0, n, index, value)
    points = made & BOARD
    run = points & points >> 1
    for k in range(4):
        run &= points >> (k + 2)
        n = add(start + 8 + k, 1.0 if run else 0.0, n, index, value)
    off = 15 - on_board(low, high)
    for k in range(3):
        n = add(start + 12 + k, min(max(off - 5 * k, 0), 5) * 0.2, n, index, value)
    n = add(start + 15, popcount(mine & ~made & HOME) * 0.25, n, index, value)
    return add(start + 16, highest(mine << 1 | 1) / 25.0, n, index, value)


@kernel
def hitting_rolls(sources, blots, blocked):
    """Of 36 rolls, those that can bring a checker from `sources` onto one of `blots`, over points that are not
    blocked."""
    rolls = np.int64(0)
    if blots == 0:
        return rolls
    free = ~blocked
    after = (
        sources >> 1 & free,
        sources >> 2 & free,
        sources >> 3 & free,
        sources >> 4 & free,
        sources >> 5 & free,
        sources >> 6 & free,
    )
    for i in range(6):
        a, after_a = i + 1, after[i]
        if after_a & blots:
            rolls += 13 - 2 * a  # a with itself and, twice each, with every higher die
            continue
        second = after_a >> a & free
        third = second >> a & free
        rolls += (second | third | third >> a) & blots != 0
        for j in range(i + 1, 6):
            rolls += 2 * ((after[j] | after_a >> (j + 1) | after[j] >> a) & blots != 0)
    return rolls


def _escape_table() -> np.ndarray:
    """int8 [4096]: of 36 rolls, those with which a checker can move by both dice, by which of the twelve points ahead
    of it are blocked; bit 12 - d stands for the point at distance d."""
    pattern = np.arange(4096)

    def free(distance: int) -> np.ndarray:
        return pattern >> (12 - distance) & 1 == 0

    rolls = np.zeros(4096, np.int8)
    for a in range(1, 7):
        rolls += free(a) & free(2 * a)
        for b in range(a + 1, 7):
            rolls += 2 * ((free(a) | free(b)) & free(a + b))
    return rolls


ESCAPES = _escape_table()


@kernel
def escaping_rolls(rearmost, blocked):
    """Of 36 rolls, those with which the checker on bit `rearmost` can move by both dice; bearing off does not count."""
    ahead = (blocked << 12 | 0xFFF) >> rearmost & 0xFFF
    return np.int64(ESCAPES[ahead])


@kernel
def shared_features(state, mine, his, start, n, index, value):
    """The SHARED features."""
    my_rear = highest(occupied(state.me_low, state.me_high) << 1 | 1)
    his_rear = highest(occupied(state.opponent_low, state.opponent_high) << 1 | 1)
    contact = my_rear + his_rear - 25
    if contact < 0:
        n = add(start, 1.0, n, index, value)
    n = add(start + 1, contact / 24.0, n, index, value)
    return add(start + 2, (his - mine) / 100.0, n, index, value)


def feature_names() -> list[str]:
    """Names of all features of `expert`; the smaller sets take the first ones."""
    names = []
    for side in ("me", "opponent"):
        names += [f"{side}_{point}_{part}" for point in range(1, 25) for part in ("1", "2", "3", "more")]
        names += [f"{side}_bar", f"{side}_off"]
    names += ["me_pips", "opponent_pips"]
    names += [f"{side}_{extra}" for side in ("me", "opponent") for extra in EXTRAS]
    return names + list(SHARED)


def _feature_set(name: str, kind: int) -> FeatureSet:
    # 15 checkers a side make at most 15 + 15/4 active point inputs; every other input can be active at once.
    most = 2 * (18 + 2) + NUM_FEATURES[kind] - 196
    return FeatureSet(name, (kind,), NUM_FEATURES[kind], most, lambda: feature_names()[: NUM_FEATURES[kind]])


FEATURE_SETS = {
    name: _feature_set(name, kind)
    for name, kind in (("tesauro", TESAURO), ("tesauro_pips", TESAURO_PIPS), ("expert", EXPERT))
}
