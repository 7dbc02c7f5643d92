"""Exhaustive play-out: every game that a player can be led into, for games small enough.

The opponent tries all of his moves everywhere; the player answers with every move that is best to it, as it may choose
any of them. Counted are the *lines*, the different games from the start to an end, apart for either seat: a player that
loses none of them never loses, whoever it meets. Positions that several lines share are asked about once, and the
numbers of lines behind them added up.

Letters: W integers a state.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from deltaw.envs.errors import InputError
from deltaw.envs.game import Game
from deltaw.envs.record import Course, Event, begin, follow, initial_state, moves_of
from deltaw.envs.turn import end, value_for
from deltaw.search.players.players import Decisions

LIMIT = 200_000
"""different positions: half a minute to some minutes"""
SEATS = ("first", "second")


class Lines(NamedTuple):
    """How many lines of play end in what, for the player."""

    won: int
    drawn: int
    lost: int

    def __add__(self, other: Lines) -> Lines:  # type: ignore[override]
        return Lines(self.won + other.won, self.drawn + other.drawn, self.lost + other.lost)


class ExhaustiveResult(NamedTuple):
    """Everything that can happen to a player."""

    game: str
    player: str
    first: Lines
    """the player has the first seat"""
    second: Lines
    positions: int
    """different ones met"""

    @property
    def can_lose(self) -> bool:
        return self.first.lost + self.second.lost > 0


def play_out(
    game: Game, player: Any, *, limit: int = LIMIT, progress: Callable[[int], None] | None = None
) -> ExhaustiveResult:
    """All lines of `player`, which needs `tied` (see `search/players/players.py`), against all replies, from both
    seats; `progress` is called with the number of positions met. Raises InputError for games with chance or not for
    two, and where more than `limit` positions come up."""
    rules = game.rules
    if rules.num_players != 2 or rules.max_chance > 0:
        reason = "has chance" if rules.max_chance > 0 else f"has {rules.num_players} players"
        raise InputError(f"{game.name} {reason}: only deterministic games of two players are played out")
    if not hasattr(player, "tied"):
        raise InputError(f"{player.name} does not say which moves are equally good to it: it cannot be played out")
    outs = [_PlayOut(game, player, seat, limit, progress or (lambda done: None)) for seat in (0, 1)]
    first = outs[0].lines()
    outs[1].met = outs[0].met
    second = outs[1].lines()
    return ExhaustiveResult(game.name, player.name, first, second, outs[1].met)


class _PlayOut:
    """The lines of a player in one seat."""

    def __init__(self, game: Game, player: Any, seat: int, limit: int, progress: Callable[[int], None]) -> None:
        self.game, self.player, self.seat, self.limit, self.progress = game, player, seat, limit, progress
        self.met = 0
        self._known: dict[tuple[Any, ...], Lines] = {}

    def lines(self) -> Lines:
        """From the start."""
        return self._from(begin(self.game, initial_state(self.game)))

    def _from(self, course: Course) -> Lines:
        """Lines behind a game so far; its moves matter only where a game is broken off, and its path where positions
        may come again."""
        rules, state = self.game.rules, course.state
        over, value = end(rules, course.path, state, course.plies)
        if over:
            return ending(int(value_for(rules, state, value, self.seat)))
        key = (state, course.plies if rules.max_plies else 0, tuple(course.path))
        if key not in self._known:
            self._count()
            total = Lines(0, 0, 0)
            for move in self._moves(course):
                total = total + self._from(follow(self.game, course, Event(False, move)))
            self._known[key] = total
        return self._known[key]

    def _count(self) -> None:
        self.met += 1
        if self.met > self.limit:
            raise InputError(
                f"{self.game.name} is too large to be played out: more than {self.limit:,} positions come up "
                "(--limit allows more)"
            )
        if self.met % 100 == 0:
            self.progress(self.met)

    def _moves(self, course: Course) -> list[int]:
        """What may follow: the player's best moves, or all of the opponent's."""
        if self.game.rules.seat(course.state) == self.seat:
            row = self.game.row(course.state)[None]
            return [int(move) for move in self.player.tied(Decisions.of(row, paths=course.path[None])).moves]
        return moves_of(self.game, course)


def ending(value: int) -> Lines:
    """One line with this outcome for the player."""
    return Lines(int(value > 0), int(value == 0), int(value < 0))
