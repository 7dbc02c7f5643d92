"""A review of played games: what each decision lost against the best move, for each player, and the worst of them.

    deltaw analyze backgammon --match games.mat --plies 2

A decision's *loss* is the value of the best move less the value of the move that was played, by the same evaluator at
the same depth, in outcome units (backgammon: points a game). Decisions with one legal result are not counted. The
*luck* of a roll is the value of the best move after it less the average over all rolls (`search/analysis/rollout.py`).
Everything is judged as this project plays: no doubling cube, no match score.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from deltaw.envs.errors import InputError
from deltaw.envs.game import Baseline
from deltaw.envs.record import Event, GameRecord, after, replay, turn_of
from deltaw.search.analysis.answers import rounded
from deltaw.search.analysis.rollout import luck_of
from deltaw.search.evaluators.leaf import Leaf
from deltaw.search.evaluators.named import leaf_of, only_by_plies
from deltaw.search.players.agent import Agent
from deltaw.search.players.plies import Bench, make_bench
from deltaw.search.terminal.tables import BAD, DOUBTFUL, VERY_BAD, empty_table, shade

WORST = 10
"""decisions that are listed unless more are asked for"""


class Mistake(NamedTuple):
    """A decision and what it lost."""

    game: int
    """counted from 1"""
    move: int
    """decisions of the game so far, forced ones included, counted from 1"""
    player: str
    position: str
    """before the dice"""
    dice: str
    """or another chance outcome; nothing where there was none"""
    played: str
    best: str
    loss: float


class Account(NamedTuple):
    """One player's decisions."""

    player: str
    losses: tuple[float, ...]
    """of the decisions that had a choice"""
    forced: int
    luck: float | None
    """sum, in outcome units; None without chance, or without values"""
    points: float
    """won in the games that were finished"""

    @property
    def mean_loss(self) -> float:
        return sum(self.losses) / len(self.losses) if self.losses else math.nan

    def at_least(self, loss: float) -> int:
        """How many decisions lost so much."""
        return sum(x >= loss for x in self.losses)


class Review(NamedTuple):
    """What a review found."""

    games: int
    unfinished: int
    accounts: tuple[Account, ...]
    mistakes: tuple[Mistake, ...]
    """every decision that lost something, worst first"""
    notes: tuple[str, ...]


class Judged(NamedTuple):
    """A decision that was looked at."""

    mistake: Mistake | None
    """None: it was forced"""
    luck: float
    """of the roll before it"""
    player: str


def review(agent: Agent, records: Sequence[GameRecord], progress: Callable[[int], None] | None = None) -> Review:
    """Judge every decision by `agent`; `progress` is called with the number of games done. Raises InputError for an
    evaluator that gives no values."""
    judge = _Judge(agent)
    judged: list[Judged] = []
    for number, record in enumerate(records, start=1):
        judged += judge.decisions(number, record)
        if progress is not None:
            progress(number)
    names = list(dict.fromkeys(name for record in records for name in record.players))
    mistakes = [one.mistake for one in judged if one.mistake is not None and one.mistake.loss > 0.0]
    return Review(
        len(records),
        sum(record.payoffs is None for record in records),
        tuple(_account(name, judged, records, judge.leaf is not None) for name in names),
        tuple(sorted(mistakes, key=lambda mistake: -mistake.loss)),
        tuple(note for record in records for note in record.notes),
    )


def _account(name: str, judged: Sequence[Judged], records: Sequence[GameRecord], with_luck: bool) -> Account:
    mine = [one for one in judged if one.player == name]
    points = sum(
        payoff
        for record in records
        for player, payoff in zip(record.players, record.payoffs or (), strict=False)
        if player == name
    )
    return Account(
        name,
        tuple(one.mistake.loss for one in mine if one.mistake is not None),
        sum(one.mistake is None for one in mine),
        sum(one.luck for one in mine) if with_luck else None,
        points,
    )


class _Judge:
    """Looks at one game after the other, with scratch memory."""

    def __init__(self, agent: Agent) -> None:
        self.agent, self.game = agent, agent.game
        evaluator = agent.evaluator
        if isinstance(evaluator, Baseline) and evaluator.kind == "rank":
            leaf_of(evaluator)  # raises, with the reason
        measured = agent.game.rules.max_chance > 0 and not only_by_plies(evaluator)
        self.leaf: Leaf | None = leaf_of(evaluator) if measured else None
        self.bench: Bench | None = make_bench(self.leaf, agent.game) if self.leaf is not None else None

    def decisions(self, number: int, record: GameRecord) -> list[Judged]:
        """Every decision of one game, in order."""
        judged: list[Judged] = []
        position, dice, luck = self.game.format(record.start), "", 0.0
        for state, event in replay(self.game, record):
            if event.is_chance:
                position, dice = self.game.format(state), self.game.chance_text(state, event.code)
                luck += self._luck(state, event)
                continue
            if not dice:
                position = self.game.format(state)
            player = record.players[turn_of(self.game, record.start, state)]
            about = Mistake(number, len(judged) + 1, player, position, dice, "", "", 0.0)
            judged.append(Judged(self._mistake(state, event, about), luck, player))
            dice, luck = "", 0.0
        return judged

    def _luck(self, state: Any, event: Event) -> float:
        if self.leaf is None:
            return 0.0
        return float(luck_of(self.game.rules, self.leaf, state, np.int64(event.code), self.bench))

    def _mistake(self, state: Any, event: Event, about: Mistake) -> Mistake | None:
        """The decision judged; None where nothing could be chosen."""
        if len(self.game.moves(state)) == 1:
            return None
        ranked = self.agent.rank(state)
        result = after(self.game, state, event)
        played = next((move for move in ranked if move.state == result), None)
        if played is None or played.value is None or ranked[0].value is None:
            raise InputError(f"{self.game.format(state)}: no value for {self.game.move_text(state, event.code)}")
        best = max((move for move in ranked if move.depth == played.depth), key=lambda move: move.value or 0.0)
        loss = max(0.0, (best.value or 0.0) - played.value)
        return about._replace(played=played.text, best=best.text, loss=loss)


# --- what is shown ------------------------------------------------------------------------------------------------


def as_json(found: Review, top: int | None) -> dict[str, Any]:
    """The review as plain JSON, with the `top` worst decisions or all that lost something."""
    return {
        "games": found.games,
        "unfinished": found.unfinished,
        "players": [_account_json(account) for account in found.accounts],
        "worst": [mistake._asdict() | {"loss": rounded(mistake.loss)} for mistake in found.mistakes[:top]],
        "notes": list(found.notes),
    }


def _account_json(account: Account) -> dict[str, Any]:
    return {
        "player": account.player,
        "decisions": len(account.losses),
        "forced": account.forced,
        "mean_loss": rounded(account.mean_loss) if account.losses else None,
        "doubtful": account.at_least(DOUBTFUL),
        "bad": account.at_least(BAD),
        "very_bad": account.at_least(VERY_BAD),
        "luck": None if account.luck is None else rounded(account.luck),
        "points": account.points,
    }


def as_table(found: Review, top: int) -> list[Any]:
    """Things that rich can print, one below the other."""
    with_luck = any(account.luck is not None for account in found.accounts)
    heads = (
        "player",
        "decisions",
        "loss each",
        f"≥ {DOUBTFUL}",
        f"≥ {BAD}",
        f"≥ {VERY_BAD}",
        *["luck"] * with_luck,
        "points",
    )
    table = empty_table(f"{found.games} {'game' if found.games == 1 else 'games'}", *heads)
    for account in found.accounts:
        counts = [str(account.at_least(limit)) for limit in (DOUBTFUL, BAD, VERY_BAD)]
        luck = [] if account.luck is None else [f"{account.luck:+.2f}"]
        loss = f"{account.mean_loss:.4f}" if account.losses else "-"
        table.add_row(account.player, str(len(account.losses)), loss, *counts, *luck, f"{account.points:+g}")
    return [table, _worst(found.mistakes[:top]), *_notes(found)]


def _worst(mistakes: Sequence[Mistake]) -> Any:
    dice = any(mistake.dice for mistake in mistakes)
    heads = ("game", "move", "player", "position", *["dice"] * dice, "played", "best", "loss")
    table = empty_table("the worst decisions", *heads)
    for mistake in mistakes:
        rolled = [mistake.dice] if dice else []
        texts = (str(mistake.game), str(mistake.move), mistake.player, mistake.position, *rolled, mistake.played)
        table.add_row(*texts, mistake.best, f"{mistake.loss:.4f}", style=shade(mistake.loss))
    return table


def _notes(found: Review) -> list[str]:
    unfinished = [f"{found.unfinished} of the games not finished"] if found.unfinished else []
    return [f"[dim]{note}[/dim]" for note in (*found.notes[:WORST], *unfinished)]
