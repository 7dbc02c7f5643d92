"""Checkpoints, from which a run continues exactly where it was.

A checkpoint is written completely or not at all, in a folder that one process has for itself. Reading it runs no code:
`torch.load` stays in its safe mode, since a checkpoint holds tensors, numbers, texts and plain containers of them.
"""

from __future__ import annotations

import contextlib
import io
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import torch
from filelock import FileLock, Timeout

from deltaw.envs.errors import InputError
from deltaw.search.evaluators.evaluator import write_whole

VERSION = 1
LOCK = ".lock"
"""file of a run's folder; it stays there, empty: if it were removed, two processes could lock two files of this name"""


@contextlib.contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Locks the run's folder for this process, which may enter it again. Raises InputError if another process has it.
    The lock ends with the process, however that ends."""
    lock = FileLock(folder.resolve() / LOCK, is_singleton=True)
    try:
        lock.acquire(blocking=False)
    except Timeout:
        raise InputError(f"{folder} is in use by another process; wait for its end, or name another folder") from None
    except OSError as error:
        raise InputError(f"cannot write to {folder}: {error.strerror or error}") from None
    try:
        yield
    finally:
        lock.release()


def save_checkpoint(path: Path, state: dict[str, Any]) -> None:
    """Replace the checkpoint at `path`; raises InputError (full disk, no permission) and then leaves the old one."""
    buffer = io.BytesIO()
    torch.save({"version": VERSION, **state}, buffer)
    write_whole(path, buffer.getvalue())


def load_checkpoint(path: Path) -> dict[str, Any]:
    """Read a checkpoint; raises InputError if it is damaged or of a newer version."""
    try:
        state = torch.load(path, map_location="cpu", weights_only=True)
    except Exception as error:  # damaged bytes can make the unpickler raise anything
        reason = (str(error) or type(error).__name__).splitlines()[0]
        raise InputError(f"{path} is no checkpoint, or a damaged one: {reason}") from None
    if not isinstance(state, dict) or not {"version", "settings", "learner"} <= state.keys():
        raise InputError(f"{path} is no checkpoint of a training run")
    if state["version"] > VERSION:
        raise InputError(f"{path} has version {state['version']}; this program reads up to {VERSION}: update it")
    return state


def differing_keys(old: dict[str, Any], new: dict[str, Any], prefix: str = "") -> list[str]:
    """Dotted names of the settings in which two configurations differ, with both values."""
    lines = []
    for key in sorted({*old, *new}):
        a, b = old.get(key), new.get(key)
        if isinstance(a, dict) and isinstance(b, dict):
            lines += differing_keys(a, b, f"{prefix}{key}.")
        elif a != b:
            lines.append(f"{prefix}{key}: {a!r} then, {b!r} now")
    return lines
