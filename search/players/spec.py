"""The text by which a person names a player: `NAME` or `NAME@SETTING=VALUE,...`.

    network                        1 ply, the first of equally good moves
    network@plies=2                2 plies, as TD-Gammon counts them
    network@ties=random            any of equally good moves, drawn by (seed, game, ply)
    network@depth=8                the engine, 8 moves deep (games with dice: expectiminimax)
    network@nodes=10000            ... as deep as 10,000 nodes reach; together with depth: whichever comes first
    network@seconds=0.1            ... as deep as a tenth of a second reaches: not repeatable
    network@algorithm=alphabeta,depth=4
    network@depth=8,quiet_plies=0  the search's own options: here the engine without quiescence
    network@book=FILE.bin,depth=8  an opening book in Polyglot format is asked first
    network@depth=8,endgames=yes   the engine, which asks the databases of endings that it finds
    equilibrium                    of a small game with hidden cards (`search/players/equilibrium_player.py`)
    uci:stockfish@elo=1400         a UCI engine, with options of its own (`search/evaluators/uci_engine.py`)
    uci:PROGRAM@seconds=0.1,skill=3

NAME is a shipped evaluator, an evaluator file, a baseline, or one of the players that `search/players/players.py`
lists.
"""

from __future__ import annotations

import math
import os
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from deltaw.envs.errors import InputError, short
from deltaw.envs.texts import whole
from deltaw.search.evaluators.named import FILES, UCI
from deltaw.search.players.how import ENGINE, UNSAID, How, Limits
from deltaw.search.tree.algorithm import find_algorithm
from deltaw.search.tree.engine import SWITCHES
from deltaw.search.tree.engine_node import Options

SEARCH_SETTINGS = ("depth", "nodes", "seconds", "algorithm")
SETTINGS = ("plies", "ties", "book", *SEARCH_SETTINGS, "endgames")
UCI_LIMITS = {"depth": "depth", "nodes": "nodes", "seconds": "seconds", "movetime": "seconds"}
"""what limits a UCI engine, by our names; everything else that is set is an option of its own"""
MOST = 1000
"""an option of a search is below this"""
RANDOM_TIES = "random"
FIRST_TIE = "first"


class PlayerSpec(NamedTuple):
    """A player, as it was named."""

    name: str
    how: How = UNSAID
    settings: str = ""
    """what stood behind the @, for the player's label (of a UCI engine: its limits; its options stay in its name)"""

    @property
    def is_uci(self) -> bool:
        return self.name.startswith(UCI)

    @property
    def label(self) -> str:
        """A short name: a file without its folder and ending."""
        name = Path(self.name).stem if self.name.endswith(FILES) else self.name
        if self.is_uci:
            name = re.sub(f"^{UCI}\\S*/", UCI, name)
        return f"{name}{',' if self.is_uci and '@' in name else '@'}{self.settings}" if self.settings else name


def parse_player(text: str) -> PlayerSpec:
    """The player that `text` names. Raises InputError for settings that do not exist or make no sense."""
    name, at, settings = text.rpartition("@")
    if not at or "=" not in settings or os.path.isfile(text):
        return PlayerSpec(text)
    values = _pairs(text, settings)
    if name.startswith(UCI):
        name, values = _split_uci(name, values)
    plies = _whole(text, values, "plies")
    limits = Limits(_whole(text, values, "depth"), _seconds(text, values), _whole(text, values, "nodes"))
    own = _options(text, values)
    if plies is not None and (own or any(key in values for key in SEARCH_SETTINGS)):
        raise InputError(f"{text}: plies and a search ({', '.join(SEARCH_SETTINGS)}) exclude each other")
    ties = values.get("ties", FIRST_TIE)
    if ties not in (RANDOM_TIES, FIRST_TIE):
        raise InputError(f"{text}: ties are broken by {FIRST_TIE} or {RANDOM_TIES}, not by {ties!r}")
    endgames = values.get("endgames", "no")
    if endgames not in ("yes", "no"):
        raise InputError(f"{text}: endgames is yes or no, not {endgames!r}")
    if endgames == "yes" and (
        values.get("algorithm", ENGINE) != ENGINE or not any(k in values for k in SEARCH_SETTINGS)
    ):
        raise InputError(f"{text}: only the engine asks databases of endings; add depth, nodes or seconds")
    kept = ",".join(f"{key}={value}" for key, value in values.items() if key != "plies")
    how = How(plies, algorithm=values.get("algorithm"), limits=limits, ties=ties == RANDOM_TIES, options=own)
    return PlayerSpec(name, how._replace(book=values.get("book", ""), endgames=endgames == "yes"), kept)


def parse_search(settings: str) -> How:
    """The search that `settings` describes, written as behind the @ of a player. Raises InputError, also where no
    search is asked for."""
    how = parse_player(f"evaluator@{settings}").how
    if not how.searches:
        raise InputError(f"{settings!r} is no search; write depth=8, or nodes=10000,ties=random")
    return how


def _split_uci(name: str, values: dict[str, str]) -> tuple[str, dict[str, str]]:
    """The engine's name with the options that are its own, and the limits, which we set."""
    ours = {UCI_LIMITS[key]: value for key, value in values.items() if key in UCI_LIMITS}
    own = ",".join(f"{key}={value}" for key, value in values.items() if key not in UCI_LIMITS)
    return f"{name}@{own}" if own else name, ours


def _pairs(text: str, settings: str) -> dict[str, str]:
    values: dict[str, str] = {}
    for setting in settings.split(","):
        key, _, value = setting.partition("=")
        if key in values:
            raise InputError(f"{text}: {key} is set twice")
        values[key] = value
    return values


def _options(text: str, values: dict[str, str]) -> tuple[tuple[str, float], ...]:
    """What is set of the search's own options: without an algorithm, of the engine's."""
    said = {key: value for key, value in values.items() if key not in SETTINGS}
    if not said:
        return ()
    algorithm = values.get("algorithm", ENGINE)
    known: Any = Options() if algorithm == ENGINE else find_algorithm(algorithm).options
    names = SWITCHES if algorithm == ENGINE else getattr(known, "_fields", ())
    return tuple((key, _number(text, key, value, known, names)) for key, value in said.items())


def _number(text: str, key: str, value: str, known: Any, names: Sequence[str]) -> float:
    if key not in names:
        own = f", and of the search {', '.join(names)}" if names else ""
        raise InputError(f"{text}: there is no setting {key!r}; there are {', '.join(SETTINGS)}{own}")
    kind = type(getattr(known, key))
    try:
        number: float = kind(value)
    except ValueError:
        number = -1
    if not 0 <= number < MOST:
        what = "a whole number" if kind is int else "a number"
        raise InputError(f"{text}: {key} is {what} from 0 to {MOST - 1}, not {short(value)}")
    return number


def _whole(text: str, values: dict[str, str], key: str) -> int | None:
    if key not in values:
        return None
    try:
        number = whole(values[key])
    except InputError as error:
        raise InputError(f"{text}: {key}: {error}") from None
    except ValueError:
        number = 0
    if number < 1:
        raise InputError(f"{text}: {key} must be a whole number of at least 1, not {values[key]!r}")
    return number


def _seconds(text: str, values: dict[str, str]) -> float | None:
    if "seconds" not in values:
        return None
    try:
        number = float(values["seconds"])
    except ValueError:
        number = math.nan
    if not 0.0 < number < math.inf:
        raise InputError(f"{text}: seconds must be a number above 0, not {values['seconds']!r}")
    return number
