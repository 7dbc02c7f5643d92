"""Play against evaluators in the terminal: `deltaw play`.

    deltaw play                                            backgammon against the shipped network
    deltaw play tic_tac_toe --evaluator open_lines
    deltaw play --evaluator my_run/best.safetensors --seed 7 --hints
    deltaw play --record evening.mat                       keeps the games in a file (envs/record.py)

Every game can be played; where more than two take part, one evaluator plays all the others. The dice depend on (seed,
game, ply) alone: after `undo` the same numbers fall again, and a seed replays a whole evening.
"""

from __future__ import annotations

import contextlib
import functools
import secrets
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from deltaw.envs import games
from deltaw.envs.cli import Parser, guarded
from deltaw.envs.errors import InputError
from deltaw.envs.game import Game
from deltaw.envs.path import outcome
from deltaw.envs.record import (
    Course,
    Event,
    GameRecord,
    begin,
    check_new,
    follow,
    is_over,
    moves_of,
    payoffs_of,
    read_event,
    write_games,
)
from deltaw.search.analysis.answers import named_chances
from deltaw.search.analysis.batch import read_position, roll_of, shielded
from deltaw.search.databases.bearoff import load_bearoff, with_bearoff
from deltaw.search.databases.database import BEAROFF, find_databases, load_databases
from deltaw.search.databases.endings import find_endings, with_endings
from deltaw.search.evaluators.leaf import Leaf
from deltaw.search.evaluators.named import default_evaluator, find_evaluator, only_by_plies
from deltaw.search.players.agent import Agent, Knowledge
from deltaw.search.players.how import UNSAID, How, read_how, settle
from deltaw.search.solvers.exact import SolvedEndings, find_solver, has_solver
from deltaw.search.tree.algorithm import RootMove

HINTS = 5
"""moves that `hint` shows"""

COMMANDS = {
    "moves": "list the legal moves",
    "hint": f"the opponent's {HINTS} best moves for you, with equity",
    "think": "what the opponent thinks of the position",
    "undo": "back to your last decision",
    "board": "draw the board again",
    "resign": "give up this game; `resign 2` loses 2 points",
    "new": "start a new game",
    "help": "these commands",
    "quit": "leave (so do Ctrl-C and Ctrl-D)",
}

PLIES = 2
"""of the opponent, where nothing is said"""
SEATS = ("first", "second", "third", "fourth")

Write = Callable[[str], None]


class Quit(Exception):
    """The person leaves."""


class Abandoned(Exception):
    """The person wants a new game."""


@dataclass
class Table:
    """One evening: who plays what, the score, and how to talk to the person."""

    agent: Agent
    lines: Iterator[str]
    """what the person types"""
    write: Write
    seed: int
    start: Any
    """State that every game starts from"""
    seat: str = "first"
    """of the person, one of SEATS or random"""
    hints: bool = False
    color: bool = False
    name: str = "opponent"
    """of the agent, in records"""
    record: str | None = None
    """file for the games"""
    games: int = 0
    score: list[float] = field(default_factory=list)
    """points won by the person, and by the opponents in the order in which they move after the person"""
    records: list[GameRecord] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.score = self.score or [0] * self.game.rules.num_players

    @property
    def game(self) -> Game:
        return self.agent.game

    def ask(self) -> str:
        line = next(self.lines, None)
        if line is None:
            raise Quit
        return line.strip()

    def random(self, *purpose: int) -> np.random.Generator:
        """Random numbers that depend on the seed, the game's number and `purpose` alone."""
        return np.random.default_rng([self.seed, self.games, *purpose])


def play(table: Table) -> None:
    """Play games until the person leaves."""
    table.write(f"{table.game.title}, seed {table.seed}. Type a move in the game's notation, or a command:")
    show_help(table)
    try:
        while True:
            try:
                play_game(table)
                ask_for_another(table)
            except Abandoned:
                table.write("A new game.")
            table.games += 1
    except (Quit, KeyboardInterrupt):
        kept = len(table.records)
        note = f" {kept} {'game' if kept == 1 else 'games'} in {table.record}." if table.record and kept else ""
        table.write(f"Good-bye. {score_text(table)}{note}")


def ask_for_another(table: Table) -> None:
    while True:
        table.write("`new` for another game, `quit` to leave:")
        word = table.ask().lower()
        if word in ("new", "n", "yes", "y"):
            return
        if word in ("quit", "q", "no"):
            raise Quit


# --- one game ---------------------------------------------------------------------------------------------------------


def play_game(table: Table) -> None:
    """One game from `table.start`; the person's plies are asked for, the others are the agent's. It is kept, finished
    or not."""
    person = persons_seat(table)
    first = int(table.game.rules.seat(table.start))
    table.write(f"You move {SEATS[(person - first) % table.game.rules.num_players]}.")
    history: list[Course] = []
    now = begin(table.game, table.start)
    while not is_over(table.game, now):
        try:
            decided = take_turn(table, now, person, history)
        except (Quit, Abandoned, KeyboardInterrupt):
            keep(table, now, person, None)
            raise
        if isinstance(decided, int):  # resigned
            table.score[1] += decided
            keep(table, now, person, (-float(decided), float(decided)))
            table.write(f"You resign: the opponent scores {decided}. {score_text(table)}")
            return
        now = decided
    keep(table, now, person, finish(table, now, person))


def take_turn(table: Table, now: Course, person: int, history: list[Course]) -> Course | int:
    """What follows `now`: after a chance event, a move of the agent's, or the person's decision; the points of a
    resignation."""
    who = (int(table.game.rules.seat(now.state)) - person) % table.game.rules.num_players
    if table.game.rules.num_chance(now.state) > 0:
        if table.game.dice is None:
            return roll(table, now, "Chance decides:")
        return roll(table, now, f"{player_name(table, who)} {'roll' if who == 0 else 'rolls'}")
    return opponent_moves(table, now, who) if who else decide(table, now, history)


def player_name(table: Table, who: int) -> str:
    """How the player `who` turns after the person is called at the beginning of a sentence."""
    if who == 0:
        return "You"
    return "The opponent" if table.game.rules.num_players == 2 else f"Opponent {who}"


def persons_seat(table: Table) -> int:
    """Seat number of the person; first: whose turn it is in the starting position."""
    first, players = int(table.game.rules.seat(table.start)), table.game.rules.num_players
    place = table.seat
    if place == "random":
        place = SEATS[int(table.random(0).integers(players))]
    return (first + SEATS.index(place)) % players


def roll(table: Table, now: Course, who: str) -> Course:
    """One chance outcome, by the dice of this ply."""
    rules, random = table.game.rules, table.random(1, now.plies)
    if rules.exact_chance:
        chances = [rules.chance(now.state, i)[1] for i in range(rules.num_chance(now.state))]
        i = int(random.choice(len(chances), p=np.array(chances) / sum(chances)))
    else:
        i = int(random.integers(2**63))
    table.write("Cards are dealt." if rules.hidden else f"{who} {table.game.chance_text(now.state, i)}.")
    return follow(table.game, now, Event(True, i))


def opponent_moves(table: Table, now: Course, who: int) -> Course:
    """The agent's move, for the player `who` turns after the person."""
    move = int(table.agent.choose(now.state, now.path))
    table.write(f"{player_name(table, who)} plays {table.game.move_text(now.state, move)}")
    return follow(table.game, now, Event(False, move))


def finish(table: Table, now: Course, person: int) -> tuple[float, ...]:
    """Announce the result and count the points; returns those of the person and the opponents after him."""
    players, state = table.game.rules.num_players, now.state
    payoffs, drawn = payoffs_of(table.game, state, now), outcome(table.game.rules, now.path, state)[0]
    mover = int(table.game.rules.seat(state))
    turns = ((payoffs or (0.0,) * players)[(person + k - mover) % players] for k in range(players))
    mine = tuple(int(points) if points == int(points) else points for points in turns)
    table.score = [score + max(0, points) for score, points in zip(table.score, mine, strict=True)]
    draw_board(table, state)
    if players > 2:
        told = ", ".join(f"{player_name(table, k).lower()}: {points:+g}" for k, points in enumerate(mine))
        table.write(f"The game is over: {told}. {score_text(table)}")
    elif mine[0] == 0:
        table.write(f"{'A draw' if drawn else 'The game is too long: a draw'}. {score_text(table)}")
    else:
        size = table.game.win_names.get(int(abs(mine[0])), "game")
        how = f" a {size} ({abs(mine[0]):g} points)" if abs(mine[0]) > 1 else ""
        table.write(f"{'You win' if mine[0] > 0 else 'The opponent wins'}{how}. {score_text(table)}")
    return mine


def score_text(table: Table) -> str:
    names = [player_name(table, who).lower().removeprefix("the ") for who in range(len(table.score))]
    colon = ":" if len(names) > 2 else ""
    return f"Score: {', '.join(f'{name}{colon} {points:g}' for name, points in zip(names, table.score, strict=True))}."


# --- the record -------------------------------------------------------------------------------------------------------


def keep(table: Table, now: Course, person: int, mine: tuple[float, ...] | None) -> None:
    """Write the game so far, and those before it, to the file, if one was named; `mine`: payoffs of the person and of
    those after him, None for a game that was broken off."""
    if table.record is None or not any(not event.is_chance for event in now.events):
        return
    rules, (start, events) = table.game.rules, beginning(table.game, table.start)
    first, players = int(rules.seat(start)), rules.num_players
    turns = [(first + turn - person) % players for turn in range(players)]
    names = ["you", *([table.name] if players == 2 else [f"{table.name} {k}" for k in range(1, players)])]
    payoffs = None if mine is None else tuple(mine[who] for who in turns)
    table.records.append(GameRecord(start, tuple(names[who] for who in turns), (*events, *now.events), payoffs))
    write_games(table.game, table.record, table.records)


def beginning(game: Game, start: Any) -> tuple[Any, tuple[Event, ...]]:
    """The position before the dice that `start` may hold, and their event: notations of positions leave dice out."""
    rolled = roll_of(game, start)
    return (start, ()) if rolled is None else (rolled[0], (Event(True, rolled[1]),))


# --- the person's decision --------------------------------------------------------------------------------------------


def decide(table: Table, now: Course, history: list[Course]) -> Course | int:
    """Ask until the person moves, goes back or resigns: the next moment, or the points of a resignation."""
    show_decision(table, now)
    while True:
        text = table.ask()
        word, _, rest = text.lower().partition(" ")
        try:
            if word == "undo":
                return take_back(table, history)
            if word == "resign":
                return resignation(table, rest)
            if word in COMMANDS:
                obey(table, now, word)
            elif (move := read(table, now, text)) is not None:
                history.append(now)
                return follow(table.game, now, Event(False, int(move)))
        except InputError as error:
            table.write(str(error))


def show_decision(table: Table, now: Course) -> None:
    state, moves = now.state, moves_of(table.game, now)
    draw_board(table, state)
    if table.hints:
        show_hint(table, now)
    if len(moves) == 1:
        table.write(f"Your only move is {table.game.move_text(state, moves[0])}; Enter plays it.")
    else:
        example = table.game.move_text(state, moves[-1])
        table.write(f"Your move ({len(moves)} to choose from, such as {example}):")


def read(table: Table, now: Course, text: str) -> int | None:
    """The move that a person wrote; an empty line plays the only one, if there is only one."""
    if text:
        return read_event(table.game, now, text).code
    moves = moves_of(table.game, now)
    return moves[0] if len(moves) == 1 else None


def take_back(table: Table, history: list[Course]) -> Course:
    if not history:
        raise InputError("nothing to undo: this is your first decision of the game")
    table.write("Back to your last decision.")
    return history.pop()


def resignation(table: Table, text: str) -> int:
    """Points lost; `resign` alone loses the fewest that the game knows."""
    if table.game.rules.num_players > 2:
        raise InputError("resigning is for two players; `new` begins another game, `quit` leaves")
    sizes = sorted({-outcome for outcome in table.game.rules.outcomes if outcome < 0})
    if not text:
        return sizes[0]
    if text not in [str(size) for size in sizes]:
        raise InputError(f"cannot resign {text!r} points; possible: {', '.join(map(str, sizes))}")
    return int(text)


def obey(table: Table, now: Course, word: str) -> None:
    """A command that leaves the position as it is, or ends the game."""
    state = now.state
    if word == "quit":
        raise Quit
    if word == "new":
        raise Abandoned
    if word == "moves":
        table.write("\n".join(f"  {table.game.move_text(state, move)}" for move in moves_of(table.game, now)))
    elif word == "hint":
        show_hint(table, now)
    elif word == "think":
        think(table, now)
    elif word == "board":
        draw_board(table, state)
    else:
        show_help(table)


def show_hint(table: Table, now: Course) -> None:
    ranked = table.agent.rank(now.state, now.path)[:HINTS]
    width = max(len(move.text) for move in ranked)
    for i, move in enumerate(ranked, 1):
        table.write(f"  {i}. {move.text:{width}}  {equity_text(move)}")


def equity_text(move: RootMove) -> str:
    if move.value is None:
        return ""
    return f"{move.value:+.3f}  ({move.depth} {'ply' if move.depth == 1 else 'plies'})"


def think(table: Table, now: Course) -> None:
    """The agent's opinion of the person's position under the best move."""
    value, chances = table.agent.value(now.state, now.path)
    table.write(f"With the best move this is worth {value:+.3f} to you.")
    if chances is not None:
        named = named_chances(table.game, chances)
        texts = [f"{name.replace('_', ' ')} {100 * p:.1f} %" for name, p in named.items()]
        table.write(f"Chances: {', '.join(texts)}.")


def draw_board(table: Table, state: Any) -> None:
    table.write(table.game.ansi(state, color=table.color))


def show_help(table: Table) -> None:
    table.write("\n".join(f"  {name:7} {about}" for name, about in COMMANDS.items()))


# --- the command ------------------------------------------------------------------------------------------------------


def typed() -> Iterator[str]:
    """Lines from the terminal, with editing where Python has readline; ends at Ctrl-D."""
    with contextlib.suppress(ImportError):
        import readline  # noqa: F401 - makes input() remember and edit
    while True:
        try:
            yield input("> ")
        except EOFError:
            print()
            return
        except KeyboardInterrupt:
            print()
            raise


def parser() -> Parser:
    parse = Parser("deltaw play", description="Play against an evaluator in the terminal.")
    parse.add_argument("game", nargs="?", default="backgammon", help="a game (default: backgammon)")
    parse.add_argument(
        "--evaluator", help="a name or a file (default: the shipped network, or the game's first baseline)"
    )
    parse.add_argument(
        "--plies", type=int, choices=(1, 2), help="depth of the opponent (default 2; 1 if it only ranks moves)"
    )
    parse.add_argument(
        "--algorithm", metavar="NAME", help="how the opponent searches (default: the engine; games of dice: by plies)"
    )
    parse.add_argument("--depth", type=int, help="moves the opponent looks ahead")
    parse.add_argument("--seconds", type=float, help="time of the opponent for a move")
    parse.add_argument("--seed", type=int, help="of the dice (default: a new one each time)")
    parse.add_argument("--position", default="start", help="where every game starts, in the game's notation")
    parse.add_argument(
        "--seat", choices=(*SEATS, "random"), default="random", help="when you move (default: %(default)s)"
    )
    parse.add_argument(
        "--record", metavar="FILE", help="keep the games in a new file: .jsonl, or a format of the game (.mat)"
    )
    parse.add_argument(
        "--hints", action="store_true", help="show the opponent's best moves for you before each of yours"
    )
    return parse


@guarded
def main(argv: Sequence[str] | None = None, lines: Iterable[str] | None = None) -> int:
    options = parser().parse_intermixed_args(shielded(argv))
    if options.seed is not None and options.seed < 0:
        raise InputError(f"seed {options.seed} is negative")
    game = games.load(options.game)
    start = read_position(game, options.position.strip(), None)
    if game.rules.outcome(start)[0]:
        raise InputError(f"{options.position.strip()} is finished: there is nothing to play")
    if options.seat != "random" and SEATS.index(options.seat) >= game.rules.num_players:
        raise InputError(f"{game.name} has {game.rules.num_players} players: nobody moves {options.seat}")
    if options.record:
        check_new(game, options.record)
    agent = make_agent(game, options.evaluator, read_how(options))
    seed = secrets.randbits(31) if options.seed is None else options.seed
    color = sys.stdout.isatty()
    name = Path(options.evaluator).stem if options.evaluator else "deltaw"
    look = {"hints": options.hints, "color": color, "name": name, "record": options.record}
    play(Table(agent, iter(lines or typed()), _print, seed, start, options.seat, **look))
    return 0


def make_agent(game: Game, name: str | None, how: How = UNSAID) -> Agent:
    """The opponent: by plies in games of dice, else searching, with the databases of the game. Raises InputError for
    what does not fit."""
    evaluator = find_evaluator(game, name) if name else default_evaluator(game)
    how = settle(game, evaluator, how, PLIES)
    if not how.searches:
        return Agent(game, evaluator, endings=_endings(game, only_by_plies(evaluator)), **how._asdict())
    how = how._replace(endgames=True)
    known: list[Knowledge] = [*load_databases(game)]
    if has_solver(game):
        known.append(SolvedEndings(find_solver(game)))
    return Agent(game, evaluator, databases=known, **how._asdict())


def _endings(game: Game, by_plies: bool) -> Callable[[Leaf], Leaf] | None:
    """The bear-off table, where one has been built (`deltaw build backgammon bearoff`), or databases of endings."""
    if by_plies:
        return None
    path, endings = find_databases(game).get(BEAROFF), find_endings(game)
    if path is None:
        return None if endings is None else functools.partial(with_endings, database=endings)
    return functools.partial(with_bearoff, table=load_bearoff(path))


def _print(text: str) -> None:
    print(text, flush=True)


if __name__ == "__main__":
    raise SystemExit(main())
