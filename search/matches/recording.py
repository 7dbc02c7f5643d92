"""Games of any players, kept in a file.

Players take turns at moving first. With the same seed these are the games that `deltaw arena` plays: those of a pair
have the same dice, or the same random opening. The ending of the file's name decides the format (`envs/record.py`);
`deltaw analyze GAME --match FILE` reviews them.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from deltaw.envs.bits import OPENING
from deltaw.envs.errors import InputError
from deltaw.envs.game import Game
from deltaw.envs.record import Event, GameRecord, initial_state, payoffs_of, plain_state
from deltaw.envs.turn import end, pick_chance, random_move
from deltaw.search.matches.match import default_opening_plies
from deltaw.search.players.players import Decisions, Player

TOGETHER = 16
"""games side by side: players answer in batches, and finished games are kept if the run is broken off"""


class Progress(NamedTuple):
    """A game being played."""

    number: int
    state: Any
    ply: int
    events: tuple[Event, ...]


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
        running += [open_game(game, number, seed, opening) for number in free]
        running = [roll(game, now, seed) for now in running]
        over = [now for now in running if is_over(game, now)]
        for now in over:
            done.append(_record(game, players, now))
            numbers.append(now.number)
        running = _decide(game, players, [now for now in running if not is_over(game, now)], seed)
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


def open_game(game: Game, number: int, seed: int, opening_plies: int) -> Progress:
    """A game after its random opening, the same for all games of a group in which everyone moves first once."""
    now = Progress(number, initial_state(game), 0, ())
    group, (moves, rows) = number // game.rules.num_players, game.buffers()
    for ply in range(opening_plies):
        rolled = roll(game, now, seed)
        opened = played(
            game, rolled, int(moves[random_move(game.rules, rolled.state, seed, group, ply, OPENING, moves, rows)])
        )
        if is_over(game, opened):
            break
        now = opened
    return now


def roll(game: Game, now: Progress, seed: int) -> Progress:
    """The game after the chance events that are due, by the dice of (seed, group, ply)."""
    group = now.number // game.rules.num_players
    while game.rules.num_chance(now.state) > 0 and not game.rules.outcome(now.state)[0]:
        i = int(pick_chance(game.rules, now.state, seed, group, now.ply))
        state = plain_state(game, game.rules.chance(now.state, i)[0])
        now = now._replace(state=state, events=(*now.events, Event(True, i)))
    return now


def played(game: Game, now: Progress, move: int) -> Progress:
    state = plain_state(game, game.rules.play(now.state, move))
    return now._replace(state=state, ply=now.ply + 1, events=(*now.events, Event(False, move)))


def is_over(game: Game, now: Progress) -> bool:
    return bool(end(game.rules, now.state, now.ply)[0])


def _decide(game: Game, players: Sequence[Player], running: list[Progress], seed: int) -> list[Progress]:
    """Every game one move on; each player decides for all of its games at once."""
    seats = [(int(game.rules.seat(now.state)) - now.number) % len(players) for now in running]
    results: list[Progress] = []
    for i, player in enumerate(players):
        mine = [now for now, seat in zip(running, seats, strict=True) if seat == i]
        if not mine:
            continue
        rows = np.array([game.row(now.state) for now in mine])
        keys = np.array([(now.number, now.ply) for now in mine])
        chosen = player.choose(Decisions.of(rows, keys), seed).moves
        results += [played(game, now, int(move)) for now, move in zip(mine, chosen, strict=True)]
    return sorted(results)


def _record(game: Game, players: Sequence[Player], now: Progress) -> GameRecord:
    start = initial_state(game)
    first = int(game.rules.seat(start))
    names = tuple(players[(first + turn - now.number) % len(players)].name for turn in range(len(players)))
    return GameRecord(start, names, now.events, payoffs_of(game, start, now.state, now.ply))
