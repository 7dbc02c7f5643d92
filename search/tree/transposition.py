"""The transposition table: positions reached by several orders of moves are searched once (LECTURE S18).

One int64 array [buckets x 2, 4]; a bucket of two entries is one cache line:

    [KEY]    key of the position, mixed with the evaluator's version
    [VALUE]  the bits of a float64
    [ABOUT]  (move + 1) * 2^19 + generation * 2^13 + depth' * 4 + bound

`bound` is LOWER (value >= the stored one), UPPER or EXACT. depth' is the depth, and PROVEN is added where the value
rests on finished games alone. The first entry of a bucket keeps the deeper search of the same generation, the second
one takes the latest entry (Breuker, Uiterwijk and van den Herik, "Replacement schemes for transposition tables", 1994:
TWODEEP).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from deltaw.envs.bits import bits_of_float, float_of_bits, mix
from deltaw.envs.errors import InputError
from deltaw.envs.kernel import kernel
from deltaw.envs.memory import check_memory

KEY, VALUE, ABOUT, SPARE = 0, 1, 2, 3
EMPTY, LOWER, UPPER, EXACT = 0, 1, 2, 3
WORDS = 4
ENTRY_BYTES = 8 * WORDS
PROVEN = 1024
"""added to the depth of an entry; more than any depth"""
DEPTHS = 2 * PROVEN - 1
GENERATIONS = 64
NO_MOVE = -1

DEFAULT_ENTRIES = 1 << 20


def make_table(entries: int = DEFAULT_ENTRIES) -> np.ndarray:
    """An empty table [entries, 4], 32 bytes an entry. `entries`: a power of two, at least 2.

    Raises InputError for another number, and for more than the machine's memory before anything is allocated.
    """
    if entries < 2 or entries & (entries - 1):
        raise InputError(
            f"a table of {entries} entries: a power of two from 2 upwards is needed, such as {DEFAULT_ENTRIES}"
        )
    check_memory(entries * ENTRY_BYTES, f"a table of {entries} entries")
    words = np.empty(entries * WORDS + 8, np.int64)
    words[:] = 0  # touches every page now: the first search is not the one to wait for the system's memory
    start = (-words.ctypes.data // 8) % 8  # a bucket must not straddle two cache lines
    return words[start : start + entries * WORDS].reshape(entries, WORDS)


@kernel
def table_key(rules, state, version):
    """63 bits: the position under this evaluator, from another evaluator or another `version` of its weights a
    different one.

    Mixing is one to one: an exact key of the game stays collision-free as long as the version stays.
    """
    return np.int64(mix(np.uint64(rules.key(state)) ^ np.uint64(version)) >> np.uint64(1))


@kernel
def find(table, key):
    """Row of the entry of this position, or -1."""
    row = key & (len(table) - 2)
    if table[row, KEY] == key and table[row, ABOUT] != 0:
        return row
    row += 1
    if table[row, KEY] == key and table[row, ABOUT] != 0:
        return row
    return np.int64(-1)


@kernel
def entry_value(table, row):
    return float_of_bits(table[row, VALUE])


@kernel
def entry_bound(table, row):
    return table[row, ABOUT] & 3


@kernel
def entry_depth(table, row):
    """Depth at which the value was found, PROVEN more where it holds at every greater depth too."""
    return table[row, ABOUT] >> 2 & DEPTHS


@kernel
def entry_move(table, row):
    """The best or refuting move, or NO_MOVE."""
    return (table[row, ABOUT] >> 19) - 1


@kernel
def store(table, key, depth, bound, value, move, generation):
    """Keeps what a search of `depth` plies found, in the first place of the bucket, or in the second where the first
    holds a deeper search of another position of this generation."""
    about = (move + 1) << 19 | (generation & (GENERATIONS - 1)) << 13 | depth << 2 | bound
    row = key & (len(table) - 2)
    first = table[row, ABOUT]
    recent = (first >> 13 & (GENERATIONS - 1)) == (generation & (GENERATIONS - 1))
    if first != 0 and recent and table[row, KEY] != key and (first >> 2 & DEPTHS) > depth:
        row += 1
    table[row, KEY] = key
    table[row, VALUE] = bits_of_float(value)
    table[row, ABOUT] = about


@kernel
def bound_of(value, alpha, beta):
    """What a fail-soft search with this window has proven by `value`."""
    if value <= alpha:
        return UPPER
    if value >= beta:
        return LOWER
    return EXACT


def clear(table: Any) -> None:
    table[:] = 0
