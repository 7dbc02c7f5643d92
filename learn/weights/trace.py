"""Eligibility traces of which few entries are not zero: those are listed, and nothing else is touched.

    e <- lambda e + grad v          the learners fade and add; here is what they fade and add to

Letters: n weights, or rows of weights that are active together.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from deltaw.envs.kernel import kernel


class Trace(NamedTuple):
    """A sparse trace."""

    value: np.ndarray
    """[n, ...]: e"""
    touched: np.ndarray
    """int32 [n]: at first `length` indices of what is not zero, in the order in which they became so"""
    known: np.ndarray
    """int8 [n]: 1 for the indices in `touched`"""
    length: np.ndarray
    """int64 [1]"""


def make_trace(shape: tuple[int, ...], dtype: Any = np.float64) -> Trace:
    """e = 0. Memory is taken from the system as it is used."""
    n = shape[0]
    return Trace(np.zeros(shape, dtype), np.zeros(n, np.int32), np.zeros(n, np.int8), np.zeros(1, np.int64))


def entries(trace: Trace) -> tuple[np.ndarray, np.ndarray]:
    """The indices [k] that are touched, and their values [k, ...]."""
    touched = trace.touched[: trace.length[0]].copy()
    return touched, trace.value[touched]


def restore_entries(trace: Trace, touched: np.ndarray, value: np.ndarray) -> None:
    """The trace becomes the one that `entries` was called with."""
    clear(trace)
    trace.touched[: len(touched)], trace.length[0] = touched, len(touched)
    trace.known[touched], trace.value[touched] = 1, value


# --- kernels ------------------------------------------------------------------------------------------------------


@kernel
def touch(trace, i):
    """The index is among those that may differ from zero from now on."""
    if not trace.known[i]:
        trace.known[i] = 1
        trace.touched[trace.length[0]] = i
        trace.length[0] += 1


@kernel
def clear(trace):
    """e = 0"""
    for k in range(trace.length[0]):
        i = trace.touched[k]
        trace.value[i] = 0.0
        trace.known[i] = 0
    trace.length[0] = 0
