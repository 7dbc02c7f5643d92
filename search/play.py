"""A person against an evaluator, in the terminal.

    python -m search.play                                            backgammon against the shipped network
    python -m search.play tic_tac_toe --evaluator open_lines
    python -m search.play --evaluator my_run/best.safetensors --seed 7 --hints

The dice depend on (seed, game, ply) alone: after `undo` the same numbers fall again, and a seed replays a whole evening.
"""

from __future__ import annotations

import contextlib
import functools
import secrets
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from envs import games
from envs.cli import Parser, guarded
from envs.errors import InputError
from envs.game import Baseline, Game
from search.agent import Agent, Known, RankedMove
from search.analyze import read_position, shielded
from search.answers import SIZES, named_chances
from search.bearoff import load_bearoff, with_bearoff
from search.database import BEAROFF, find_databases, load_databases
from search.leaf import Leaf
from search.named import default_evaluator, find_evaluator
from search.plies import CANDIDATES
from search.searcher import NO_LIMITS, Limits, default_algorithm
from search.solve import SolvedEndings, find_solver, has_solver

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

Write = Callable[[str], None]


class Quit(Exception):
    """The person leaves."""


class Abandoned(Exception):
    """The person wants a new game."""


class Moment(NamedTuple):
    """A decision of the person's, to come back to."""

    state: Any
    ply: int


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
    """of the person: first, second or random"""
    hints: bool = False
    color: bool = False
    games: int = 0
    score: list[int] = field(default_factory=lambda: [0, 0])
    """points of the person and of the opponent"""

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
        table.write(f"Good-bye. Score: you {table.score[0]}, opponent {table.score[1]}.")


def ask_for_another(table: Table) -> None:
    while True:
        table.write("`new` for another game, `quit` to leave:")
        word = table.ask().lower()
        if word in ("new", "n", "yes", "y"):
            return
        if word in ("quit", "q", "no"):
            raise Quit


# --- one game -----------------------------------------------------------------------------------------------------------------


def play_game(table: Table) -> None:
    """One game from `table.start`; the person's plies are asked for, the others are the agent's."""
    rules, state, ply = table.game.rules, table.start, 0
    person = persons_seat(table)
    table.write(f"You move {'first' if rules.seat(state) == person else 'second'}.")
    history: list[Moment] = []
    while not rules.outcome(state)[0] and not (rules.max_plies and ply >= rules.max_plies):
        mine = rules.seat(state) == person
        if rules.num_chance(state) > 0:
            state = roll(table, state, ply, "You roll" if mine else "The opponent rolls")
        elif mine:
            decided = decide(table, state, Moment(state, ply), history)
            if isinstance(decided, int):  # resigned
                table.score[1] += decided
                table.write(f"You resign: the opponent scores {decided}. {score_text(table)}")
                return
            state, ply = decided
        else:
            state, ply = answer(table, state), ply + 1
    finish(table, state, person)


def persons_seat(table: Table) -> int:
    """Seat number of the person; first: whose turn it is in the starting position."""
    first = int(table.game.rules.seat(table.start))
    place = table.seat
    if place == "random":
        place = ("first", "second")[int(table.random(0).integers(2))]
    return first if place == "first" else 1 - first


def roll(table: Table, state: Any, ply: int, who: str) -> Any:
    """One chance outcome, by the dice of this ply."""
    rules = table.game.rules
    chances = [rules.chance(state, i)[1] for i in range(rules.num_chance(state))]
    i = int(table.random(1, ply).choice(len(chances), p=np.array(chances) / sum(chances)))
    table.write(f"{who} {table.game.chance_text(state, i)}.")
    return rules.chance(state, i)[0]


def answer(table: Table, state: Any) -> Any:
    """The agent's move."""
    move = table.agent.choose(state)
    table.write(f"The opponent plays {table.game.move_text(state, move)}")
    return table.game.rules.play(state, move)


def finish(table: Table, state: Any, person: int) -> None:
    """Announce the result and count the points."""
    rules = table.game.rules
    over, value = rules.outcome(state)
    points = int(value) if rules.seat(state) == person else -int(value)
    table.score[points < 0] += abs(points)
    draw_board(table, state)
    if points == 0:
        table.write(f"{'A draw' if over else 'The game is too long: a draw'}. {score_text(table)}")
        return
    size = SIZES.get(abs(points), f"{abs(points)} points")
    how = f" a {size} ({abs(points)} points)" if size else ""
    table.write(f"{'You win' if points > 0 else 'The opponent wins'}{how}. {score_text(table)}")


def score_text(table: Table) -> str:
    return f"Score: you {table.score[0]}, opponent {table.score[1]}."


# --- the person's decision ------------------------------------------------------------------------------------------------------


def decide(table: Table, state: Any, now: Moment, history: list[Moment]) -> Moment | int:
    """Ask until the person moves, goes back or resigns: the next state and ply, or the points of a resignation."""
    show_decision(table, state)
    while True:
        text = table.ask()
        word, _, rest = text.lower().partition(" ")
        try:
            if word == "undo":
                return take_back(table, history)
            if word == "resign":
                return resignation(table, rest)
            if word in COMMANDS:
                obey(table, state, word)
            elif (move := read(table, state, text)) is not None:
                history.append(now)
                return Moment(table.game.rules.play(state, move), now.ply + 1)
        except InputError as error:
            table.write(str(error))


def show_decision(table: Table, state: Any) -> None:
    draw_board(table, state)
    moves = table.game.moves(state)
    if table.hints:
        show_hint(table, state)
    if len(moves) == 1:
        table.write(f"Your only move is {table.game.move_text(state, moves[0])}; Enter plays it.")
    else:
        table.write(f"Your move ({len(moves)} to choose from):")


def read(table: Table, state: Any, text: str) -> int | None:
    """The move that a person wrote; an empty line plays the only one, if there is only one."""
    if text:
        return table.game.find_move(state, text)
    moves = table.game.moves(state)
    return moves[0] if len(moves) == 1 else None


def take_back(table: Table, history: list[Moment]) -> Moment:
    if not history:
        raise InputError("nothing to undo: this is your first decision of the game")
    table.write("Back to your last decision.")
    return history.pop()


def resignation(table: Table, text: str) -> int:
    """Points lost; `resign` alone loses the fewest that the game knows."""
    sizes = sorted({-outcome for outcome in table.game.rules.outcomes if outcome < 0})
    if not text:
        return sizes[0]
    if text not in [str(size) for size in sizes]:
        raise InputError(f"cannot resign {text!r} points; possible: {', '.join(map(str, sizes))}")
    return int(text)


def obey(table: Table, state: Any, word: str) -> None:
    """A command that leaves the position as it is, or ends the game."""
    if word == "quit":
        raise Quit
    if word == "new":
        raise Abandoned
    if word == "moves":
        table.write("\n".join(f"  {table.game.move_text(state, move)}" for move in table.game.moves(state)))
    elif word == "hint":
        show_hint(table, state)
    elif word == "think":
        think(table, state)
    elif word == "board":
        draw_board(table, state)
    else:
        show_help(table)


def show_hint(table: Table, state: Any) -> None:
    ranked = table.agent.rank(state)[:HINTS]
    width = max(len(move.text) for move in ranked)
    for i, move in enumerate(ranked, 1):
        table.write(f"  {i}. {move.text:{width}}  {equity_text(move)}")


def equity_text(move: RankedMove) -> str:
    if move.value is None:
        return ""
    return f"{move.value:+.3f}  ({move.plies} {'ply' if move.plies == 1 else 'plies'})"


def think(table: Table, state: Any) -> None:
    """The agent's opinion of the person's position under the best move."""
    value, chances = table.agent.value(state)
    table.write(f"With the best move this is worth {value:+.3f} to you.")
    if chances is not None:
        named = named_chances(table.game.rules.outcomes, chances)
        texts = [f"{name.replace('_', ' ')} {100 * p:.1f} %" for name, p in named.items()]
        table.write(f"Chances: {', '.join(texts)}.")


def draw_board(table: Table, state: Any) -> None:
    table.write(table.game.ansi(state, color=table.color))


def show_help(table: Table) -> None:
    table.write("\n".join(f"  {name:7} {about}" for name, about in COMMANDS.items()))


# --- the command ----------------------------------------------------------------------------------------------------------------


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


def parser() -> Parser:
    parse = Parser("python -m search.play", description="Play against an evaluator in the terminal.")
    parse.add_argument("game", nargs="?", default="backgammon", help="a game (default: %(default)s)")
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
        "--seat", choices=("first", "second", "random"), default="random", help="your seat (default: %(default)s)"
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
    limits = Limits(options.depth, options.seconds)
    agent = make_agent(game, options.evaluator, options.plies, options.algorithm, limits)
    seed = secrets.randbits(31) if options.seed is None else options.seed
    color = sys.stdout.isatty()
    play(Table(agent, iter(lines or typed()), _print, seed, start, options.seat, options.hints, color))
    return 0


def make_agent(
    game: Game, name: str | None, plies: int | None, algorithm: str | None = None, limits: Limits = NO_LIMITS
) -> Agent:
    """The opponent: by plies in games of dice, else searching, with the databases of the game. Raises InputError for what does not fit."""
    evaluator = find_evaluator(game, name) if name else default_evaluator(game)
    if plies is not None and (algorithm is not None or limits != NO_LIMITS):
        raise InputError("--plies does not go with --algorithm, --depth and --seconds")
    ranks = isinstance(evaluator, Baseline) and evaluator.kind == "rank"
    searches = algorithm is not None or limits != NO_LIMITS
    if not searches and (plies is not None or ranks or game.rules.max_chance > 0):
        return Agent(
            game, evaluator, plies=plies or (1 if ranks else 2), candidates=CANDIDATES, endings=_endings(game, ranks)
        )
    known: list[Known] = [*load_databases(game)]
    if has_solver(game):
        known.append(SolvedEndings(find_solver(game)))
    return Agent(game, evaluator, algorithm=algorithm or default_algorithm(game), limits=limits, databases=known)


def _endings(game: Game, ranks: bool) -> Callable[[Leaf], Leaf] | None:
    """The bear-off table, where one has been built (`python -m search.build backgammon bearoff`)."""
    path = find_databases(game).get(BEAROFF)
    return None if path is None or ranks else functools.partial(with_bearoff, table=load_bearoff(path))


def _print(text: str) -> None:
    print(text, flush=True)


if __name__ == "__main__":
    raise SystemExit(main())
