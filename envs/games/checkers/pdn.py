"""PDN, Portable Draughts Notation (`envs/portable.py`): the files in which games of checkers are kept.

    [Black "Wyllie"]
    [White "Martins"]
    [Result "1/2-1/2"]

    1. 11-15 22-18 2. 15x22 25x18 ... 1/2-1/2

A result begins with the side that moves first: 1-0 says that Black has won, as the archives of checkers have it. (In
draughts of ten by ten squares White moves first.) What the rules say about the last position goes before it.
"""

from __future__ import annotations

from collections.abc import Mapping

from deltaw.envs.errors import InputError, short
from deltaw.envs.game import GameFile
from deltaw.envs.games.checkers.drawing import caption
from deltaw.envs.games.checkers.notation import COLOURS
from deltaw.envs.portable import Portable

GAME_TYPE = "21"
"""of English draughts, in the tag GameType; other numbers are other kinds of draughts"""


def _check_type(tags: Mapping[str, str]) -> None:
    kind = tags.get("gametype", GAME_TYPE)
    if kind.split(",")[0].strip() != GAME_TYPE:
        raise InputError(f"GameType is {short(kind)}; {GAME_TYPE}, English draughts, can be read")


NOTATION = Portable(
    name="PDN",
    seats=COLOURS,
    results={
        "1-0": (1.0, -1.0),
        "0-1": (-1.0, 1.0),
        "1/2-1/2": (0.0, 0.0),
        "*": None,
        "2-0": (1.0, -1.0),
        "0-2": (-1.0, 1.0),
        "1-1": (0.0, 0.0),
    },
    caption=caption,
    check=_check_type,
    extra_tags=lambda start: {"GameType": GAME_TYPE},
)
PDN = GameFile("Portable Draughts Notation, as programs for checkers read and write it", NOTATION.read, NOTATION.write)
