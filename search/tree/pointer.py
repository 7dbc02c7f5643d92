"""Arrays as recursive kernels carry them: a bare pointer.

Numba passes an array as seven words and counts its references, atomically, wherever a kernel has more than a few exits:
a third of the time of a search that takes 70 ns a node. `pointer_to(array)` is one word and is not counted. It is
indexed like a one-dimensional array, by numbers from 0. Nothing is checked, and the caller must keep the array alive:
take the pointer in the kernel that was given the array, and never return or store it.
"""

from __future__ import annotations

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from deltaw.envs.kernel import JIT

if JIT:

    @intrinsic
    def pointer_to(typingctx, array):
        """A pointer to the first number of a C-contiguous array of any shape."""
        if not isinstance(array, types.Array) or array.layout != "C":
            return None

        def codegen(context, builder, signature, args):
            return context.make_array(signature.args[0])(context, builder, args[0]).data

        return types.CPointer(array.dtype)(array), codegen

    @intrinsic
    def prefetch(typingctx, pointer, index):
        """Starts to load the cache line of pointer[index], to be read soon; nobody waits for it."""

        def codegen(context, builder, signature, args):
            byte, number = ir.IntType(8).as_pointer(), ir.IntType(32)
            kind = ir.FunctionType(ir.VoidType(), [byte, number, number, number])
            function = cgutils.get_or_insert_function(builder.module, kind, "llvm.prefetch.p0i8")
            address = builder.bitcast(builder.gep(args[0], [args[1]]), byte)
            builder.call(function, [address, number(0), number(3), number(1)])  # to read; into all caches; data
            return context.get_dummy_value()

        return types.none(pointer, index), codegen

else:  # NUMBA_DISABLE_JIT=1

    def pointer_to(array):
        return array.reshape(-1)

    def prefetch(pointer, index):
        """Nothing to hurry."""
