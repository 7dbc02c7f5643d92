"""Masks of 64 squares: the discs a move turns, the squares one can play on. Everything about Othello stands on these
two.

A mask has a1 = bit 0, b1 = 1 .. h8 = 63 and is a *signed* int64, whose sign is bit 63. `&`, `|`, `^`, `~` and `==` do
not mind; everything that would (a bit by its number, shifts, taking bits away one by one) has a helper in
`envs/bits.py`. "Up" is towards h8, "down" towards a1.

`flips` and `mobility` look along all lines at once: the four lanes of a vector hold the row, the column and the two
diagonals, each followed up and down. They are written in LLVM's own vectors, which it maps to what the processor has: 8
ns each with AVX2. (A kernel's identity covers the body of an intrinsic, not the helpers it calls: whoever edits one of
those empties the cache of kernels.)
"""

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from deltaw.envs.bits import FULL, down, signed, up
from deltaw.envs.kernel import JIT, kernel

AXES = ((1, 0), (0, 1), (-1, 1), (1, 1))
"""(columns, rows) of a step towards higher bits: along the row, the column and both diagonals"""
STEPS = tuple(column + 8 * row for column, row in AXES)
"""the same as a distance in bits: 1, 8, 7, 9"""
INNER_COLUMNS = 0x7E7E7E7E7E7E7E7E
"""where a disc between two others can lie, seen along a row or a diagonal: no line goes round the edge"""


def ray(square: int, column_step: int, row_step: int) -> int:
    """The squares beyond `square` in one direction, as a mask without sign."""
    column, row, mask = square % 8 + column_step, square // 8 + row_step, 0
    while 0 <= column < 8 and 0 <= row < 8:
        mask |= 1 << (column + 8 * row)
        column, row = column + column_step, row + row_step
    return mask


MULTIPLIERS = (0x9E3779B97F4A7C15, 0xC2B2AE3D27D4EB4F, 0xBF58476D1CE4E5B9, 0x94D049BB133111EB)
"""odd numbers that mix well: three of splitmix64 (Steele, Lea and Flood 2014) and, second, one of xxHash"""

CORNERS = signed(0x8100000000000081)
NOT_A, NOT_H = signed(0xFEFEFEFEFEFEFEFE), signed(0x7F7F7F7F7F7F7F7F)
"""every file but a, but h: from where a step towards a, towards h stays on its row"""

UP = tuple(tuple(ray(square, *axis) for axis in AXES) for square in range(64))
"""[64][4]: rays towards higher bits"""
DOWN = tuple(tuple(ray(square, -c, -r) for c, r in AXES) for square in range(64))

_WORD = ir.IntType(64)
_LANES = ir.VectorType(_WORD, 4)


def _constant(values: Any) -> ir.Constant:
    return ir.Constant(_LANES, [ir.Constant(_WORD, value) for value in values])


def _spread(builder: ir.IRBuilder, word: ir.Value) -> ir.Value:
    """The word in all four lanes."""
    one = builder.insert_element(ir.Constant(_LANES, ir.Undefined), word, ir.Constant(ir.IntType(32), 0))
    zeros = ir.Constant(ir.VectorType(ir.IntType(32), 4), [ir.Constant(ir.IntType(32), 0)] * 4)
    return builder.shuffle_vector(one, ir.Constant(_LANES, ir.Undefined), zeros)


def _join(builder: ir.IRBuilder, lanes: ir.Value) -> ir.Value:
    """All lanes, or-ed."""
    kind = ir.FunctionType(_WORD, [_LANES])
    return builder.call(cgutils.get_or_insert_function(builder.module, kind, "llvm.vector.reduce.or.v4i64"), [lanes])


def _leading_zeros(builder: ir.IRBuilder, lanes: ir.Value) -> ir.Value:
    kind = ir.FunctionType(_LANES, [_LANES, ir.IntType(1)])
    function = cgutils.get_or_insert_function(builder.module, kind, "llvm.ctlz.v4i64")
    return builder.call(function, [lanes, ir.Constant(ir.IntType(1), 0)])


def _rays(builder: ir.IRBuilder, table: Any, name: str, square: ir.Value) -> ir.Value:
    """Row `square` of a constant [64][4]."""
    rows = ir.ArrayType(_LANES, 64)
    found = builder.module.globals.get(name)
    if found is None:
        found = ir.GlobalVariable(builder.module, rows, name)
        found.linkage = "internal"
        found.global_constant = True
        found.initializer = ir.Constant(rows, [_constant(row) for row in table])
    return builder.load(builder.gep(found, [ir.Constant(_WORD, 0), square], inbounds=True))


if JIT:

    @intrinsic
    def flips(typingctx, square, me, opponent):
        """The opponent's discs that my disc on `square`, an empty one, turns; 0: none, so the move is not legal."""

        def codegen(context, builder, signature, args):
            mine, his = _spread(builder, args[1]), _spread(builder, args[2])
            zero, ones = _constant([0] * 4), _constant([-1] * 4)
            not_his = builder.xor(his, ones)
            # Up: the first square that is not his ends the line. If it is mine, the squares below it turn: a borrow
            # sets them.
            up = _rays(builder, UP, "othello_up", args[0])
            free = builder.and_(not_his, up)
            end = builder.and_(builder.and_(free, builder.sub(zero, free)), mine)
            closed = builder.sext(builder.icmp_unsigned("!=", end, zero), _LANES)
            above = builder.and_(builder.add(end, closed), up)
            # Down: the last such square, by counting zeros; what turns is above it: its negative, without itself.
            down = _rays(builder, DOWN, "othello_down", args[0])
            free = builder.and_(not_his, down)
            top = builder.lshr(
                _constant([1 << 63] * 4), builder.and_(_leading_zeros(builder, free), _constant([63] * 4))
            )
            end = builder.and_(builder.and_(top, free), mine)
            below = builder.and_(builder.shl(builder.sub(zero, end), _constant([1] * 4)), down)
            return _join(builder, builder.or_(above, below))

        return types.int64(types.int64, types.int64, types.int64), codegen

    @intrinsic
    def mobility(typingctx, me, opponent):
        """The squares on which I can play: empty, and at least one disc is turned."""

        def codegen(context, builder, signature, args):
            step, two = _constant(STEPS), _constant([2 * step for step in STEPS])
            mine, his = _spread(builder, args[0]), _spread(builder, args[1])
            his = builder.and_(his, _constant([FULL if step == 8 else INNER_COLUMNS for step in STEPS]))
            pairs = builder.and_(his, builder.shl(his, step))

            def beyond(shift, pairs):
                """Squares just beyond an unbroken run of his discs from mine: doubling steps, as Kogge and Stone
                add."""
                run = builder.and_(his, shift(mine, step))
                run = builder.or_(run, builder.and_(his, shift(run, step)))
                for _ in range(2):  # six discs are the longest run
                    run = builder.or_(run, builder.and_(pairs, shift(run, two)))
                return shift(run, step)

            found = builder.or_(beyond(builder.shl, pairs), beyond(builder.lshr, builder.lshr(pairs, step)))
            taken = builder.or_(args[0], args[1])
            return builder.and_(_join(builder, found), builder.xor(taken, ir.Constant(_WORD, -1)))

        return types.int64(types.int64, types.int64), codegen

    @kernel
    def scramble(me, opponent):
        """64 well-mixed bits of a position: two products side by side, then two rounds of folding."""
        word, other = np.uint64(me) * np.uint64(MULTIPLIERS[0]), np.uint64(opponent) * np.uint64(MULTIPLIERS[1])
        word ^= other >> np.uint64(32) ^ other << np.uint64(32)
        word = (word ^ word >> np.uint64(32)) * np.uint64(MULTIPLIERS[2])
        word = (word ^ word >> np.uint64(29)) * np.uint64(MULTIPLIERS[3])
        return np.int64(word ^ word >> np.uint64(32))

else:  # NUMBA_DISABLE_JIT=1

    def flips(square, me, opponent):
        me, opponent, found = int(me) & FULL, int(opponent) & FULL, 0
        for column, row in (*AXES, *((-c, -r) for c, r in AXES)):
            found |= _flips_one_way(int(square) % 8, int(square) // 8, column, row, me, opponent)
        return signed(found)

    def _flips_one_way(x, y, column, row, me, opponent):
        run, x, y = 0, x + column, y + row
        while 0 <= x < 8 and 0 <= y < 8 and opponent >> (x + 8 * y) & 1:
            run |= 1 << (x + 8 * y)
            x, y = x + column, y + row
        return run if 0 <= x < 8 and 0 <= y < 8 and me >> (x + 8 * y) & 1 else 0

    def mobility(me, opponent):
        taken = (int(me) | int(opponent)) & FULL
        empty = [square for square in range(64) if not taken >> square & 1]
        return signed(sum(1 << square for square in empty if flips(square, me, opponent)))

    def scramble(me, opponent):
        word, other = (int(me) & FULL) * MULTIPLIERS[0] & FULL, (int(opponent) & FULL) * MULTIPLIERS[1] & FULL
        word ^= other >> 32 ^ other << 32 & FULL
        word = (word ^ word >> 32) * MULTIPLIERS[2] & FULL
        word = (word ^ word >> 29) * MULTIPLIERS[3] & FULL
        return signed(word ^ word >> 32)


@kernel
def near(mask):
    """The squares of the mask and all squares that touch one."""
    row = mask | up(mask & NOT_H, 1) | down(mask & NOT_A, 1)
    return row | up(row, 8) | down(row, 8)
