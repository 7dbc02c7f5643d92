"""Games of any players, kept in a file.

Players take turns at moving first. With the same seed these are the games that `deltaw arena` plays: those of a pair
have the same dice, or the same random opening. The ending of the file's name decides the format (`envs/record.py`);
`deltaw analyze GAME --match FILE` reviews them.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from deltaw.envs.bits import OPENING
from deltaw.envs.errors import InputError
from deltaw.envs.game import Game
from deltaw.envs.record import Course, Event, GameRecord, begin, follow, initial_state, is_over, payoffs_of
from deltaw.envs.turn import pick_chance, random_move
from deltaw.search.matches.match import default_opening_plies
from deltaw.search.players.players import Decisions, Player

TOGETHER = 16
"""games side by side: players answer in batches, and finished games are kept if the run is broken off"""


class Progress(NamedTuple):
    """A game being played."""

    number: int
    course: Course


def play_games(
    game: Game,
    players: Sequence[Player],
    games_wanted: int,
    seed: int = 0,
    opening_plies: int | None = None,
    *,
    finished: list[GameRecord] | None = None,
    progress: Callable[[int], None] | None = None,
) -> list[GameRecord]:
    """Records of games in the order of their numbers; player i has seat (i + number) mod P. `opening_plies` None: 2
    without chance, else 0. `finished` is filled as games end, should this be broken off. Raises InputError for a wrong
    number of players or games."""
    _check(game, players, games_wanted, seed)
    opening = default_opening_plies(game) if opening_plies is None else opening_plies
    waiting = iter(range(games_wanted))
    running: list[Progress] = []
    done: list[GameRecord] = [] if finished is None else finished
    numbers: list[int] = []
    while len(done) < games_wanted:
        free = itertools.islice(waiting, TOGETHER - len(running))
        running += [Progress(number, open_game(game, number, seed, opening)) for number in free]
        group = game.rules.num_players
        running = [Progress(n, roll(game, course, n // group, seed)) for n, course in running]
        over = [now for now in running if is_over(game, now.course)]
        for now in over:
            done.append(_record(game, players, now))
            numbers.append(now.number)
        running = _decide(game, players, [now for now in running if not is_over(game, now.course)], seed)
        if progress is not None:
            progress(len(done))
    return [done[i] for i in np.argsort(numbers)]


def _check(game: Game, players: Sequence[Player], games_wanted: int, seed: int) -> None:
    if len(players) != game.rules.num_players:
        raise InputError(f"{game.name} is played by {game.rules.num_players}, not by {len(players)}")
    if games_wanted < 1:
        raise InputError(f"at least 1 game, not {games_wanted}")
    if not 0 <= seed < 1 << 63:
        raise InputError(f"the seed must be at least 0 and below 2^63, not {seed}")


def open_game(game: Game, number: int, seed: int, opening_plies: int) -> Course:
    """A game after its random opening, the same for all games of a group in which everyone moves first once."""
    course, group = begin(game, initial_state(game)), number // game.rules.num_players
    moves, rows = game.buffers()
    for ply in range(opening_plies):
        rolled = roll(game, course, group, seed)
        drawn = random_move(game.rules, rolled.path, rolled.state, seed, group, ply, OPENING, moves, rows)
        opened = follow(game, rolled, Event(False, int(moves[drawn])))
        if is_over(game, opened):
            break
        course = opened
    return course


def roll(game: Game, course: Course, group: int, seed: int) -> Course:
    """The game after the chance events that are due, by the dice of (seed, group, ply)."""
    while game.rules.num_chance(course.state) > 0 and not game.rules.outcome(course.state)[0]:
        i = int(pick_chance(game.rules, course.state, seed, group, course.plies))
        course = follow(game, course, Event(True, i))
    return course


def _decide(game: Game, players: Sequence[Player], running: list[Progress], seed: int) -> list[Progress]:
    """Every game one move on; each player decides for all of its games at once."""
    seats = [(int(game.rules.seat(now.course.state)) - now.number) % len(players) for now in running]
    results: list[Progress] = []
    for i, player in enumerate(players):
        mine = [now for now, seat in zip(running, seats, strict=True) if seat == i]
        if not mine:
            continue
        rows = np.array([game.row(now.course.state) for now in mine])
        keys = np.array([(now.number, now.course.plies) for now in mine])
        decisions = Decisions(rows, keys, np.array([now.course.path for now in mine]))
        chosen = player.choose(decisions, seed).moves
        for now, move in zip(mine, chosen, strict=True):
            results.append(now._replace(course=follow(game, now.course, Event(False, int(move)))))
    return sorted(results, key=lambda now: now.number)


def _record(game: Game, players: Sequence[Player], now: Progress) -> GameRecord:
    start = initial_state(game)
    first = int(game.rules.seat(start))
    names = tuple(players[(first + turn - now.number) % len(players)].name for turn in range(len(players)))
    return GameRecord(start, names, now.course.events, payoffs_of(game, start, now.course))
