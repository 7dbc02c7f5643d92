"""Bit tricks and counter-based random numbers, the same compiled and interpreted.

Masks are non-negative int64 below 2^63: signed and unsigned then agree on every operation used here, and no
uint64 crosses the border to Python (where it would come back as a signed int).
"""

from __future__ import annotations

import struct

import numpy as np
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
_WORD = (1 << 64) - 1

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
        return (int(mask) & _WORD).bit_count()

    def lowest(mask):
        return (int(mask) & -int(mask)).bit_length() - 1

    def highest(mask):
        return int(mask).bit_length() - 1

    def reverse(mask):
        word = int(f"{int(mask) & _WORD:064b}"[::-1], 2)
        return word - (1 << 64) if word >> 63 else word

    def bits_of_float(number):
        return struct.unpack("<q", struct.pack("<d", number))[0]

    def float_of_bits(word):
        return struct.unpack("<d", struct.pack("<q", int(word)))[0]

    def mix(word):
        word = (int(word) + _GOLDEN) & _WORD
        word = ((word ^ (word >> 30)) * _MIX1) & _WORD
        word = ((word ^ (word >> 27)) * _MIX2) & _WORD
        return word ^ (word >> 31)

    def random_word(seed, game, ply, purpose):
        word = mix(int(seed) & _WORD)
        word = mix(word ^ (int(game) & _WORD))
        return mix(word ^ (int(ply) << 8) ^ int(purpose)) >> 1


@kernel
def unit(word):
    """A float in [0, 1) of 63 random bits."""
    return (word >> 10) * (1.0 / (1 << 53))


@kernel
def random_unit(seed, game, ply, purpose):
    """A float in [0, 1) for this counter."""
    return unit(random_word(seed, game, ply, purpose))
