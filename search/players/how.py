"""How positions are judged: by plies or by a search. Command lines, players' texts and requests say it by a `How`."""

from __future__ import annotations

from typing import Any, NamedTuple

from deltaw.envs.errors import InputError
from deltaw.envs.game import Baseline, Game, meets_chance
from deltaw.search.evaluators.evaluator import Evaluator
from deltaw.search.evaluators.named import only_by_plies
from deltaw.search.evaluators.onnx_file import OnnxEvaluator
from deltaw.search.evaluators.uci_engine import UciEngine
from deltaw.search.players.plies import CANDIDATES, MARGIN

ENGINE = "engine"


class Limits(NamedTuple):
    """What a search may use; None: not limited."""

    depth: int | None = None
    seconds: float | None = None
    nodes: int | None = None


NO_LIMITS = Limits()


class How(NamedTuple):
    """By plies (`search/players/plies.py`), or by a search (`search/players/searching_player.py`) where an algorithm or
    a limit is given."""

    plies: int | None = None
    """1 or 2; None: not said"""
    candidates: int = CANDIDATES
    """moves that a second ply looks at; 0: all"""
    margin: float = MARGIN
    """and how much worse than the best at 1 ply they may be, in outcome units"""
    algorithm: str | None = None
    """"engine", "alphabeta" ...; None: what fits the game"""
    limits: Limits = NO_LIMITS
    ties: bool = False
    """a player draws one of equally good moves by (seed, game, ply); else it plays the first"""
    options: tuple[tuple[str, float], ...] = ()
    """(name, value) of options of the algorithm that differ from its own"""
    book: str = ""
    """file of an opening book (`search/databases/polyglot.py`) that is asked first"""
    endgames: bool = False
    """the engine asks the game's databases of endings (`search/databases/endings.py`)"""

    @property
    def searches(self) -> bool:
        return self.algorithm is not None or self.limits != NO_LIMITS or bool(self.options)

    def or_plies(self, plies: int) -> How:
        """This, by so many plies where nothing was said."""
        return self if self.searches or self.plies is not None else self._replace(plies=plies)


UNSAID = How()


def check_plies(plies: int) -> None:
    """InputError for plies that nobody looks ahead."""
    if plies not in (1, 2):
        raise InputError(f"players look 1 or 2 plies ahead, not {plies}")


def settle(game: Game, evaluator: Evaluator | Baseline | OnnxEvaluator | UciEngine, how: How, plies: int) -> How:
    """`how` without open questions. Where nothing was said, games of chance and evaluators that cannot search go by so
    many plies (those that only rank moves by 1), other games by a search."""
    if not how.searches and (how.plies is not None or game.rules.max_chance > 0 or only_by_plies(evaluator)):
        return how.or_plies(1 if isinstance(evaluator, Baseline) and evaluator.kind == "rank" else plies)
    return how._replace(plies=None, algorithm=how.algorithm or default_algorithm(game))


def default_algorithm(game: Game) -> str:
    """The algorithm that fits the game: the engine, expectiminimax with chance, max^n for more than two players."""
    if game.rules.num_players > 2:
        return "max_n"
    return "expectiminimax" if meets_chance(game.rules) else ENGINE


def read_how(options: Any, candidates: int = CANDIDATES) -> How:
    """What the options of a command line say; `candidates` where they say nothing. Raises InputError for plies together
    with a search."""
    said = {name: getattr(options, name, None) for name in ("plies", "candidates", "algorithm", *Limits._fields)}
    how = How(
        said["plies"] or (1 if said["candidates"] else None),
        said["candidates"] or candidates,
        algorithm=said["algorithm"],
        limits=Limits(*(said[name] for name in Limits._fields)),
    )
    if how.searches and how.plies is not None:
        texts = [f"--{name} {value}" for name, value in said.items() if value is not None]
        raise InputError(f"{', '.join(texts)}: plies and a search exclude each other")
    return how
