"""Evolution beside sparring partners. The oracles: `learn/learners/evolution.py` by itself for the partners, and
the same population against partners that were saved to files."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from deltaw.envs import games
from deltaw.envs.errors import InputError
from deltaw.learn.learners import evolution
from deltaw.learn.learners.sparring import Options, Sparring, make, partner_seed, piece_counter
from deltaw.learn.run.checkpoint import load_checkpoint, save_checkpoint
from deltaw.learn.run.config import EvaluatorConfig, TuplesConfig
from deltaw.learn.run.start import fresh
from deltaw.learn.selfplay.fitness import Arena
from deltaw.learn.workers.backend import Serial, Threads
from deltaw.search.evaluators.evaluator import Evaluator, save_evaluator
from deltaw.search.matches.match import match
from deltaw.search.players.players import EvaluatorPlayer

SMALL: dict[str, Any] = {"population": 12, "elites": 3, "rounds": [8], "sigma": 0.2}
PARTNER = evolution.Options(population=8, elites=2, rounds=[6], peers=3, fame=0)


def start_of(game: str = "tic_tac_toe") -> Evaluator:
    shape = EvaluatorConfig(head="tanh", tuples=TuplesConfig(lines=[2]) if game != "backgammon" else None)
    return fresh(games.load(game), games.load(game).default_features, shape, 1)


def learner(game: str = "tic_tac_toe", seed: int = 1, backend=None, partner=PARTNER, **options) -> Sparring:
    chosen = Options(**({"partners": 2, "partner_games": 90, "partner": partner} | SMALL | options))
    return make(chosen, start_of(game), seed=seed, budget=1000, backend=backend or Serial())


def run(sparring: Sparring, steps: int):
    for _ in range(steps):
        metrics = sparring.step()
    return metrics


def same(one: Evaluator, other: Evaluator) -> bool:
    return all(np.array_equal(tensor, other.tensors[name]) for name, tensor in one.tensors.items())


def test_partners_teach_themselves_first():
    """Each is the run of `evolution` that it would be without anybody to spar with, and learns nothing later."""
    sparring = learner("connect_four")
    first = sparring.evaluator()
    run(sparring, 4)
    assert same(sparring.evaluator(), first)
    run(sparring, 3)
    assert not same(sparring.evaluator(), first)
    for k, partner in enumerate(sparring.partners):
        own = partner_seed(1, k)
        start = piece_counter(games.load("connect_four"), own)
        alone = evolution.make(PARTNER, start, seed=own, budget=1, backend=Serial())
        alone.step()
        alone.step()
        assert alone.games == 96
        assert same(alone.evaluator(), partner.evaluator())
    assert not same(sparring.partners[0].evaluator(), sparring.partners[1].evaluator())


def test_the_population_meets_the_partners(tmp_path, monkeypatch):
    """Its fitness is that against the partners as fixed players, from files, in an order of every generation's own."""
    sparring, seen = learner("connect_four", partners=3, baselines=["points_2"]), []
    run(sparring, 6)
    names = {f"partner_{k}": str(tmp_path / f"{k}.safetensors") for k in range(3)}
    for name, partner in zip(names.values(), sparring.partners, strict=True):
        save_evaluator(partner.evaluator(), name)
    measure = Arena.measure

    def noted(arena, genomes, rivals, seed):
        found = measure(arena, genomes, rivals, seed)
        seen.append((arena, genomes.copy(), rivals, seed, found, [fixed.name for fixed in arena.fixed]))
        return found

    monkeypatch.setattr(Arena, "measure", noted)
    run(sparring, 5)
    for arena, genomes, rivals, seed, found, order in seen:
        assert arena is sparring.population.arena
        assert order[0] == "points_2"
        assert set(order[1:]) == set(names)
        options = Options(**(SMALL | {"baselines": [names.get(name, name) for name in order]}))
        expected = measure(Arena(arena.genome, options, Serial()), genomes, rivals, seed)
        assert np.array_equal(found.fitness.mean, expected.fitness.mean)
        assert np.array_equal(found.against, expected.against)
    assert len({tuple(order) for *_, order in seen}) > 1


@pytest.mark.parametrize("steps", [3, 6])
def test_a_run_goes_on_exactly(tmp_path, steps):
    """From the partners' time and from the population's; whoever plays the games."""
    whole = learner(peers=1, fame=1)
    run(whole, steps)
    save_checkpoint(tmp_path / "c.pt", {"settings": {}, "learner": whole.state()})
    run(whole, 4)
    other = learner(peers=1, fame=1, backend=Threads(2))
    other.restore(load_checkpoint(tmp_path / "c.pt")["learner"])
    run(other, 4)
    assert same(whole.evaluator(), other.evaluator())
    assert all(same(a.evaluator(), b.evaluator()) for a, b in zip(whole.partners, other.partners, strict=True))
    assert whole.games == other.games


def test_games_are_those_of_all():
    sparring = learner()
    metrics = run(sparring, 1)
    assert metrics.games == 48
    assert np.isfinite(metrics.scalars["partner/best"])
    metrics = run(sparring, 6)
    assert metrics.games == sparring.games == 4 * 8 * 6 + 3 * 12 * 8
    assert np.isfinite(metrics.scalars["ga/fixed"])
    assert "ga/hall_of_fame" not in metrics.scalars
    assert sparring.evaluator().description.trained == {"method": "sparring genetic", "games": metrics.games, "seed": 1}
    assert 5 <= metrics.positions / metrics.games <= 9


def test_what_is_exported_is_the_populations_answer():
    sparring = learner()
    run(sparring, 6)
    answer = sparring.population.genome.evaluator(sparring.population.strategy.best(), {})
    assert same(sparring.evaluator(), answer)


def test_it_learns():
    """Connect Four: better than every partner, in games that it did not learn from."""
    partner = evolution.Options(population=20, elites=4, rounds=[20], peers=10, fame=0)
    sparring = learner("connect_four", population=40, elites=8, rounds=[16], partner=partner, partner_games=400)
    run(sparring, 2 + 25)
    game = games.load("connect_four")
    learned, *partners = (
        EvaluatorPlayer(game, own.evaluator().leaf, "e", threads=1) for own in (sparring, *sparring.partners)
    )
    for other in partners:
        assert match(game, learned, other, 400, 9, threads=1).mean > 0.3


def test_a_partner_is_a_weighted_piece_counter():
    """Othello: ten kinds of squares under the symmetries, each empty, mine or the opponent's."""
    counter = piece_counter(games.load("othello"), 1)
    assert counter.tensors["weight0"].shape == (30, 1)
    assert counter.description.kind == "ntuple"


def test_a_game_without_a_board_has_linear_partners():
    sparring = learner("backgammon")
    run(sparring, 5)
    assert sparring.finite()
    assert {partner.evaluator().description.kind for partner in sparring.partners} == {"linear"}


def test_divergence_of_a_partner_is_noticed():
    sparring = learner()
    assert sparring.finite()
    sparring.partners[1].strategy.population[0, 0] = np.nan
    assert not sparring.finite()


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ({"partners": 0}, "learner.partners=0"),
        ({"partner_games": 0}, "learner.partner_games=0"),
        ({"partner_games": 500}, "games=1,000 leaves the population none: its 2 partners learn from 1,000"),
        ({"population": 1}, "learner.population=1"),
        ({"hall": 0}, "learner.hall=0"),
        ({"partner": evolution.Options(population=1)}, "learner.partner.population=1"),
        ({"partner": evolution.Options(sigma=0.0)}, "learner.partner.sigma=0.0"),
        ({"partner": evolution.Options(peers=0)}, "learner.partner.peers=0 and no learner.partner.baselines"),
        ({"partner": evolution.Options(baselines=["nobody"])}, "learner.partner.baselines: no player 'nobody'"),
    ],
)
def test_bad_options_are_one_line(change, named):
    with pytest.raises(InputError) as error:
        learner(**change)
    assert named in str(error.value)
    assert "\n" not in str(error.value)
