"""Positions that come again: every search against plain minimax that keeps the whole game in a list."""

from __future__ import annotations

import functools
import itertools

import numpy as np
import pytest
from exact_search import EXACT_FOR_TWO
from game_names import mostly_slow
from path_games import CELLS, FIRST, WAITS, Walk, corridor, one_card, walk_key
from toy_games import random_evaluator

from deltaw.envs.bits import WORLD, random_word
from deltaw.envs.errors import InputError
from deltaw.envs.game import FORBIDDEN, Baseline
from deltaw.envs.kernel import kernel
from deltaw.envs.path import COUNT, make_path, reach
from deltaw.envs.record import Event, begin, follow, is_over, moves_of
from deltaw.search.analysis.rollout import roll_out
from deltaw.search.matches.match import match
from deltaw.search.matches.recording import play_games
from deltaw.search.players.agent import Agent
from deltaw.search.players.batched import BatchedPlayer
from deltaw.search.players.find import player_of
from deltaw.search.players.how import How, Limits
from deltaw.search.players.players import Decisions, RandomPlayer
from deltaw.search.players.plies import WORLDS
from deltaw.search.players.searching_player import SearchingPlayer
from deltaw.search.tree.algorithm import algorithms, search
from deltaw.search.tree.engine import Engine
from deltaw.search.tree.engine_node import PLAIN, VERSION
from deltaw.search.tree.transposition import LOWER, UPPER, entry_bound, entry_depth, entry_value, find, table_key


@kernel
def nothing(state):
    return 0.0


ZERO = Baseline("zero", "value", nothing, "no opinion")
GAMES = {repetition: corridor(repetition) for repetition in (2, 3, FORBIDDEN)}
each_meaning = pytest.mark.parametrize("repetition", mostly_slow(GAMES, (3, FORBIDDEN)))


def searches() -> list:
    """Every exact algorithm where the third occurrence is a draw, and one with a table for each of the other meanings;
    the rest is slow."""
    return [
        pytest.param(name, n, marks=() if n == 3 or name == "alphabeta_table" else pytest.mark.slow)
        for n in GAMES
        for name in EXACT_FOR_TWO
    ]


def is_known(state, earlier, times):
    """Whether the position stands so often among the earlier ones that can come again."""
    return earlier[max(0, len(earlier) - state.since) :].count(walk_key(state)) >= times


def allowed(game, state, earlier):
    moves = [0, 1, 2] if state.waits else [0, 1]
    if game.rules.repetition != FORBIDDEN:
        return moves
    return [move for move in moves if not is_known(game.rules.play(state, move), [*earlier, walk_key(state)], 1)]


def minimax(game, state, earlier, depth):
    """The value of `state` for its mover; `earlier`: keys of the positions before it."""
    over, value = game.rules.outcome(state)
    if over:
        return value
    if game.rules.repetition != FORBIDDEN and is_known(state, earlier, game.rules.repetition - 1):
        return 0.0
    if depth == 0:
        return game.baselines["odd"].function(state)
    after = [*earlier, walk_key(state)]
    return max(-minimax(game, game.rules.play(state, m), after, depth - 1) for m in allowed(game, state, earlier))


@functools.cache
def histories(repetition):
    """[(game so far, keys of its positions)] of running games, by random moves."""
    game, random, found = GAMES[repetition], np.random.default_rng(1), []
    for _ in range(40):
        course, keys = begin(game, game.state(*game.rules.initial())), []
        for _ in range(int(random.integers(2, 12))):
            move = int(random.choice(allowed(game, course.state, keys)))
            then = follow(game, course, Event(False, move))
            if is_over(game, then):
                break
            keys.append(walk_key(course.state))
            course = then
        found.append((course, keys))
    return found


@each_meaning
def test_a_game_keeps_its_path(repetition):
    game = GAMES[repetition]
    for course, keys in histories(repetition):
        assert course.path[COUNT] == len(keys)
        assert moves_of(game, course) == allowed(game, course.state, keys)


@pytest.mark.parametrize(("name", "repetition"), searches())
def test_algorithms_know_the_path(name, repetition):
    """Those with a table too: its keys hold the path."""
    game = GAMES[repetition]
    for course, keys in histories(repetition)[:6]:
        for depth in (1, 3, 6):
            found = search(game, game.baselines["odd"], course.state, name, depth=depth, full=True, path=course.path)
            after = [*keys, walk_key(course.state)]
            values = {m.move: m.value for m in found.ranked}
            assert set(values) == set(allowed(game, course.state, keys))
            for move, value in values.items():
                child = game.rules.play(course.state, move)
                assert value == pytest.approx(-minimax(game, child, after, depth - 1), abs=1e-6)


@each_meaning
def test_the_engine_knows_the_path(repetition):
    game = GAMES[repetition]
    engine = Engine(game, game.baselines["odd"], options=PLAIN._replace(table_from=99))
    for course, keys in histories(repetition):
        for depth in (1, 2, 5, 7):
            found = engine.search(course.state, depth=depth, path=course.path, full=True)
            assert found.value == pytest.approx(minimax(game, course.state, keys, depth), abs=1e-6)


@each_meaning
def test_a_repetition_does_not_poison_the_engines_table(repetition):
    """After searches on many paths, every entry is true of a game that begins in its position. (Of entries two moves
    deep, below which no entry is asked: one that was found may itself overlook a repetition.)"""
    game = GAMES[repetition]
    engine = Engine(game, game.baselines["odd"], options=PLAIN._replace(table_from=2))
    for course, _ in histories(repetition):
        engine.search(course.state, depth=3, path=course.path)
    entries = 0
    for place, waits, seat in itertools.product(range(1, CELLS - 1), range(WAITS + 1), (0, 1)):
        state = Walk(place, waits, 0, seat)
        row = find(engine.table, table_key(game.rules, state, engine.control[VERSION]))
        if row >= 0:
            entries += 1
            value, stored = (
                minimax(game, state, [], int(entry_depth(engine.table, row))),
                entry_value(engine.table, row),
            )
            assert value <= stored + 1e-6 or entry_bound(engine.table, row) == LOWER
            assert value >= stored - 1e-6 or entry_bound(engine.table, row) == UPPER
    assert entries > 5


@each_meaning
def test_an_end_by_repetition_is_the_answer(repetition):
    """A search that is asked about a finished game says so."""
    game = GAMES[repetition]
    path, state = make_path(game.rules), game.state(*game.rules.initial())
    for move in [1, 1] * (repetition - 1 if repetition > 1 else 1):
        reach(game.rules, path, state)
        state = game.rules.play(state, move)
    for found in (
        search(game, game.baselines["odd"], state, "alphabeta", depth=3, path=path),
        Engine(game, game.baselines["odd"]).search(state, depth=3, path=path),
    ):
        drawn = repetition != FORBIDDEN
        assert (found.move is None) == drawn
        assert found.value == 0.0 or not drawn


# --- players and matches ---------------------------------------------------------------------------------------------


def naive_values(game, state, earlier, plies):
    """{move: value} of a decision at so many plies, which is minimax so deep."""
    after = [*earlier, walk_key(state)]
    return {m: -minimax(game, game.rules.play(state, m), after, plies - 1) for m in allowed(game, state, earlier)}


@each_meaning
@pytest.mark.parametrize("plies", [1, 2])
def test_players_by_plies_know_the_path(repetition, plies):
    game = GAMES[repetition]
    player = player_of(game, game.baselines["odd"], "odd", How(plies, candidates=0), threads=1)
    courses = [course for course, _ in histories(repetition)]
    rows, paths = np.array([game.row(c.state) for c in courses]), np.array([c.path for c in courses])
    chosen, values = player.decide(Decisions.of(rows, paths=paths), 0)
    for i, (course, keys) in enumerate(histories(repetition)):
        wanted = naive_values(game, course.state, keys, plies)
        assert values[i] == pytest.approx(max(wanted.values()), abs=1e-6)
        assert wanted[int(chosen.moves[i])] == pytest.approx(max(wanted.values()), abs=1e-6)


@each_meaning
def test_a_match_and_records_are_the_same_games(repetition):
    """The match is compiled and side by side; the records are made one by one, by another program."""
    game = GAMES[repetition]
    players = [player_of(game, game.baselines["odd"], "odd", threads=1), RandomPlayer(game)]
    records = play_games(game, players, 40, seed=5, opening_plies=1)
    result = match(game, *players, 40, seed=5, opening_plies=1)
    payoffs = [dict(zip(record.players, record.payoffs, strict=True))["odd"] for record in records]
    assert result.mean == sum(payoffs) / 40
    assert result.plies == sum(len(record.events) for record in records)
    assert (0 in result.outcomes) == (repetition != FORBIDDEN)


CARD = one_card()


@pytest.mark.parametrize("plies", [1, 2])
def test_a_choice_does_not_depend_on_what_is_hidden(plies):
    """At 1 and 2 plies, for every card of the other player; and it is the best move on the average of the worlds that
    were dealt."""
    evaluator = random_evaluator(CARD, 3, head="tanh")
    player = player_of(CARD, evaluator, "net", How(plies, candidates=0), threads=1)
    for mine in range(1, 6):
        states = [CARD.state(mine, theirs, FIRST, 0, 1) for theirs in range(1, 6) if theirs != mine]
        chosen, values = player.decide(Decisions.of(np.array(states)), 7)
        assert len(set(chosen.moves.tolist())) == 1
        assert len(set(values.tolist())) == 1
        if plies == 1:
            word = random_word(7, 0, 0, WORLD)
            worlds = [CARD.rules.determinize(states[0], random_word(word, w, 0, WORLD)) for w in range(WORLDS)]
            means = [np.mean([-evaluator.opinion(CARD.rules.play(s, m)).value for s in worlds]) for m in (0, 1)]
            assert values[0] == pytest.approx(max(means), abs=1e-6)


def solved(state, depth):
    """Minimax that sees both cards, with the baseline's opinion at the end."""
    over, value = CARD.rules.outcome(state)
    if over or depth == 0:
        return value if over else 0.0
    return max(-solved(CARD.rules.play(state, move), depth - 1) for move in (0, 1))


SEARCHES = ["engine", *(name for name in EXACT_FOR_TWO if not algorithms()[name].vectors), "and_or", "quiescence"]


@pytest.mark.parametrize("name", mostly_slow(SEARCHES, ("engine", "negascout", "and_or")))
def test_searches_average_over_worlds(name):
    """The engine and the algorithms: as minimax in every world that was dealt, and the same for every hidden card."""
    player = SearchingPlayer(CARD, ZERO, name, How(algorithm=name, limits=Limits(depth=2)), threads=1)
    for mine in (1, 3, 5):
        states = [CARD.state(mine, theirs, FIRST, 0, 1) for theirs in range(1, 6) if theirs != mine]
        found, word = [player.judge(state) for state in states], 0
        assert len({(judged.value, judged.moves[0].move) for judged in found}) == 1
        worlds = [CARD.rules.determinize(states[0], random_word(word, w, 0, WORLD)) for w in range(WORLDS)]
        means = {m: np.mean([-solved(CARD.rules.play(world, m), 1) for world in worlds]) for m in (0, 1)}
        assert {m.move: m.value for m in found[0].moves} == pytest.approx(means, abs=1e-6)


def test_an_agent_knows_the_path_and_does_not_see_the_hidden_card():
    game = GAMES[3]
    for how in ({"plies": 1}, {"algorithm": "alphabeta", "limits": Limits(depth=1)}):
        agent = Agent(game, game.baselines["odd"], **how)
        for course, keys in histories(3)[:8]:
            wanted = naive_values(game, course.state, keys, 1)
            ranked = agent.rank(course.state, course.path)
            assert {m.move: m.value for m in ranked} == pytest.approx(wanted, abs=1e-6)
            assert agent.choose(course.state, course.path) in [
                m for m, v in wanted.items() if v == max(wanted.values())
            ]
    agent = Agent(CARD, random_evaluator(CARD, 3, head="tanh"))
    views = [agent.rank(CARD.state(3, theirs, FIRST, 0, 1)) for theirs in (1, 2, 4, 5)]
    assert len({tuple((m.move, m.value) for m in ranked) for ranked in views}) == 1


def test_an_evaluator_of_batches_knows_the_path():
    class Odd:
        gives_chances = False

        def values(self, rows):
            found = [self.value(GAMES[3].state(*row)) for row in rows.tolist()]
            return np.array(found, float), np.array(found, np.float32)[:, None].reshape(-1, 1)

        def value(self, state):
            over, value = GAMES[3].rules.outcome(state)
            return value if over else GAMES[3].baselines["odd"].function(state)

    for plies in (1, 2):
        player = BatchedPlayer(GAMES[3], Odd(), "odd", plies, candidates=0, threads=1)
        courses = [course for course, _ in histories(3)]
        rows, paths = np.array([GAMES[3].row(c.state) for c in courses]), np.array([c.path for c in courses])
        _, values = player.decide(Decisions.of(rows, paths=paths), 0)
        wanted = [max(naive_values(GAMES[3], c.state, keys, plies).values()) for c, keys in histories(3)]
        assert values.tolist() == pytest.approx(wanted, abs=1e-6)


def test_what_cannot_be_listed_or_searched_is_refused():
    dealt = one_card(False)
    with pytest.raises(InputError, match="not dealt yet"):
        search(dealt, ZERO, dealt.state(*dealt.rules.initial()), "alphabeta", depth=2)
    with pytest.raises(InputError, match="not dealt yet"):
        Engine(CARD, ZERO).search(CARD.state(*CARD.rules.initial()), depth=2)
    with pytest.raises(InputError, match="does not list"):
        match(dealt, RandomPlayer(dealt), RandomPlayer(dealt), 2, luck=random_evaluator(dealt, 1).leaf)
    with pytest.raises(InputError, match="roll-outs would see it"):
        roll_out(CARD, random_evaluator(CARD, 1).leaf, np.array([CARD.state(1, 2, FIRST, 0, 1)]), 2)
