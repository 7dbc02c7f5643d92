"""OpenSpiel: our players as bots in its games, and our rules checked against its rules.

    game = pyspiel.load_game("backgammon")
    bots = [SpielBot(game, 0, "network"), UniformRandomBot(1, numpy.random)]
    evaluate_bots(game.new_initial_state(), bots, numpy.random)

Both libraries have tic-tac-toe, Connect Four, Othello, Nim (OpenSpiel's without misère) and backgammon. Positions are
read from OpenSpiel's boards, and a move is found by its result, so nothing here depends on how OpenSpiel numbers its
actions. Backgammon differs in three ways:

- an action of OpenSpiel moves two checkers, and a double is two turns of one player; a move of ours is the whole turn;
- in OpenSpiel either player may begin, here always seat 0; our state simply says whose turn it is;
- a game of OpenSpiel ends after 500 turns at the latest, and its result is 1 or -1 unless `scoring_type` is
  `full_scoring`.

Source: Lanctot et al., *OpenSpiel: A Framework for Reinforcement Learning in Games*, 2019,
<https://github.com/google-deepmind/open_spiel>.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from deltaw.envs import games
from deltaw.envs.errors import InputError
from deltaw.envs.game import Game
from deltaw.envs.games.backgammon.notation import from_board
from deltaw.envs.games.nim import HEAPS, LARGEST
from deltaw.search.doors.policy import Policy
from deltaw.search.players.agent import Agent
from deltaw.search.players.players import Player

try:
    import pyspiel
except ImportError:  # the command line explains itself without it
    pyspiel = None


# --- positions ----------------------------------------------------------------------------------------------------


def _tic_tac_toe(state: Any, seat: int) -> tuple[int, ...]:
    stones = str(state).split()
    masks = [sum(1 << i for i, stone in enumerate("".join(stones)) if stone == side) for side in "xo"]
    return masks[seat], masks[1 - seat]


def _connect_four(state: Any, seat: int) -> tuple[int, ...]:
    rows = str(state).split()[::-1]  # the lowest first
    masks = [sum(1 << 7 * c + r for r, row in enumerate(rows) for c in range(7) if row[c] == side) for side in "xo"]
    return masks[seat], masks[0] | masks[1]


def _othello(state: Any, seat: int) -> tuple[int, ...]:
    lines = [line.split()[1:9] for line in str(state).splitlines() if line[:1].isdigit()]
    squares = [square for line in lines for square in line]
    masks = [sum(1 << i for i, square in enumerate(squares) if square == side) for side in "xo"]
    signed = [mask - (mask >> 63 << 64) for mask in masks]
    return signed[seat], signed[1 - seat], seat


def _nim(state: Any, seat: int) -> tuple[int, ...]:
    heaps = [int(n) for n in str(state).split(":")[1].split()]
    if len(heaps) > HEAPS or max(heaps) > LARGEST:
        raise InputError(f"piles {heaps}: Nim has up to {HEAPS} heaps of up to {LARGEST} here")
    return sum(n << 4 * heap for heap, n in enumerate(heaps)), seat


def _backgammon(state: Any, seat: int) -> tuple[int, ...]:
    """Places of X (player 0) are numbered against the direction of X's own points. Place 100 is the bar."""
    x = [state.board(0, 23 - i) for i in range(24)] + [state.board(0, 100)]
    o = [state.board(1, i) for i in range(24)] + [state.board(1, 100)]
    low, high = (x, o) if seat == 0 else (o, x)
    roll = 0
    if state.current_player() == seat:
        die, other = sorted(int(n) for n in state.observation_tensor(0)[-2:])
        roll = other * (other - 1) // 2 + die
    return tuple(from_board([*low, 0], [*high, 0], roll, seat))


class Twin(NamedTuple):
    """A game that both libraries have."""

    read: Callable[[Any, int], tuple[int, ...]]
    """(their state, seat) -> our state's fields, with that seat to move"""
    parameters: dict[str, Any]
    """under which their game is ours"""
    outcomes: dict[str, Any] = {}  # noqa: RUF012 - never changed
    """further ones, under which it ends with our outcomes"""


TWINS = {
    "tic_tac_toe": Twin(_tic_tac_toe, {}),
    "connect_four": Twin(_connect_four, {"columns": 7, "rows": 6, "x_in_row": 4}),
    "othello": Twin(_othello, {}),
    "nim": Twin(_nim, {"is_misere": False}, {"pile_sizes": "3;5;7"}),
    "backgammon": Twin(_backgammon, {"hyper_backgammon": False}, {"scoring_type": "full_scoring"}),
}


def spiel_game(name: str) -> Any:
    """OpenSpiel's game, set up so that its payoffs are our outcomes. Raises InputError for a game that one of the
    libraries does not have, and without OpenSpiel."""
    if pyspiel is None:
        raise InputError('deltaw.search.spiel needs the package open_spiel: pip install "deltaw[peers]"')
    twin = _twin(name)
    return pyspiel.load_game(name, twin.parameters | twin.outcomes)


def _twin(name: str) -> Twin:
    if name not in TWINS:
        raise InputError(f"OpenSpiel and deltaw do not both know {name!r}; they do: {', '.join(TWINS)}")
    return TWINS[name]


def our_state(state: Any, seat: int | None = None) -> Any:
    """Our state for one of OpenSpiel's. `seat` is the player to move if OpenSpiel does not say it (before the dice,
    after the end)."""
    name = state.get_game().get_type().short_name
    seat = state.current_player() if seat is None else seat
    return games.load(name).state(*_twin(name).read(state, seat))


def results(state: Any) -> Iterator[tuple[Any, list[int]]]:
    """Every result of the turn of the player to move, as our state, with OpenSpiel's actions that lead there. Results
    may repeat."""
    seat = state.current_player()
    seen = set()

    def go_on(state: Any, actions: list[int]) -> Iterator[tuple[Any, list[int]]]:
        for action in state.legal_actions():
            child = state.child(action)
            if child.current_player() != seat:
                yield our_state(child, 1 - seat), [*actions, action]
                continue
            middle = our_state(child, seat)  # of a double
            if middle not in seen:
                seen.add(middle)
                yield from go_on(child, [*actions, action])

    return go_on(state, [])


# --- our players in their games -----------------------------------------------------------------------------------


class SpielBot(pyspiel.Bot if pyspiel else object):  # type: ignore[misc]
    """One of our players as a bot of OpenSpiel.

    Args:
        game: OpenSpiel's game.
        player_id: the seat it plays, 0 or 1.
        player: a text as `deltaw arena` takes it, an `Agent`, a `Player` or a `Policy`.
        seed: of what the player itself draws.

    Raises InputError for a game that is another one here (misère Nim, a Connect Four of other sizes), and for an
    unknown player.
    """

    def __init__(self, game: Any, player_id: int, player: str | Agent | Player | Policy, seed: int | None = 0) -> None:
        super().__init__()
        name = game.get_type().short_name
        theirs = game.get_parameters()
        for parameter, value in _twin(name).parameters.items():
            if theirs.get(parameter, value) != value:
                raise InputError(
                    f"{game} is another game than ours: {parameter} must be {value}, not {theirs[parameter]}"
                )
        self.policy = player if isinstance(player, Policy) else Policy(name, player, seed=seed)
        self._player_id = player_id
        self._begun: tuple[list[int], Any] = ([], None)

    def player_id(self) -> int:
        return self._player_id

    def provides_policy(self) -> bool:
        return False

    def restart(self) -> None:
        pass

    def restart_at(self, state: Any) -> None:
        pass

    def step(self, state: Any) -> int:
        """The action for the player to move. Raises InputError where somebody else has begun his double in another
        way."""
        history = state.full_history()
        begun = len(history) > 0 and history[-1].player == state.current_player()
        past = state.history()[:-1] if begun else state.history()
        if self._begun[0] != past or not begun:
            self._begun = (past, self._target(_replayed(state, past) if begun else state))
        for result, actions in results(state):
            if result == self._begun[1]:
                return actions[0]
        raise InputError(f"{self.policy!r} would not have begun this turn so: {state.history_str()}")

    def _target(self, state: Any) -> Any:
        """The result that the player wants."""
        decision = our_state(state)
        game = self.policy.game
        return game.unrow(game.row(game.rules.play(decision, self.policy.move(decision))))


def _replayed(state: Any, history: list[int]) -> Any:
    before = state.get_game().new_initial_state()
    for action in history:
        before.apply_action(action)
    return before


# --- rules against rules ------------------------------------------------------------------------------------------


class Difference(NamedTuple):
    """One position in which the two libraries do not agree."""

    position: str
    what: str


class CrossCheck(NamedTuple):
    """Plays random games in both libraries in step."""

    game: str
    games: int
    decisions: int
    results: int
    """of moves, over all decisions, that both sides allow"""
    endings: dict[int, int]
    """payoff of seat 0 -> games"""
    differences: tuple[Difference, ...]


def cross_check(name: str, number: int, seed: int = 0) -> CrossCheck:
    """Walks `number` random games: chances, results of all moves and payoffs of both sides must be the same.

    Raises InputError for a game that only one side knows.
    """
    theirs, ours, choose = spiel_game(name), games.load(name), random.Random(seed)
    walk = _Walk(ours, choose)
    for _ in range(number):
        walk.play(theirs.new_initial_state())
    return CrossCheck(
        name, number, walk.decisions, walk.results, dict(sorted(walk.endings.items())), tuple(walk.differences)
    )  # fmt: skip


class _Walk:
    def __init__(self, game: Game, choose: random.Random) -> None:
        self.game, self.choose = game, choose
        self.decisions = self.results = 0
        self.endings: Counter[int] = Counter()
        self.differences: list[Difference] = []

    def play(self, state: Any) -> None:
        """One game, by moves that both sides allow."""
        rules = self.game.rules
        ours = self.game.unrow(self.game.row(rules.initial()))
        while not state.is_terminal():
            if state.is_chance_node():
                ours = self._roll(state, ours)
                continue
            if our_state(state) != ours:
                self._differ(ours, f"OpenSpiel is at {self.game.format(our_state(state))}")
                return
            found = self._compare(state, ours)
            if not found:
                return
            ours = self.choose.choice(list(found))
            for action in found[ours]:
                state.apply_action(action)
        over, payoff = rules.outcome(ours)
        mine = payoff if rules.seat(ours) == 0 else -payoff
        if not over or state.returns() != [mine, -mine]:
            self._differ(ours, f"over {over}, {mine} for seat 0; OpenSpiel: over, {state.returns()}")
        self.endings[int(mine)] += 1

    def _roll(self, state: Any, ours: Any) -> Any:
        """Both sides' chances, compared by what they lead to; then one of them. Who begins is OpenSpiel's to say."""
        rules, theirs, mine = self.game.rules, Counter[Any](), Counter[Any]()
        opening = not state.history()
        for action, probability in state.chance_outcomes():
            rolled = our_state(state.child(action))
            theirs[rolled._replace(seat=0) if opening else rolled] += probability
        for i in range(rules.num_chance(ours)):
            rolled, probability = rules.chance(ours, i)
            mine[self.game.unrow(self.game.row(rolled))] += probability
        if theirs.keys() != mine.keys() or any(abs(theirs[key] - mine[key]) > 1e-12 for key in mine):
            self._differ(ours, f"chances {dict(mine)}; OpenSpiel {dict(theirs)}")
        actions, weights = zip(*state.chance_outcomes(), strict=True)
        state.apply_action(self.choose.choices(actions, weights)[0])
        return our_state(state)

    def _compare(self, state: Any, ours: Any) -> dict[Any, list[int]]:
        """Results that both sides allow, with OpenSpiel's actions; empty where there are none."""
        codes, rows = self.game.buffers()
        n = self.game.rules.expand(ours, codes, rows)
        mine = {self.game.unrow(row) for row in rows[:n]}
        theirs = dict(results(state))
        if mine != theirs.keys():
            texts = [self.game.format(result) for result in mine ^ theirs.keys()]
            self._differ(
                ours, f"{len(mine)} results, OpenSpiel {len(theirs)}; only one side has {', '.join(texts[:4])}"
            )
        self.decisions += 1
        common = {result: theirs[result] for result in sorted(mine & theirs.keys())}
        self.results += len(common)
        return common

    def _differ(self, ours: Any, what: str) -> None:
        self.differences.append(Difference(self.game.format(ours), what))
