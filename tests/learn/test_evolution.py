"""Genomes, fitness by games, and the learner around them. The oracle of fitness is the arena:
`search/matches/match.py` plays the same games with other code."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from test_genetic import needs_cma

from deltaw.envs import games
from deltaw.envs.errors import InputError
from deltaw.learn.learners.evolution import Options, dice, make
from deltaw.learn.run.checkpoint import load_checkpoint, save_checkpoint
from deltaw.learn.run.config import EvaluatorConfig, TuplesConfig
from deltaw.learn.run.start import fresh
from deltaw.learn.selfplay.fitness import Arena, FitnessOptions, Scores, pairings
from deltaw.learn.weights.genome import Genome
from deltaw.learn.workers.backend import Serial, Threads
from deltaw.search.evaluators.evaluator import Evaluator
from deltaw.search.evaluators.work import make_work
from deltaw.search.matches.match import Match, match
from deltaw.search.players.find import find_player
from deltaw.search.players.players import EvaluatorPlayer, Player

SHAPES = {
    "linear": EvaluatorConfig(hidden=[], head="identity"),
    "linear classes": EvaluatorConfig(hidden=[], head="classes"),
    "network": EvaluatorConfig(hidden=[5, 3], head="tanh", activation="sigmoid"),
    "network classes": EvaluatorConfig(hidden=[4], head="classes"),
}


def start_of(game: str = "tic_tac_toe", shape: EvaluatorConfig = SHAPES["linear"], seed: int = 1) -> Evaluator:
    return fresh(games.load(game), games.load(game).default_features, shape, seed)


def population(genome: Genome, size: int, seed: int = 2) -> np.ndarray:
    return 0.3 * np.random.default_rng(seed).standard_normal((size, genome.size)).astype(np.float32)


def some_rows(game, count: int = 20) -> np.ndarray:
    """Positions of random games, before the dice."""
    from deltaw.learn.exports.export import random_positions

    return random_positions(game, 5, count)


# --- genomes ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("shape", SHAPES)
def test_a_genome_is_all_weights_and_nothing_else(shape):
    start = start_of("connect_four", SHAPES[shape])
    genome = Genome(start)
    assert genome.size == sum(t.size for t in start.tensors.values())
    vector = genome.vector(start)
    again = genome.evaluator(vector, {"games": 3})
    assert again.description.trained == {"games": 3}
    assert {name: t.shape for name, t in again.tensors.items()} == {name: t.shape for name, t in start.tensors.items()}
    assert all(np.array_equal(t, again.tensors[name]) for name, t in start.tensors.items())
    other = population(genome, 1)[0]
    assert np.array_equal(genome.vector(genome.evaluator(other, {})), other)


@pytest.mark.parametrize("shape", SHAPES)
def test_a_stack_of_genomes_values_positions_as_its_evaluators_do(shape):
    game = games.load("connect_four")
    genome = Genome(start_of("connect_four", SHAPES[shape]))
    genomes, rows = population(genome, 3), some_rows(game)
    leaf = genome.leaf(genomes)
    for r, vector in enumerate(genomes):
        evaluator = genome.evaluator(vector, {})
        expected, _ = evaluator.values(rows)
        weights = leaf.weights._replace(first=leaf.weights.first[r], dense=leaf.weights.dense[r])
        work = make_work(evaluator.leaf, game)
        for row, value in zip(rows, expected, strict=True):
            leaf.expect(game.rules, weights, game.unrow(row), work)
            found = leaf.evaluate(game.rules, weights, game.unrow(row), work)
            assert found == pytest.approx(value, abs=1e-5)


def test_groups_of_a_network_are_its_neurons():
    """Every tensor is filled with the number of the neuron that its weights lead to."""
    start = start_of(shape=SHAPES["network"])
    genome, tensors, begin = Genome(start), {}, 0
    for k in range(3):
        inputs, outputs = start.tensors[f"weight{k}"].shape
        neurons = np.arange(begin, begin + outputs, dtype=np.float32)
        tensors |= {f"weight{k}": np.tile(neurons, (inputs, 1)), f"bias{k}": neurons}
        begin += outputs
    numbered = dataclasses.replace(start, tensors=tensors)
    assert np.array_equal(genome.groups(), genome.vector(numbered))


def test_groups_of_a_linear_evaluator_are_its_features():
    start = start_of(shape=SHAPES["linear classes"])
    inputs, outputs = start.tensors["weight0"].shape
    tensors = {
        "weight0": np.repeat(np.arange(inputs, dtype=np.float32)[:, None], outputs, axis=1),
        "bias0": np.full(outputs, inputs, np.float32),
    }
    assert np.array_equal(Genome(start).groups(), Genome(start).vector(dataclasses.replace(start, tensors=tensors)))


# --- fitness ----------------------------------------------------------------------------------------------------------


def measured(
    start: Evaluator, genomes: np.ndarray, rivals: np.ndarray, options: FitnessOptions, seed: int = 11, backend=None
) -> Scores:
    return Arena(Genome(start), options, backend or Serial()).measure(genomes, rivals, seed)


def by_match(
    start: Evaluator, genome: np.ndarray, opponents: list[Player], rounds: int, seed: int = 11, noise: float = 0.0
) -> np.ndarray:
    """Results of the games 0 .. rounds - 1, each against the opponent whose turn it is."""
    game = start.game
    player = EvaluatorPlayer(game, Genome(start).evaluator(genome, {}).leaf, "individual", threads=1)
    results = []
    for opponent in opponents:
        contest = Match(game, player, opponent, rounds, seed, threads=1, noise=noise)
        while not contest.done:
            contest.step()
        results.append(contest.record.result)
    numbers = np.arange(rounds)
    return np.array(results)[numbers // 2 % len(opponents), numbers]


@pytest.mark.parametrize(
    ("game", "shape", "baselines", "noise"),
    [
        ("tic_tac_toe", "network classes", ["random", "open_lines"], 0.0),
        ("connect_four", "linear", ["points_2", "random"], 0.3),
        ("connect_four", "network", [], 0.0),
        ("backgammon", "linear", ["pubeval"], 0.0),
        ("backgammon", "network", [], 0.0),
    ],
)
def test_fitness_is_that_of_a_match(game, shape, baselines, noise):
    """Game by game, against rivals, baselines of both kinds and random, by the mean of what the arena says."""
    start, rounds = start_of(game, SHAPES[shape]), 12
    genome = Genome(start)
    genomes, rivals = population(genome, 3), population(genome, 2, seed=4)
    found = measured(start, genomes, rivals, FitnessOptions(rounds=[rounds], baselines=baselines, noise=noise))
    players: list[Player] = [
        EvaluatorPlayer(start.game, genome.evaluator(rival, {}).leaf, "rival", threads=1) for rival in rivals
    ]
    players += [find_player(start.game, name, threads=1) for name in baselines]
    results = np.array([by_match(start, vector, players, rounds, noise=noise) for vector in genomes])
    assert found.fitness.mean == pytest.approx(results.mean(axis=1), abs=1e-12)
    assert found.games == results.size
    which = np.arange(rounds) // 2 % len(players)
    assert found.against == pytest.approx([results[:, which == k].mean() for k in range(len(players))])


def test_a_shipped_evaluator_is_an_opponent():
    start = start_of("backgammon")
    genomes = population(Genome(start), 2)
    options = FitnessOptions(rounds=[4], baselines=["linear"])
    found = measured(start, genomes, np.empty((0, genomes.shape[1])), options)
    player = find_player(start.game, "linear", threads=1)
    assert found.fitness.mean == pytest.approx([by_match(start, g, [player], 4).mean() for g in genomes])


def test_an_individual_against_itself_scores_nothing():
    start = start_of("backgammon")
    genomes = population(Genome(start), 2)
    found = measured(start, genomes, genomes[:1], FitnessOptions(rounds=[20]))
    assert found.fitness.mean[0] == 0.0
    assert found.fitness.mean[1] != 0.0


@pytest.mark.parametrize("game", ["connect_four", "backgammon"])
def test_fitness_does_not_depend_on_the_workers(game):
    start = start_of(game)
    genome = Genome(start)
    arguments = (
        start,
        population(genome, 40),
        population(genome, 2, seed=4),
        FitnessOptions(rounds=[4, 14], baselines=["random"]),
    )
    backends = [Serial(), Threads(2), Threads(3)]
    one, *others = [measured(*arguments, backend=backend) for backend in backends]
    for other in others:
        assert_same(one, other)


def assert_same(one: Scores, other: Scores) -> None:
    assert all(np.array_equal(a, b) for a, b in zip(one.fitness, other.fitness, strict=True))
    assert np.array_equal(one.against, other.against)
    assert one.plies == other.plies


def test_the_better_half_plays_on():
    start = start_of("connect_four")
    genome = Genome(start)
    genomes, rivals = population(genome, 9), population(genome, 2, seed=4)
    first = measured(start, genomes, rivals, FitnessOptions(rounds=[8]))
    whole = measured(start, genomes, rivals, FitnessOptions(rounds=[40]))
    found = measured(start, genomes, rivals, FitnessOptions(rounds=[8, 20, 40], survivors=0.5))
    games_of = np.sort(found.fitness.games)[::-1]
    assert games_of.tolist() == [40] * 2 + [20] * 2 + [8] * 5  # round(4.5) is 4
    best = np.argsort(-first.fitness.mean, kind="stable")[:4]
    assert set(np.flatnonzero(found.fitness.games > 8)) == set(best)
    last = found.fitness.games == 40
    assert np.array_equal(found.fitness.mean[last], whole.fitness.mean[last])
    early = found.fitness.games == 8
    assert np.array_equal(found.fitness.mean[early], first.fitness.mean[early])
    order = np.argsort(found.fitness.place)
    keys = [(-found.fitness.games[i], -found.fitness.mean[i]) for i in order]
    assert keys == sorted(keys)


def test_pairings_give_everyone_the_same_games():
    schedule = pairings(np.array([1, 4]), learned=2, size=7, fixed=1, first=2, last=8)
    assert schedule[:6].tolist() == [[0, 1, 8, 2], [0, 1, 8, 3], [1, 1, 0, 4], [1, 1, 0, 5], [0, 1, 7, 6], [0, 1, 7, 7]]
    assert np.array_equal(schedule[6:, [0, 2, 3]], schedule[:6, [0, 2, 3]])
    assert (schedule[6:, 1] == 4).all()


# --- the learner ------------------------------------------------------------------------------------------------------


def learner(game: str = "tic_tac_toe", shape: str = "linear", seed: int = 1, backend=None, **options):
    chosen = Options(**({"population": 16, "elites": 4, "rounds": [16], "hall_every": 1, "hall": 3} | options))
    return make(chosen, start_of(game, SHAPES[shape]), seed=seed, budget=1000, backend=backend or Serial())


def run(evolution, generations: int):
    for _ in range(generations):
        metrics = evolution.step()
    return metrics


@pytest.mark.parametrize("shape", ["linear", "network"])
@pytest.mark.parametrize("strategy", ["genetic", pytest.param("cma", marks=needs_cma)])
def test_a_run_goes_on_exactly(tmp_path, strategy, shape):
    whole = learner(shape=shape, strategy=strategy, rounds=[8, 16])
    run(whole, 4)
    save_checkpoint(tmp_path / "c.pt", {"settings": {}, "learner": whole.state()})
    run(whole, 3)
    other = learner(shape=shape, strategy=strategy, rounds=[8, 16], backend=Threads(2))
    other.restore(load_checkpoint(tmp_path / "c.pt")["learner"])
    run(other, 3)
    assert (whole.games, whole.positions) == (other.games, other.positions)
    assert np.array_equal(whole.hall, other.hall)
    assert np.array_equal(whole.strategy.ask(), other.strategy.ask())
    assert all(np.array_equal(t, other.evaluator().tensors[k]) for k, t in whole.evaluator().tensors.items())


@pytest.mark.parametrize("strategy", ["genetic", pytest.param("cma", marks=needs_cma)])
def test_evolution_learns(strategy):
    """Connect Four, by self-play alone: soon far stronger than where it began."""
    evolution = learner("connect_four", strategy=strategy, population=40, elites=8)
    game, start = evolution.genome.start.game, evolution.evaluator()
    run(evolution, 12)
    one, other = (EvaluatorPlayer(game, e.leaf, "e", threads=1) for e in (evolution.evaluator(), start))
    assert match(game, one, other, 400, 9, threads=1).mean > 0.5


def test_metrics_name_what_was_played():
    evolution = learner()
    metrics = run(evolution, 3)
    assert metrics.games == evolution.games == 3 * 16 * 16
    assert {
        "ga/best", "ga/mean", "ga/median", "ga/worst", "ga/sigma", "ga/diversity", "ga/elite_retest",
        "ga/elite_expected", "ga/hall_of_fame", "play/game_length",
    } == set(metrics.scalars)  # fmt: skip
    assert all(np.isfinite(value) for value in metrics.scalars.values())
    assert 5 <= metrics.scalars["play/game_length"] <= 9
    assert metrics.positions == pytest.approx(7.5 * metrics.games, rel=0.35)
    assert evolution.evaluator().description.trained == {
        "method": "evolution genetic",
        "games": metrics.games,
        "seed": 1,
    }


def test_the_hall_of_fame_holds_its_size():
    evolution = learner()
    run(evolution, 2)
    assert len(evolution.hall) == 2
    run(evolution, 3)
    assert len(evolution.hall) == 3
    assert np.array_equal(evolution.hall[-1], evolution.strategy.best())


def test_every_generation_has_dice_of_its_own():
    assert len({dice(seed, generation) for seed in range(3) for generation in range(50)}) == 150


def test_divergence_is_noticed():
    evolution = learner()
    assert evolution.finite()
    evolution.strategy.population[0, 0] = np.nan
    assert not evolution.finite()


# --- bad input --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ({"population": 1}, "learner.population=1"),
        ({"sigma": 0.0}, "learner.sigma=0.0"),
        ({"strategy": "annealing"}, "learner.strategy='annealing' is not one of genetic, cma"),
        ({"elites": 16}, "learner.elites=16"),
        ({"rounds": []}, "learner.rounds=[]"),
        ({"rounds": [7]}, "learner.rounds=[7]"),
        ({"rounds": [0]}, "learner.rounds=[0]"),
        ({"rounds": [20, 10]}, "learner.rounds=[20, 10]"),
        ({"survivors": 0.0}, "learner.survivors=0.0"),
        ({"survivors": 1.0}, "learner.survivors=1.0"),
        ({"peers": -1}, "learner.peers=-1"),
        ({"fame": -1}, "learner.fame=-1"),
        ({"peers": 0, "fame": 0}, "nobody to play against"),
        ({"peers": 0}, "nobody to play against while the hall of fame is empty"),
        ({"baselines": ["pubevil"]}, "no player 'pubevil' for tic_tac_toe"),
        ({"baselines": ["nowhere.safetensors"]}, "nowhere.safetensors"),
        ({"opening_plies": -2}, "learner.opening_plies=-2"),
        ({"opening_plies": 0}, "learner.opening_plies=0"),
        ({"hall": 0}, "learner.hall=0"),
        ({"hall_every": 0}, "learner.hall_every=0"),
    ],
)
def test_bad_options_are_one_line(change, named):
    with pytest.raises(InputError) as error:
        learner(**change)
    assert named in str(error.value)
    assert "\n" not in str(error.value)


def test_too_many_weights_are_refused():
    tuples = TuplesConfig(walks=20, length=8)
    start = fresh(games.load("connect_four"), "lines", EvaluatorConfig(head="tanh", tuples=tuples), 1)
    with pytest.raises(InputError, match=r"learner.population=4000 of .* weights each would take"):
        make(Options(population=4000), start, seed=1, budget=1, backend=Serial())


def test_small_n_tuple_networks_evolve():
    tuples = TuplesConfig(lines=[3])
    start = fresh(games.load("tic_tac_toe"), "lines", EvaluatorConfig(head="tanh", tuples=tuples), 1)
    evolution = make(Options(population=8, elites=2, rounds=[8]), start, seed=1, budget=1, backend=Serial())
    run(evolution, 2)
    assert evolution.evaluator().description.kind == "ntuple"
