"""Numbers and JSON that strangers wrote: read within limits, so that no text can do more than be refused."""

from __future__ import annotations

import json
import math
import re
from typing import Any

from deltaw.envs.errors import InputError, short

MOST_BYTES = 1 << 20
"""of JSON, unless a caller says otherwise"""
DEEPEST = 32
"""lists and objects of JSON inside each other; some hundreds would be too many for Python to write back"""
WHOLE = range(-(1 << 63), 1 << 63)
"""what an int64 can hold"""
MOST_DIGITS = 40
"""characters of a whole number, signs, spaces and leading zeros included: `int` refuses more than 4,300 digits in words
of its own"""

_MARKS = re.compile(r'"[^"\\]*(?:\\.[^"\\]*)*"?|[\[{]|[\]}]', re.DOTALL)
"""strings of JSON, which may hold brackets, and the brackets outside of them"""


def whole(text: str) -> int:
    """The whole number that `text` is, as Python's `int` reads it. Raises ValueError, and for what has no room in 64
    bits InputError."""
    if len(text) > MOST_DIGITS or int(text) not in WHOLE:
        raise InputError(f"{short(text)} is no whole number of 64 bits")
    return int(text)


def read_json(text: str | bytes, most: int = MOST_BYTES) -> Any:
    """What the JSON `text` says. Raises InputError for what is no JSON, for more than `most` bytes or DEEPEST levels,
    and for numbers that are not finite or whole and beyond 64 bits."""
    if len(text) > most:
        raise InputError(f"the JSON is longer than {most} bytes")
    try:
        text = text.decode("utf-8") if isinstance(text, bytes) else text
    except UnicodeDecodeError:
        raise InputError("the JSON is not UTF-8") from None
    if _depth(text) > DEEPEST:
        raise InputError(f"{short(text.strip())} is nested more than {DEEPEST} levels deep")
    try:
        return json.loads(text, parse_constant=_finite, parse_float=_finite, parse_int=whole)
    except json.JSONDecodeError as error:
        raise InputError(f"{short(text.strip())} is not JSON: {error.msg}") from None
    except ValueError as error:
        raise InputError(f"{short(text.strip())} cannot be read: {error}") from None


def _depth(text: str) -> int:
    depth = deepest = 0
    for mark in _MARKS.findall(text):
        depth += (mark in "[{") - (mark in "]}")
        deepest = max(deepest, depth)
    return deepest


def _finite(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise ValueError(f"{short(text)} is no finite number")
    return number
