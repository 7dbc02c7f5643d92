"""Bit tricks and counter-based random numbers, the same compiled and interpreted.

Masks are int64: no uint64 crosses the border to Python, where it would come back as a signed int. Below 2^63 signed
and unsigned agree on every operation. A board of 64 squares uses the sign as bit 63. `&`, `|`, `^`, `~` and `==` do not
mind; everything that would (a bit by its number, shifts, differences) has a helper here, with a twin for
NUMBA_DISABLE_JIT=1, where integers have no width. "Up" is towards bit 63.
"""

from __future__ import annotations

import struct

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from deltaw.envs.kernel import JIT, kernel

ROLL, EXPLORE, OPENING, TIE, EXPLORED_MOVE = range(5)
NOISE, NOISY_MOVE, WORLD = 16, 17, 18
"""Purposes of random numbers, each (seed, game, ply, purpose) being a number of its own: dice; whether a learner
explores; the random moves of an opening; which of equally good moves is chosen; the move that a learner explores;
whether a player has to make a random move, and which; how what a mover does not see is dealt anew."""

_GOLDEN = 0x9E3779B97F4A7C15  # splitmix64's increment: 2^64 / golden ratio
_MIX1 = 0xBF58476D1CE4E5B9
_MIX2 = 0x94D049BB133111EB
FULL = (1 << 64) - 1


def signed(mask: int) -> int:
    """The 64 bits as an int64 holds them."""
    mask = int(mask) & FULL
    return mask - (1 << 64) if mask >> 63 else mask


if JIT:

    @intrinsic
    def popcount(typingctx, mask):
        """Number of set bits."""

        def codegen(context, builder, signature, args):
            return builder.ctpop(args[0])

        return types.int64(types.int64), codegen

    @intrinsic
    def lowest(typingctx, mask):
        """Index of the lowest set bit; undefined for 0."""

        def codegen(context, builder, signature, args):
            return builder.cttz(args[0], cgutils.true_bit)

        return types.int64(types.int64), codegen

    @intrinsic
    def highest(typingctx, mask):
        """Index of the highest set bit; undefined for 0."""

        def codegen(context, builder, signature, args):
            zeros = builder.ctlz(args[0], cgutils.true_bit)
            return builder.sub(context.get_constant(types.int64, 63), zeros)

        return types.int64(types.int64), codegen

    @intrinsic
    def reverse(typingctx, mask):
        """The 64 bits in reverse order."""

        def codegen(context, builder, signature, args):
            return builder.bitreverse(args[0])

        return types.int64(types.int64), codegen

    @intrinsic
    def swap_bytes(typingctx, mask):
        """The eight bytes in reverse order: a board of eight by eight, its rows from the other side."""

        def codegen(context, builder, signature, args):
            return builder.bswap(args[0])

        return types.int64(types.int64), codegen

    @intrinsic
    def down(typingctx, mask, distance):
        """The mask moved down by so many bits, zeros coming in."""

        def codegen(context, builder, signature, args):
            return builder.lshr(args[0], args[1])

        return types.int64(types.int64, types.int64), codegen

    @kernel
    def up(mask, distance):
        """The mask moved up by so many bits."""
        return mask << distance

    @kernel
    def bit(square):
        """The mask of one square."""
        return np.int64(1) << square

    @kernel
    def drop_lowest(mask):
        """The mask without its lowest square; 0 for 0."""
        return mask & (mask - 1)

    @kernel
    def difference(mask, other):
        """mask - other, as 64 bits."""
        return mask - other

    @intrinsic
    def fold(typingctx, word, other):
        """The product in 128 bits, its halves xor-ed: well-mixed bits of both words, unless one of them is 0."""

        def codegen(context, builder, signature, args):
            wide = ir.IntType(128)
            product = builder.mul(*(builder.zext(arg, wide) for arg in args))
            high = builder.lshr(product, ir.Constant(wide, 64))
            return builder.trunc(builder.xor(product, high), args[0].type)

        return types.int64(types.int64, types.int64), codegen

    @intrinsic
    def bits_of_float(typingctx, number):
        """The 64 bits of a float64 as an int64."""

        def codegen(context, builder, signature, args):
            return builder.bitcast(args[0], context.get_value_type(types.int64))

        return types.int64(types.float64), codegen

    @intrinsic
    def float_of_bits(typingctx, word):
        """The float64 of these 64 bits."""

        def codegen(context, builder, signature, args):
            return builder.bitcast(args[0], context.get_value_type(types.float64))

        return types.float64(types.int64), codegen

    @kernel
    def mix(word):
        """splitmix64's finaliser: 64 bits in, 64 well-mixed bits out (uint64)."""
        word = np.uint64(word) + np.uint64(_GOLDEN)
        word = (word ^ (word >> np.uint64(30))) * np.uint64(_MIX1)
        word = (word ^ (word >> np.uint64(27))) * np.uint64(_MIX2)
        return word ^ (word >> np.uint64(31))

    @kernel
    def random_word(seed, game, ply, purpose):
        """63 random bits for this counter: a non-negative int64."""
        word = mix(np.uint64(seed))
        word = mix(word ^ np.uint64(game))
        word = mix(word ^ (np.uint64(ply) << np.uint64(8)) ^ np.uint64(purpose))
        return np.int64(word >> np.uint64(1))

else:  # NUMBA_DISABLE_JIT=1

    def popcount(mask):
        return (int(mask) & FULL).bit_count()

    def lowest(mask):
        return (int(mask) & -int(mask)).bit_length() - 1

    def highest(mask):
        return (int(mask) & FULL).bit_length() - 1

    def reverse(mask):
        return signed(int(f"{int(mask) & FULL:064b}"[::-1], 2))

    def swap_bytes(mask):
        return signed(int.from_bytes((int(mask) & FULL).to_bytes(8, "little"), "big"))

    def down(mask, distance):
        return signed((int(mask) & FULL) >> int(distance))

    def up(mask, distance):
        return signed(int(mask) << int(distance))

    def bit(square):
        return signed(1 << int(square))

    def drop_lowest(mask):
        mask = int(mask) & FULL
        return signed(mask & (mask - 1)) if mask else 0

    def difference(mask, other):
        return signed(int(mask) - int(other))

    def fold(word, other):
        product = (int(word) & FULL) * (int(other) & FULL)
        return signed(product ^ product >> 64)

    def bits_of_float(number):
        return struct.unpack("<q", struct.pack("<d", number))[0]

    def float_of_bits(word):
        return struct.unpack("<d", struct.pack("<q", int(word)))[0]

    def mix(word):
        word = (int(word) + _GOLDEN) & FULL
        word = ((word ^ (word >> 30)) * _MIX1) & FULL
        word = ((word ^ (word >> 27)) * _MIX2) & FULL
        return word ^ (word >> 31)

    def random_word(seed, game, ply, purpose):
        word = mix(int(seed) & FULL)
        word = mix(word ^ (int(game) & FULL))
        return mix(word ^ (int(ply) << 8) ^ int(purpose)) >> 1


@kernel
def unit(word):
    """A float in [0, 1) of 63 random bits."""
    return (word >> 10) * (1.0 / (1 << 53))


@kernel
def random_unit(seed, game, ply, purpose):
    """A float in [0, 1) for this counter."""
    return unit(random_word(seed, game, ply, purpose))
