"""What a knob may be, written where it is defined: `trace: Share = 0.5`, `levels: Annotated[int, Range(2, 1000)] = 9`.

OmegaConf checks the plain types. `check` reads the allowed values from the annotations, so that a bad value is refused
in one line before anything is written.
"""

from __future__ import annotations

import dataclasses
import math
import types
from typing import Annotated, Any, NamedTuple, Union, get_args, get_origin, get_type_hints

from deltaw.envs.errors import InputError


class Range(NamedTuple):
    """Finite numbers from `low` to `high`."""

    low: float
    high: float = math.inf
    above: bool = False
    """`low` itself is too small"""

    def check(self, name: str, value: float) -> None:
        if value <= self.high and value < math.inf and (value > self.low or (value == self.low and not self.above)):
            return
        if self.high < math.inf and not self.above:
            raise InputError(f"{name}={value} is outside {self.low:,.10g} .. {self.high:,.10g}")
        low = f"{'above' if self.above else 'at least'} {self.low:,.10g}"
        raise InputError(
            f"{name}={value} must be {low} and {f'at most {self.high:,.10g}' if self.high < math.inf else 'finite'}"
        )


class OneOf(NamedTuple):
    names: tuple[str, ...]

    def check(self, name: str, value: str) -> None:
        if value not in self.names:
            raise InputError(f"{name}={value!r} is not one of {', '.join(self.names)}")


Share = Annotated[float, Range(0.0, 1.0)]
"""a chance or a part of something"""
Positive = Annotated[float, Range(0.0, above=True)]
NotNegative = Annotated[float, Range(0.0)]
MOST = 1_000_000
"""of what takes memory, each: far more than is of use"""
Count = Annotated[int, Range(1, MOST)]
CountOrZero = Annotated[int, Range(0, MOST)]
SlotCount = Annotated[int, Range(1, 65_536)]
"""games side by side, each with its history"""
Seed = Annotated[int, Range(0, 2**63 - 1)]


def check(options: Any, prefix: str = "learner.") -> None:
    """Raises InputError for the first knob of a dataclass, nested ones included, that its annotation does not allow."""
    hints = get_type_hints(type(options), include_extras=True)
    for knob in dataclasses.fields(options):
        _check(prefix + knob.name, getattr(options, knob.name), hints[knob.name])


def _check(name: str, value: Any, hint: Any) -> None:
    kind, inner = get_origin(hint), get_args(hint)
    if dataclasses.is_dataclass(value):
        check(value, f"{name}.")
    elif kind is Annotated:
        for limit in hint.__metadata__:
            limit.check(name, value)
    elif kind in (Union, types.UnionType) and value is not None:
        for one in inner:
            _check(name, value, one)
    elif kind is list:
        for number, item in enumerate(value):
            _check(f"{name}[{number}]", item, inner[0])
