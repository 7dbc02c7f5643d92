"""Backgammon in text: GNU Position ID, XGID, dice, and moves as players write them.

A *board* here is two lists of 26 counts, mover then opponent, each from its own end: index 0..23 = points 1..24, 24 =
bar, 25 = off.
"""

from __future__ import annotations

import base64
import binascii
import re
from collections import Counter

import numpy as np

from deltaw.envs.errors import InputError
from deltaw.envs.games.backgammon import rules
from deltaw.envs.games.backgammon.rules import State

Side = list[int]

START = "4HPwATDgc/ABMA"
"""Position ID of the start"""


# --- boards -----------------------------------------------------------------------------------------------------


def board(state: State) -> tuple[Side, Side]:
    """(mover, opponent): 26 counts each."""
    return _side(state.me_low, state.me_high), _side(state.opponent_low, state.opponent_high)


def _side(low: int, high: int) -> Side:
    counts = [
        (low >> bit & 1) + 2 * (low >> 32 + bit & 1) + 4 * (high >> bit & 1) + 8 * (high >> 32 + bit & 1)
        for bit in range(25)
    ]
    return [*counts, 15 - sum(counts)]


def from_board(me: Side, opponent: Side, roll: int = 0, seat: int = 0) -> State:
    """The state with these counts; raises InputError where no game can hold them."""
    for name, side in (("the player on roll", me), ("the opponent", opponent)):
        if min(side[:25]) < 0 or sum(side[:25]) > 15:
            raise InputError(f"{name} has {sum(side[:25])} checkers; a side has 0 to 15 on the board")
    for point in range(1, 25):
        if me[point - 1] and opponent[24 - point]:
            raise InputError(f"both sides have checkers on point {point} of the player on roll")
    if not any(me[:25]) and not any(opponent[:25]):
        raise InputError("both sides have borne off all their checkers")
    return State(*_planes(me), *_planes(opponent), roll, seat)


def _planes(side: Side) -> tuple[int, int]:
    plane = [sum((side[bit] >> k & 1) << bit for bit in range(25)) for k in range(4)]
    return plane[0] | plane[1] << 32, plane[2] | plane[3] << 32


# --- Position ID --------------------------------------------------------------------------------------------------


def position_id(state: State) -> str:
    """GNU Position ID (14 characters): opponent, then mover; for points 1..24 and the bar, n ones and a zero.

    80 bits, little-endian in 10 bytes, base64 without padding (GNU Backgammon manual, "A technical description of the
    position ID").
    """
    me, opponent = board(state)
    bits = "".join("1" * n + "0" for side in (opponent, me) for n in side[:25])
    number = int(bits[::-1], 2)
    return base64.b64encode(number.to_bytes(10, "little")).decode().rstrip("=")


def from_position_id(text: str) -> State:
    wanted = "a Position ID has 14 characters of A-Z a-z 0-9 + /, such as 4HPwATDgc/ABMA (the start)"
    if len(text) != 14:
        raise InputError(f"{text!r} is no Position ID: {wanted}")
    try:
        number = int.from_bytes(base64.b64decode(text + "==", validate=True), "little")
    except (binascii.Error, ValueError):
        raise InputError(f"{text!r} is no Position ID: {wanted}") from None
    runs, ones = [], 0
    for i in range(80):
        if number >> i & 1:
            ones += 1
        else:
            runs.append(ones)
            ones = 0
    if ones or any(runs[50:]):
        raise InputError(f"{text!r} is no Position ID: it does not end after two sides of 25 points")
    opponent, me = runs[:25], runs[25:50]
    state = from_board([*me, 0], [*opponent, 0])
    if position_id(state) != text:
        raise InputError(
            f"{text!r} is no Position ID: its last bits are not zero; did you mean {position_id(state)!r}?"
        )
    return state


# --- XGID -----------------------------------------------------------------------------------------------------------


def from_xgid(text: str) -> State:
    """State from an eXtreme Gammon ID: board, turn and dice; cube, score and match fields are for cube play and not
    used.

    26 letters: bar of the lower-case side, points 1..24 of the upper-case side, its bar; `a`/`A` = one checker.
    """
    fields = text.removeprefix("XGID=").split(":")
    letters = fields[0]
    if len(letters) != 26 or len(fields) < 5 or not re.fullmatch(r"[-a-oA-O]{26}", letters):
        raise InputError(f"{text!r} is no XGID: it needs 26 letters of a-o, A-O and -, then :cube:owner:turn:dice")
    turn, dice = fields[3], fields[4]
    if turn not in ("1", "-1"):
        raise InputError(f"{text!r} is no XGID: the turn is {turn!r}, it must be 1 or -1")
    upper = [ord(c) - 64 if c.isupper() else 0 for c in letters]
    lower = [ord(c) - 96 if c.islower() else 0 for c in letters]
    if upper[0] or lower[25]:
        raise InputError(f"{text!r} is no XGID: a letter on the other side's bar")
    upper_side = [*upper[1:25], upper[25], 0]
    lower_side = [*lower[24:0:-1], lower[0], 0]
    me, opponent = (upper_side, lower_side) if turn == "1" else (lower_side, upper_side)
    state = from_board(me, opponent, 0, 0 if turn == "1" else 1)
    return state._replace(roll=read_roll(state, dice)) if dice[:1] in tuple("123456") else state


def parse(text: str) -> State:
    """State from a Position ID, an XGID, or `start`."""
    text = text.strip()
    if text in ("start", ""):
        return initial_state()
    if text.startswith("XGID=") or ":" in text:
        return from_xgid(text)
    return from_position_id(text)


def initial_state() -> State:
    return State(*(int(x) for x in rules.initial()))


# --- dice -------------------------------------------------------------------------------------------------------------


def roll_text(roll: int) -> str:
    """`31`: the higher die first."""
    return f"{rules.DICE_HIGH[roll]}{rules.DICE_LOW[roll]}"


def read_roll(state: State, text: str) -> int:
    """Roll 1..21 from `31`, `3-1`, `1,3` or `[3, 1]`; raises InputError."""
    digits = re.sub(r"[\s,\-\[\]()]", "", text)
    if not re.fullmatch(r"[1-6]{2}", digits):
        raise InputError(f"{text!r} are no dice: two numbers from 1 to 6, such as 31")
    high, low = max(int(digits[0]), int(digits[1])), min(int(digits[0]), int(digits[1]))
    if state.roll == rules.OPENING and high == low:
        raise InputError(f"{text!r} cannot open a game: the opening roll is never a double")
    return high * (high - 1) // 2 + low


def chance_text(state: State, i: int) -> str:
    return roll_text(int(rules.OPENING_ROLLS[i]) if state.roll == rules.OPENING else i + 1)


def read_chance(state: State, text: str) -> int:
    if state.roll > 0:
        raise InputError(f"the dice are already rolled: {roll_text(state.roll)}")
    roll = read_roll(state, text)
    return list(rules.OPENING_ROLLS).index(roll) if state.roll == rules.OPENING else roll - 1


# --- moves ------------------------------------------------------------------------------------------------------------


def move_text(state: State, move: int) -> str:
    """A move as players write it: `8/5 6/5`, `bar/20*`, `6/off(2)`, `24/18*/15`; `(no move)` for a pass.

    Hops of one checker are joined; a point between is shown only where it hits.
    """
    chains: list[list[tuple[int, bool]]] = []  # [(point, hits there)], from the source on
    blots = {24 - i for i, n in enumerate(board(state)[1][:24]) if n == 1}  # as the mover's points
    for i in range(4):
        source = move >> 5 * i & 31
        if not source:
            continue
        landing = max(0, source - int(rules.die_of(state, np.int64(move), np.int64(i))))
        hits = landing in blots
        blots.discard(landing)
        chain = next((c for c in chains if c[-1][0] == source), None)
        if chain is None:
            chain = [(source, False)]
            chains.append(chain)
        chain.append((landing, hits))
    texts: Counter[str] = Counter()
    for chain in sorted(chains, key=lambda c: (-c[0][0], -c[-1][0])):
        shown = [chain[0], *(hop for hop in chain[1:-1] if hop[1]), chain[-1]]
        texts["/".join(_point_text(point) + "*" * hits for point, hits in shown)] += 1
    return " ".join(text + (f"({n})" if n > 1 else "") for text, n in texts.items()) or "(no move)"


def _point_text(point: int) -> str:
    return {0: "off", 25: "bar"}.get(point, str(point))


_HOP = re.compile(r"(bar|\d{1,2})((?:/(?:off|bar|\d{1,2})\*?)+)(?:\((\d)\))?", re.IGNORECASE)


def read_move(state: State, text: str) -> int:
    """The legal move code that a person wrote, found by its result: the order of hops and joined hops do not matter.

    Stars are needed only where two plays differ in nothing but a hit.
    """
    me, _ = board(state)
    counts, starred = list(me), set()
    lowered = text.strip().lower()
    for token in [] if lowered in ("pass", "(no move)", "no move", "") else lowered.split():
        match = _HOP.fullmatch(token)
        if not match:
            raise InputError(f"{token!r} is no move: write 8/5 6/5, bar/20*, 6/off(2) or 24/18*/15")
        points = [match[1], *match[2][1:].split("/")]
        numbers = [{"bar": 25, "off": 0}.get(p.rstrip("*"), int(re.sub(r"\D", "", p) or 0)) for p in points]
        if any(not 0 <= n <= 25 for n in numbers) or numbers != sorted(set(numbers), reverse=True):
            raise InputError(f"{token!r} is no move: points run from bar or 24 down to 1 or off")
        times = int(match[3] or 1)
        counts[_index(numbers[0])] -= times
        counts[_index(numbers[-1])] += times
        starred |= {n for n, p in zip(numbers, points, strict=True) if p.endswith("*")}
    codes, rows = np.empty(rules.MAX_MOVES, np.int64), np.empty((rules.MAX_MOVES, 6), np.int64)
    n = rules.expand(state, codes, rows)
    before = _blots(state.opponent_low, state.opponent_high)
    same = [i for i in range(n) if _side(*(int(x) for x in rows[i, 2:4])) == counts]
    exact = [i for i in same if before - _blots(int(rows[i, 0]), int(rows[i, 1])) == starred]
    found = exact or same
    if len(found) == 1:
        return int(codes[found[0]])
    texts = [move_text(state, int(codes[i])) for i in (found or range(min(n, 12)))]
    what = "is ambiguous; write one of" if found else f"is not legal with {roll_text(state.roll)}; legal"
    raise InputError(f"{text.strip()!r} {what}: {', '.join(texts)}{' ...' if not found and n > 12 else ''}")


def _index(point: int) -> int:
    return 25 if point == 0 else point - 1


def _blots(low: int, high: int) -> set[int]:
    """The mover's numbers of the points where the opponent has one checker."""
    return {24 - i for i, n in enumerate(_side(low, high)[:24]) if n == 1}
