"""A second, independent implementation of backgammon: lists of 26 counts, every order of the dice, nothing clever.

A side is 26 counts from its own end: 0..23 its points 1..24, 24 the bar, 25 off. `me` is on roll.
"""

from __future__ import annotations

Side = tuple[int, ...]
Position = tuple[Side, Side]
"""(me, opponent)"""


def step(me: Side, opponent: Side, source: int, die: int) -> Position | None:
    """One checker moved from index `source` by `die`; None where the rules forbid it."""
    if not me[source] or (me[24] and source != 24):
        return None
    landing = source - die
    if landing < 0:
        if any(me[6:25]) or (landing < -1 and any(me[source + 1 : 6])):
            return None
    elif opponent[23 - landing] >= 2:
        return None
    mine, his = list(me), list(opponent)
    mine[source] -= 1
    mine[landing if landing >= 0 else 25] += 1
    if landing >= 0 and his[23 - landing]:
        his[23 - landing] -= 1
        his[24] += 1
    return tuple(mine), tuple(his)


def results_by_length(me: Side, opponent: Side, dice: tuple[int, ...]) -> list[tuple[tuple[int, ...], Position]]:
    """(dice played, position) for every play of `dice` in this order that cannot be continued."""
    found = []
    if dice:
        for source in range(25):
            after = step(me, opponent, source, dice[0])
            if after is not None:
                found += [((dice[0], *played), end) for played, end in results_by_length(*after, dice[1:])]
    return found or [((), (me, opponent))]


def results(me: Side, opponent: Side, high: int, low: int) -> set[Position]:
    """All positions that the roll can lead to, still seen by the mover."""
    orders = [(high,) * 4] if high == low else [(high, low), (low, high)]
    plays = [play for order in orders for play in results_by_length(me, opponent, order)]
    most = max(len(played) for played, _ in plays)
    plays = [(played, end) for played, end in plays if len(played) == most]
    if most == 1 and high != low:
        largest = max(played[0] for played, _ in plays)
        plays = [(played, end) for played, end in plays if played[0] == largest]
    return {end for _, end in plays}


def tesauro(me: Side, opponent: Side) -> list[float]:
    """The 196 inputs of Tesauro (1992) without the two that say whose turn it is."""
    inputs: list[float] = []
    for side in (me, opponent):
        for n in side[:24]:
            inputs += [float(n >= 1), float(n >= 2), float(n >= 3), (n - 3) / 2 if n > 3 else 0.0]
        inputs += [side[24] / 2, side[25] / 15]
    return inputs


def rear(side: Side) -> int:
    """Distance of the rearmost checker from bearing off: 25 on the bar, 0 with none left."""
    return max((i + 1 for i in range(25) if side[i]), default=0)


def is_race(me: Side, opponent: Side) -> bool:
    return rear(me) + rear(opponent) < 25


def shots(me: Side, opponent: Side) -> int:
    """Rolls of 36 with which `me` can hit a blot.

    One checker does it, with one die or with both (a double: up to four), landing on no point that the opponent holds;
    from the bar only where there is one. Sides that have passed each other have no shots.
    """
    sources = [24] if me[24] else [i for i in range(24) if me[i]]

    def reaches(source: int, dice: tuple[int, ...]) -> bool:
        if not dice:
            return False
        landing = source - dice[0]
        if landing < 0 or opponent[23 - landing] >= 2:
            return False
        return opponent[23 - landing] == 1 or reaches(landing, dice[1:])

    def hits(a: int, b: int) -> bool:
        orders = [(a,) * 4] if a == b else [(a, b), (b, a)]
        return any(reaches(source, order) for source in sources for order in orders)

    return sum(hits(a, b) for a in range(1, 7) for b in range(1, 7))


def escapes(me: Side, opponent: Side) -> int:
    """Rolls of 36 with which the rearmost checker can move by both dice (a double: twice), staying on the board.

    None once the sides have passed each other: there is nothing left to escape from.
    """
    if is_race(me, opponent):
        return 0

    def clear(point: int) -> bool:
        return point >= 0 and opponent[23 - point] < 2

    start = rear(me) - 1
    return sum(
        (clear(start - a) or clear(start - b)) and clear(start - a - b) for a in range(1, 7) for b in range(1, 7)
    )


def extras(me: Side, opponent: Side) -> list[float]:
    """The 17 further inputs of one side, in the order of `features.EXTRAS`."""
    made = [i for i in range(24) if me[i] >= 2]
    home = sum(i < 6 for i in made)
    longest = max((n for n in range(1, 25) for i in range(24) if all(i + k in made for k in range(n))), default=0)
    return [
        shots(me, opponent) / 36,
        escapes(me, opponent) / 36,
        *(float(home >= n) for n in range(1, 7)),
        *(float(longest >= n) for n in range(3, 7)),
        *(min(max(me[25] - 5 * k, 0), 5) / 5 for k in range(3)),
        sum(n == 1 for n in me[:6]) / 4,
        rear(me) / 25,
    ]


def pips(side: Side) -> int:
    return sum((i + 1) * side[i] for i in range(25))


def expert(me: Side, opponent: Side) -> list[float]:
    """All 235 inputs."""
    contact = rear(me) + rear(opponent) - 25
    lead = (pips(opponent) - pips(me)) / 100
    shared = [float(contact < 0), contact / 24, lead]
    counts = [pips(me) / 167, pips(opponent) / 167]
    return [*tesauro(me, opponent), *counts, *extras(me, opponent), *extras(opponent, me), *shared]


def pubeval(weights: list[float], me: Side, opponent: Side) -> float:
    """Tesauro's score of a position after the move, for the side `me` that made it."""
    if me[25] == 15:
        return 99999999.0
    inputs: list[float] = []
    for point in range(24, 0, -1):
        n = me[point - 1]
        blot = opponent[24 - point] == 1
        inputs += [float(blot), float(n == 1), float(n >= 2), float(n == 3), (n - 3) / 2 if n >= 4 else 0.0]
    inputs += [opponent[24] / 2, me[25] / 15]
    return sum(w * x for w, x in zip(weights, inputs, strict=True))
