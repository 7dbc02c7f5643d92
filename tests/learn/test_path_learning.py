"""Learners in games whose positions come again, and in one with a hidden card."""

from __future__ import annotations

import copy

import numpy as np
import pytest
from path_games import corridor, one_card, walk_key

from deltaw.envs.bits import WORLD, random_word
from deltaw.envs.errors import InputError
from deltaw.envs.game import FORBIDDEN
from deltaw.envs.turn import explore, roll
from deltaw.learn.bootstrapping.strap import Step
from deltaw.learn.learner import Learner
from deltaw.learn.learners.td_leaf import DRAWN as DRAWN_LINE
from deltaw.learn.learners.td_leaf import LEAF, learn_from_leaf, play_to_leaf
from deltaw.learn.run.config import EvaluatorConfig, learner_module
from deltaw.learn.run.start import fresh
from deltaw.learn.selfplay.lockstep import SelfPlay, Settings, new_slots
from deltaw.learn.weights.population import stack
from deltaw.learn.weights.trace import clear
from deltaw.learn.workers.backend import Serial
from deltaw.search.evaluators.evaluator import Evaluator, make_evaluator
from deltaw.search.players.plies import WORLDS

DRAWN, FORBIDS, CARD = corridor(3), corridor(FORBIDDEN), one_card()

KNOBS = {
    "td_linear": {"slots": 4},
    "td_sequential": {"plies": 50},
    "true_online": {"plies": 50},
    "td_backward": {"slots": 3},
    "td_leaf": {"depth": 2},
    "tree_strap": {"depth": 2, "search": "minimax"},
}


def some_evaluator(game, seed=2) -> Evaluator:
    """Linear, with random weights."""
    random, features = np.random.default_rng(seed), game.features()
    tensors = {"weight0": random.normal(0, 0.3, (features.num_features, 1)), "bias0": np.zeros(1)}
    return make_evaluator(game, tensors, features=features, head="identity")


# --- self-play in lock-step ------------------------------------------------------------------------------------------


def worth(evaluator, child, mover):
    """The evaluator's value of a result for the player in seat `mover`, exact where the game is over."""
    value = evaluator.opinion(child).value
    return value if evaluator.game.rules.seat(child) == mover else -value


def naive_game(evaluator, seed, number, exploring):
    """(result for seat 0, positions) of a game at 1 ply with exploration, the path in a list."""
    game, keys, ply = evaluator.game, [], 0
    rules, state = game.rules, game.state(*game.rules.initial())
    while True:
        before, mover = [*keys, walk_key(state)], rules.seat(state)
        options = []
        for move in [0, 1, 2] if state.waits else [0, 1]:
            child = game.state(*rules.play(state, move))
            known = before[max(0, len(before) - child.since) :].count(walk_key(child))
            if not (rules.repetition == FORBIDDEN and known):
                options.append((child, rules.repetition != FORBIDDEN and known + 1 >= rules.repetition))
        values = [0.0 if drawn else worth(evaluator, child, mover) for child, drawn in options]
        best, _ = explore(seed, number, ply, exploring, len(options), int(np.argmax(values)))
        (state, drawn), keys, ply = options[best], before, ply + 1
        over, value = rules.outcome(state)
        if over or drawn:
            return (0 if drawn and not over else value if rules.seat(state) == 0 else -value), ply


@pytest.mark.parametrize("game", [DRAWN, FORBIDS], ids=lambda game: game.name)
def test_self_play_keeps_the_path(game):
    evaluator = some_evaluator(game)
    leaf = evaluator.leaf._replace(weights=stack([evaluator.leaf.weights]))
    engine = SelfPlay(game, leaf, new_slots(game, 1, 3, capacity=8), np.zeros((3, 2), np.int64))
    found = [engine.play(Settings(seed=5, trace=0.7, explore=0.4, plies=7)) for _ in range(12)]
    results, lengths = (np.concatenate([getattr(b, name) for b in found]).tolist() for name in ("results", "lengths"))
    games = sorted(zip(results, lengths, strict=True))
    finished = [number for number in range(200) if number < engine.slots.game[number % 3]]
    assert len(finished) > 15
    assert games == sorted(naive_game(evaluator, 5, number, 0.4) for number in finished)
    assert any(result == 0 for result, _ in games) == (game is DRAWN)


# --- learners --------------------------------------------------------------------------------------------------------


def learner(name: str, game) -> Learner:
    module = learner_module(name)
    start = fresh(game, game.default_features, EvaluatorConfig(head="identity"), 1)
    options = module.Options(**KNOBS[name], explore=0.3)
    return module.make(options, start, seed=1, budget=10_000_000, backend=Serial())


def cases() -> list:
    """Every learner where positions come again, one for each of the other games; the rest is slow."""
    quick = ((DRAWN, KNOBS), (FORBIDS, ("td_linear",)), (CARD, ("td_linear", "td_leaf", "tree_strap")))
    return [
        pytest.param(name, game, marks=() if name in names else pytest.mark.slow, id=f"{name}-{game.name}")
        for game, names in quick
        for name in KNOBS
    ]


@pytest.mark.parametrize(("name", "game"), cases())
def test_learners_play_such_games_and_go_on_exactly(name, game):
    if "depth" in KNOBS[name] and game is CARD:
        with pytest.raises(InputError, match="chance"):  # it searches, and would see the other card
            learner(name, game)
        return
    ours = learner(name, game)
    for _ in range(7):
        metrics = ours.step()
    assert metrics.games > 0
    assert ours.finite()
    kept = copy.deepcopy(ours.state())
    twin = learner(name, game)
    twin.restore(kept)
    for one in (ours, twin):
        for _ in range(5):
            one.step()
    for tensor, other in zip(ours.evaluator().tensors.values(), twin.evaluator().tensors.values(), strict=True):
        assert np.array_equal(tensor, other)


def test_self_play_does_not_look_at_the_hidden_card():
    """The first player bets where this is better on the average of the worlds that were dealt."""
    evaluator = some_evaluator(CARD, seed=4)
    leaf = evaluator.leaf._replace(weights=stack([evaluator.leaf.weights]))
    engine = SelfPlay(CARD, leaf, new_slots(CARD, 1, 1), np.zeros((1, 2), np.int64))
    batch = engine.play(Settings(seed=5, trace=0.7, explore=0.0, plies=60))
    bets = []
    for number, length in enumerate(batch.lengths):
        deal, word = roll(CARD.rules, CARD.rules.initial(), 5, number, 0), random_word(5, number, 0, WORLD)
        worlds = [CARD.rules.determinize(deal, random_word(word, w, 0, WORLD)) for w in range(WORLDS)]
        means = [np.mean([worth(evaluator, CARD.rules.play(world, move), 0) for world in worlds]) for move in (0, 1)]
        assert length == 1 + (means[1] > means[0])  # after a bet there is one more position
        bets.append(means[1] > means[0])
    assert 0.1 < np.mean(bets) < 0.9


def test_tdleaf_learns_nothing_from_a_leaf_that_a_repetition_ends():
    """The value of such a line is a draw, whatever the evaluator thinks of its last position."""
    ours, ended = learner("td_leaf", DRAWN), 0
    for _ in range(300):
        _, drawn, *_ = play_to_leaf(*ours._arguments(), ours._found)
        ended += drawn
        for waiting in (LEAF, DRAWN_LINE):
            ours.trace.leaf[:], ours.trace.flags[:] = ours._found, (waiting, 0)
            clear(ours.trace.e)
            before, step = ours.pupil.weight.copy(), Step(0.1, 0.0, False)
            settings = (0.7, ours.pupil.rule, ours._samples, step)
            learn_from_leaf(DRAWN.rules, ours.pupil.leaf.weights, 0.0, False, ours.trace, *settings)
            over = DRAWN.rules.outcome(DRAWN.unrow(ours._found))[0]
            assert np.array_equal(before, ours.pupil.weight) == (waiting == DRAWN_LINE or over)
    assert ended > 10
