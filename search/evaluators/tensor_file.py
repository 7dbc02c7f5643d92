"""Safetensors files with one JSON text beside the tensors: evaluators (`search/evaluators/evaluator.py`) and tables
(`search/databases/database.py`).

No code can hide in such a file, but its numbers may come from anybody. Here a file is refused that is cut off, too
large, too deep, or of a later format; that its numbers fit together, and the game, the callers check before a kernel
sees them.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from safetensors import SafetensorError, safe_open

from deltaw.envs.errors import InputError
from deltaw.envs.memory import check_memory
from deltaw.envs.texts import read_json

KEY = "deltaw"
"""of the JSON text in the metadata"""
NUMBERS = ("F32", "F64", "I8", "I16", "I32", "I64")
"""types of tensors that some file of this project has"""
MOST_BYTES = 1 << 26
"""of the JSON text: n-tuples of a whole network are listed in it"""

Description = TypeVar("Description")


def read_file(
    path: str | Path, kind: str, version: int, describe: Callable[[dict[str, Any]], Description]
) -> tuple[Description, dict[str, np.ndarray]]:
    """The description and the tensors of a file. Raises InputError.

    `kind`: what the file should be, for messages; `version`: the newest format that the caller reads; `describe` makes
    the description from the JSON object, and raises KeyError, TypeError or ValueError where it does not suffice.
    """
    try:
        check_memory(Path(path).stat().st_size, str(path))
        with safe_open(path, framework="numpy") as file:
            metadata = file.metadata() or {}
            numbers = {name: file.get_slice(name).get_dtype() for name in file.keys()}  # noqa: SIM118 - not a dict
            for name, number in numbers.items():
                if number not in NUMBERS:
                    raise InputError(f"{path} holds {name} of type {number}; this program reads {', '.join(NUMBERS)}")
            tensors = {name: file.get_tensor(name) for name in numbers}
    except InputError:
        raise
    except FileNotFoundError:
        raise InputError(f"there is no {kind} {path}") from None
    except (SafetensorError, OSError, ValueError) as error:  # ValueError: a shape that numpy does not have
        raise InputError(f"{path} is no {kind}, or a damaged one: {error}") from None
    if KEY not in metadata:
        raise InputError(f"{path} is no {kind}: its metadata has no key {KEY!r}")
    try:
        fields = read_json(metadata[KEY], MOST_BYTES)
    except InputError as error:
        raise InputError(f"{path} is no {kind}, or has a damaged description: {error}") from None
    try:
        _check_version(path, fields["version"], version)
        return describe(fields), tensors
    except InputError:
        raise
    except KeyError as error:
        raise InputError(f"{path} is no {kind}, or has an incomplete description: it lacks {error}") from None
    except (ValueError, TypeError) as error:
        raise InputError(f"{path} is no {kind}, or has a damaged description: {error}") from None


def _check_version(path: str | Path, found: Any, known: int) -> None:
    if type(found) is not int or found < 1:
        raise TypeError(f"version must be a whole number from 1 upwards, not {found!r}")
    if found > known:
        raise InputError(f"{path} has format version {found}; this program reads up to {known}: update it")
