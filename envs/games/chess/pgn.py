"""PGN, Portable Game Notation (`envs/portable.py`): the files in which chess games are kept."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from deltaw.envs.errors import InputError, short
from deltaw.envs.game import GameFile
from deltaw.envs.games.chess.drawing import caption
from deltaw.envs.games.chess.notation import COLOURS
from deltaw.envs.portable import Portable

VARIANTS = ("standard", "chess", "normal", "from position", "chess960", "chess 960", "fischerandom")


def _check_variant(tags: Mapping[str, str]) -> None:
    variant = tags.get("variant", "standard")
    if variant.lower() not in VARIANTS:
        raise InputError(f"the variant is {short(variant)}; Standard and Chess960 can be read")


def _variant(start: Any) -> dict[str, str]:
    return {} if _castles_as_usual(start) else {"Variant": "Chess960"}


def _castles_as_usual(start: Any) -> bool:
    """Whether every king and rook that may castle is where chess begins with it."""
    corners, middles = 1 << 0 | 1 << 7 | 1 << 56 | 1 << 63, 1 << 4 | 1 << 60
    castling = int(start.castling) & (1 << 64) - 1  # of a signed number the bits above the board are set, too
    ranks = [rank for rank in (0xFF, 0xFF << 56) if castling & rank]
    return not castling & ~corners and all(start.kings & middles & rank for rank in ranks)


NOTATION = Portable(
    name="PGN",
    seats=COLOURS,
    results={"1-0": (1.0, -1.0), "0-1": (-1.0, 1.0), "1/2-1/2": (0.0, 0.0), "*": None},
    caption=caption,
    first_number=lambda start: start.move_number,
    check=_check_variant,
    extra_tags=_variant,
)
PGN = GameFile("Portable Game Notation, as all chess programs read and write it", NOTATION.read, NOTATION.write)
