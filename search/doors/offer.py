"""What a program or a page may ask for: games, and the players of each by name.

The list is made once, from names and files given on a command line. A request can only name what is on the list, and no
text of a request is ever opened as a file.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from deltaw.envs import games
from deltaw.envs.errors import InputError, short
from deltaw.envs.game import Baseline, Game
from deltaw.search.evaluators.evaluator import Evaluator, load_evaluator
from deltaw.search.evaluators.named import DEFAULT, FILES, ONNX, UCI, find_evaluator, shipped
from deltaw.search.evaluators.onnx_file import OnnxEvaluator, load_onnx
from deltaw.search.evaluators.uci_engine import UciEngine
from deltaw.search.players.how import How
from deltaw.search.players.spec import parse_player


class Offered(NamedTuple):
    """A player of one game."""

    name: str
    """as requests name it: a file without its folder and ending"""
    description: str
    game: Game
    evaluator: Evaluator | Baseline | OnnxEvaluator | UciEngine
    how: How
    """as it was named; a request may wish otherwise"""


class Offer(NamedTuple):
    """Games and their players, the first of each being the default."""

    games: dict[str, Game]
    players: dict[str, dict[str, Offered]]

    def game(self, name: str) -> Game:
        if name not in self.games:
            raise InputError(f"there is no game {short(name)} here; there are: {', '.join(self.games)}")
        return self.games[name]

    def player(self, game: str, name: str | None) -> Offered:
        """The player called `name`, or the game's first; raises InputError."""
        known = self.players[game]
        if not known:
            raise InputError(f"{game} has no player yet: train one, and start again with its file")
        if name is None:
            return next(iter(known.values()))
        if name not in known:
            raise InputError(f"there is no player {short(name)} of {game} here; there are: {', '.join(known)}")
        return known[name]


def make_offer(names: Sequence[str], players: Sequence[str] = ()) -> Offer:
    """The offer of these games, each with those of `players` that play it, written as `search/players/spec.py` says. A
    game for which there are none has its shipped evaluators and its baselines.

    Raises InputError for unknown games and players, and for a player that plays none of the games.
    """
    known = {name: games.load(name) for name in names}
    offered: dict[str, dict[str, Offered]] = {name: {} for name in known}
    for text in players:
        _add(offered, text, _matching(known.values(), text))
    for name, game in known.items():
        if not offered[name]:
            for text in _usual(game):
                _add(offered, text, [(game, find_evaluator(game, text))])
    return Offer(known, offered)


def _add(offered: dict[str, dict[str, Offered]], text: str, found: Iterable[tuple[Game, Any]]) -> None:
    spec = parse_player(text)
    if spec.how.ties:
        raise InputError(f"{text}: ties are broken at random in matches only; here the first of equal moves is played")
    if spec.how.book:
        raise InputError(f"{text}: opening books are for matches and `deltaw uci`; here every position is judged")
    name = (Path(spec.name).stem if spec.name.endswith(FILES) else spec.name) + text.removeprefix(spec.name)
    name = spec.label if spec.is_uci else name
    for game, evaluator in found:
        if name in offered[game.name]:
            raise InputError(f"two players of {game.name} are called {name}: give one of the files another name")
        offered[game.name][name] = Offered(name, describe(evaluator), game, evaluator, spec.how)


def _usual(game: Game) -> list[str]:
    """Shipped evaluators and baselines, the default first. With more than two players: the baselines that value the
    position for every player."""
    names = sorted(shipped(game), key=lambda name: name != DEFAULT)
    wanted = ("payoffs",) if game.rules.num_players > 2 else ("value", "rank")
    return [*names, *(name for name, baseline in game.baselines.items() if baseline.kind in wanted)]


def _matching(known: Iterable[Game], text: str) -> list[tuple[Game, Any]]:
    """The games that the player `text` plays, each with the evaluator. Raises InputError if there are none."""
    name, known = parse_player(text).name, list(known)
    named = [game for game in known if name in game.baselines or name in shipped(game)]
    if name.startswith(UCI):
        named = [game for game in known if game.name == "chess"] or known[:1]
    if named:
        return [(game, find_evaluator(game, name)) for game in named]
    if not (os.path.exists(name) or name.endswith(FILES)):
        find_evaluator(known[0], name)  # raises, with the names that there are
    evaluator = load_onnx(name) if name.endswith(ONNX) else load_evaluator(name)
    game = next((game for game in known if game.name == evaluator.game.name), None)
    if game is None:
        raise InputError(
            f"{name} evaluates {evaluator.game.name}, which is not among: {', '.join(g.name for g in known)}"
        )
    return [(game, evaluator)]


def describe(evaluator: Evaluator | Baseline | OnnxEvaluator | UciEngine) -> str:
    """A phrase about a player, which names no file."""
    if isinstance(evaluator, Baseline):
        ranks = "; it only ranks moves" if evaluator.kind == "rank" else ""
        return f"handmade: {evaluator.about}{ranks}"
    if isinstance(evaluator, OnnxEvaluator):
        return "a network in an ONNX file"
    if isinstance(evaluator, UciEngine):
        return "another program, which speaks UCI"
    description = evaluator.description
    kinds = {"mlp": "network", "linear": "linear evaluator", "ntuple": "n-tuple network"}
    sizes = "-".join(map(str, description.sizes))
    learned = description.trained.get("games")
    how = f", learned from {learned:,} games" if isinstance(learned, int) else ""
    return f"{kinds[description.kind]} {sizes}{how}"
