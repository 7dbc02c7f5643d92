"""`@kernel`: Numba compilation whose disk cache can be trusted.

Numba's own `cache=True` fails a library of game rules in two ways. It looks at the date of one
file, so a cached search goes on playing the rules of yesterday; and a compiled function that
is *passed* to another one (as every game is passed to every search here) gets a random identity in
each process, so nothing is ever found again. Here a kernel's identity is a hash of

    its bytecode and constants (but not its docstring), its closure, the global constants it reads,
    and the identities of the kernels it calls,

computed when it is first needed (so kernels may call others defined further down), and a cache entry's file
name is a hash of that identity, the argument types (a passed kernel counts by its identity), the
processor, and the versions of Python and Numba. An edited rule changes the name: stale code cannot be found,
an unrelated game is not recompiled, and no running process loses a file it may still load.

The cache is code: whoever can write to its folder decides what we run. So the folder and every folder above it must
belong to the user or to root, and nobody else may write to them; anything else is refused. Above the cache's own folder
the sticky bit is enough, as /tmp has it. What is missing of the path is created with mode 0700.

What a kernel must obey (each point is a crash or a silent error otherwise):

- a recursive kernel is called from outside with exactly the argument types of its inner call:
  `np.int64(0)`, never a literal `0` (numba issue 6061);
- two kernels must not call each other in a circle: found in the cache, they crash the next process (`inline="always"`
  on one of them makes it one kernel that calls itself);
- every integer that crosses between Python and a kernel is an int64;
- the same source must run interpreted, with `NUMBA_DISABLE_JIT=1`.
"""

from __future__ import annotations

import contextlib
import dis
import enum
import functools
import hashlib
import io
import operator
import os
import pickle
import platform
import stat
import sys
import time
import types as python_types
import weakref
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numba
import numpy as np
from numba import njit, types
from numba.core import compiler, config
from numba.core.caching import _Cache
from numba.core.dispatcher import Dispatcher
from numba.core.serialize import NumbaPickler

from deltaw.envs.errors import InputError

FORMAT = 2
"""Of an entry; counts up when what is written changes, and every older entry is out of sight."""

UNUSED_DAYS = 60
"""Entries that nobody has loaded for so long are deleted when a process first saves one."""

LOAD_CONST = dis.opmap["LOAD_CONST"]

JIT = not config.DISABLE_JIT
"""False when `NUMBA_DISABLE_JIT=1`: kernels are then plain Python functions."""

_identities: weakref.WeakKeyDictionary[Dispatcher, str] = weakref.WeakKeyDictionary()
_locals: weakref.WeakKeyDictionary[Dispatcher, tuple[str, list[Dispatcher]]] = weakref.WeakKeyDictionary()
_kernels: weakref.WeakValueDictionary[str, Dispatcher] = weakref.WeakValueDictionary()


def kernel(function: Callable | None = None, *, fastmath: bool | set[str] = False, inline: str = "never") -> Any:
    """Compile `function` with Numba, without the GIL, cached on disk by content.

    `fastmath` is for kernels that sum floats and whose last bit nobody compares; `inline="always"`
    inlines at Numba's level, which pays for functions that return a large tuple.
    """

    def decorate(python_function: Callable) -> Any:
        compiled = njit(
            nogil=True,
            error_model="numpy",
            fastmath=fastmath,
            inline=inline,
            no_cfunc_wrapper=True,  # a copy for C callers, of whom there are none: a tenth of the time to compile
        )(python_function)
        if JIT:
            compiled._cache = KernelCache(compiled)
        return compiled

    return decorate(function) if function is not None else decorate


def cache_folder() -> Path:
    """Where compiled kernels are kept: below `$NUMBA_CACHE_DIR`, or in the user's cache folder. Raises InputError where
    others may write to it."""
    if config.CACHE_DIR:
        return _trusted(Path(config.CACHE_DIR) / "deltaw")
    base = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    return _trusted(Path(base) / "deltaw" / "kernels")


@functools.cache
def _trusted(wanted: Path) -> Path:
    """The folder without symbolic links, created where it is missing; looked at once a process."""
    folder = wanted.resolve()
    with contextlib.suppress(OSError):  # a folder that cannot be had costs a compilation next time, nothing else
        for part in [*reversed(folder.parents), folder]:
            part.mkdir(mode=0o700, exist_ok=True)
            if hasattr(os, "getuid"):
                _check_owner(part.stat(), part, last=part == folder)
    return folder


def _check_owner(found: os.stat_result, part: Path, *, last: bool) -> None:
    writable = found.st_mode & (stat.S_IWGRP | stat.S_IWOTH) and (last or not found.st_mode & stat.S_ISVTX)
    if writable or found.st_uid not in (0, os.getuid()):
        why = "others may write to it" if writable else f"it belongs to another user (number {found.st_uid})"
        raise InputError(
            f"compiled kernels are not kept in {part}: {why}, and who writes there decides what runs here; "
            "let NUMBA_CACHE_DIR name a folder that only you can write to"
        )


# --- identity -------------------------------------------------------------------------------------------


def identity(compiled: Dispatcher) -> str:
    """Hex digest of everything the kernel's machine code depends on, except its argument types."""
    known = _identities.get(compiled)
    if known is None:
        reached = [compiled]  # every kernel that this one can call, in the order in which they are met
        parts = []
        for caller in reached:  # grows while it is walked
            text, called = _local(caller)
            for callee in called:
                if callee not in reached:
                    reached.append(callee)
            parts.append(f"{text}:{[reached.index(callee) for callee in called]}")
        known = hashlib.sha256("|".join(parts).encode()).hexdigest()
        _identities[compiled] = known
        # Numba builds symbol names from the qualified name and a counter. With the identity in the name, machine
        # code from another process can never be linked in place of another kernel of the same name.
        compiled.py_func.__qualname__ = f"{compiled.py_func.__code__.co_qualname}.{known[:16]}"
    _kernels[known] = compiled
    return known


def _local(compiled: Dispatcher) -> tuple[str, list[Dispatcher]]:
    """A digest of the kernel's own code and constants, and the kernels it names, in order."""
    known = _locals.get(compiled)
    if known is None:
        called: list[Dispatcher] = []
        options = sorted((name, _describe(option, called)) for name, option in compiled.targetoptions.items())
        text = f"{options}:{_describe_function(compiled.py_func, called)}"
        known = _locals[compiled] = (text, called)
    return known


def _describe_function(function: Callable, called: list[Dispatcher]) -> str:
    code = function.__code__
    names = sorted(_names(code))
    defaults = (function.__defaults__, *sorted((function.__kwdefaults__ or {}).items()))
    parts = [code.co_qualname, _describe_code(code, function.__doc__), _describe(defaults, called)]
    parts += _describe_names("", function.__globals__, names, called, [])
    for name, cell in zip(code.co_freevars, function.__closure__ or (), strict=True):
        parts.append(f"{name}={_describe(cell.cell_contents, called)}")
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()


def _describe_names(
    prefix: str, scope: dict[str, Any], names: list[str], called: list[Dispatcher], above: list[Any]
) -> list[str]:
    """`names` in a module's `scope`, and in the modules among them: kernels may say `package.module.CONSTANT`."""
    parts = []
    for name in names:
        if name in scope:
            value = scope[name]
            parts.append(f"{prefix}{name}={_describe(value, called)}")
            if isinstance(value, python_types.ModuleType) and value not in above:
                parts += _describe_names(f"{prefix}{name}.", vars(value), names, called, [*above, value])
    return parts


def _names(code: python_types.CodeType) -> set[str]:
    nested = [c for c in code.co_consts if isinstance(c, python_types.CodeType)]
    return set(code.co_names).union(*(_names(c) for c in nested))


def _describe_code(code: python_types.CodeType, docstring: str | None = None) -> str:
    """`docstring` is the first constant of a function that has one. It is left out, unless the code loads it."""
    constants = [
        _describe_code(c) if isinstance(c, python_types.CodeType) else _describe(c, []) for c in code.co_consts
    ]
    words = zip(code.co_code[::2], code.co_code[1::2], strict=True)
    if docstring is not None and (LOAD_CONST, 0) not in words:
        constants[0] = "docstring"
    return f"{code.co_code.hex()}:{constants}:{code.co_names}:{code.co_varnames}"


def _describe(value: Any, called: list[Dispatcher]) -> str:
    """A text that differs whenever Numba would compile `value` to something else; kernels go to `called`."""
    if isinstance(value, Dispatcher):
        called.append(value)
        return "kernel"
    if isinstance(value, np.ndarray):
        return f"array:{value.dtype}:{value.shape}:{hashlib.sha256(np.ascontiguousarray(value).tobytes()).hexdigest()}"
    if isinstance(value, (tuple, list)):
        return f"{type(value).__qualname__}({','.join(_describe(v, called) for v in value)})"
    if isinstance(value, (set, frozenset)):
        return f"set({sorted(_describe(v, called) for v in value)})"
    if isinstance(value, enum.EnumMeta):
        members: dict[str, Any] = dict(value.__members__)
        return f"enum:{value.__qualname__}:{[(name, member.value) for name, member in members.items()]}"
    if isinstance(value, type):
        return f"class:{value.__module__}.{value.__qualname__}:{getattr(value, '_fields', '')}"
    if isinstance(value, python_types.ModuleType):
        return f"module:{value.__name__}:{getattr(value, '__version__', '')}"
    if isinstance(value, python_types.FunctionType):
        # Kernels can call plain functions only through Numba's own support for them: no look inside is needed.
        return f"function:{value.__module__}.{value.__qualname__}"
    if hasattr(value, "_defn"):  # an @intrinsic
        return f"intrinsic:{_describe_code(value._defn.__code__)}"
    if value is None or isinstance(value, (bool, int, float, complex, str, bytes, np.generic)):
        return f"{type(value).__name__}:{value!r}"
    return f"{type(value).__module__}.{type(value).__qualname__}:{getattr(value, '__qualname__', '')}"


def _describe_type(kind: types.Type) -> str:
    """Like `str(kind)`, with every kernel inside named by its identity instead of its address."""
    if isinstance(kind, types.Dispatcher):
        return identity(kind.dispatcher)
    if isinstance(kind, types.BaseNamedTuple):
        return f"{_describe(kind.instance_class, [])}({','.join(map(_describe_type, kind.types))})"
    if isinstance(kind, types.BaseTuple):
        return f"({','.join(map(_describe_type, kind.types))})"
    return str(kind)


# --- the cache ------------------------------------------------------------------------------------------


def _of_a_script(kind: types.Type) -> bool:
    """Whether a tuple type is, or contains, a NamedTuple of the program that was started."""
    named = isinstance(kind, types.BaseNamedTuple) and kind.instance_class.__module__ == "__main__"
    return named or (isinstance(kind, types.BaseTuple) and any(map(_of_a_script, kind.types)))


class _EntryPickler(NumbaPickler):
    """Writes kernels inside argument types as their identities, and classes of a script by their names: an entry holds
    no one else's code."""

    def persistent_id(self, thing: Any) -> str | tuple[str, ...] | None:
        if isinstance(thing, Dispatcher):
            return identity(thing)
        # Numba would write such a class by value. The copy that is read back is another type than the script's: no call
        # would ever match the loaded code, and every call would load it again.
        if isinstance(thing, type) and thing.__module__ == "__main__":
            return (thing.__qualname__, *getattr(thing, "_fields", ()))
        return None


class _EntryUnpickler(pickle.Unpickler):
    def persistent_load(self, name: str | tuple[str, ...]) -> Any:
        if isinstance(name, str):
            return _kernels[name]  # describing the wanted signature has just registered all of its kernels
        found = operator.attrgetter(name[0])(sys.modules["__main__"])
        if getattr(found, "_fields", ()) != name[1:]:
            raise ValueError("a class that has changed")
        return found


class KernelCache(_Cache):
    """One file an entry, named by content: see the module's docstring."""

    _noticed = False
    _pruned = False

    def __init__(self, compiled: Dispatcher) -> None:
        self._compiled = weakref.ref(compiled)
        self._enabled = True

    @property
    def cache_path(self) -> str:
        return str(cache_folder())

    def enable(self) -> None:
        self._enabled = True

    def disable(self) -> None:
        self._enabled = False

    def flush(self) -> None:
        """Nothing to do: entries are never found under a wrong name."""

    def load_overload(self, signature: Any, target_context: Any) -> Any:
        target_context.refresh()
        path = self._path(signature, target_context.codegen())
        entry = self._read(path, target_context) if self._enabled else None
        if entry is None:
            self._notice()
        return entry

    def _read(self, path: Path, target_context: Any) -> Any:
        """The compiled code in this file; None where there is none. A damaged entry is a missing one: it will be
        written again."""
        try:
            data = path.read_bytes()
        except OSError:
            return None
        with contextlib.suppress(OSError):  # the folder may be readable only
            os.utime(path)
        try:
            return compiler.CompileResult._rebuild(target_context, *self._decode(data))
        except Exception:  # whatever a strange pickle raises
            with contextlib.suppress(OSError):
                path.unlink()
            return None

    def save_overload(self, signature: Any, result: Any) -> None:
        if not self._enabled or result.lifted or result.library.has_dynamic_globals:
            return
        if _of_a_script(result.signature.return_type):
            # machine code that makes such a tuple has a copy of its class inside: another type than the next run's
            return
        path = self._path(signature, result.codegen)
        # A folder that cannot be written costs a compilation next time, nothing else.
        with contextlib.suppress(OSError):
            draft = path.with_suffix(f".{os.getpid()}.{time.monotonic_ns()}")
            draft.write_bytes(self._encode(result._reduce()))
            os.replace(draft, path)
            self._prune(path.parent)

    def _path(self, signature: Any, codegen: Any) -> Path:
        compiled = self._compiled()
        assert compiled is not None
        settings = (config.OPT, config.BOUNDSCHECK, config.DEBUGINFO_DEFAULT)
        machine = (FORMAT, numba.__version__, sys.version_info[:3], platform.machine(), codegen.magic_tuple(), settings)
        text = f"{identity(compiled)}|{','.join(map(_describe_type, signature))}|{machine}"
        return cache_folder() / f"{compiled.py_func.__name__}-{hashlib.sha256(text.encode()).hexdigest()[:32]}.kernel"

    @staticmethod
    def _encode(entry: Any) -> bytes:
        buffer = io.BytesIO()
        _EntryPickler(buffer, protocol=4).dump(entry)
        body = buffer.getvalue()
        return hashlib.sha256(body).digest() + body

    @staticmethod
    def _decode(data: bytes) -> Any:
        digest, body = data[:32], data[32:]
        if hashlib.sha256(body).digest() != digest:
            raise ValueError("damaged cache entry")
        return _EntryUnpickler(io.BytesIO(body)).load()

    def _notice(self) -> None:
        """Say once a process why the first answer takes so long."""
        if not KernelCache._noticed:
            KernelCache._noticed = True
            print(f"compiling for this machine, once (kept in {cache_folder()}) ...", file=sys.stderr, flush=True)

    @classmethod
    def _prune(cls, folder: Path) -> None:
        if cls._pruned:
            return
        cls._pruned = True
        oldest = time.time() - UNUSED_DAYS * 86400
        for path in folder.iterdir():
            with contextlib.suppress(OSError):
                if path.stat().st_mtime < oldest:
                    path.unlink()
