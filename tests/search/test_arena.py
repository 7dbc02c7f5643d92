"""Matches: a naive referee, symmetry, luck adjustment, independence of slots and threads, and the command line."""

from __future__ import annotations

import importlib.util
import json
import math

import numpy as np
import pytest

from deltaw.envs import games
from deltaw.envs.bits import ROLL, random_unit
from deltaw.envs.errors import InputError
from deltaw.envs.game import Game
from deltaw.search import arena
from deltaw.search.evaluators.evaluator import Evaluator, make_evaluator, save_evaluator
from deltaw.search.evaluators.named import leaf_of
from deltaw.search.matches.match import Match, elo, match, paired, roll_rows
from deltaw.search.players.find import find_player
from deltaw.search.players.players import Decisions, EvaluatorPlayer, Player, RandomPlayer

BACKGAMMON = games.load("backgammon")
TIC_TAC_TOE = games.load("tic_tac_toe")
SIGMAS = 4.5
"""a fixed seed either passes or fails; this says how surprising a failure would have been"""


def random_network(game: Game, seed: int, hidden: int = 8) -> Evaluator:
    features = game.features()
    generator = np.random.default_rng(seed)
    shapes = {"weight0": (features.num_features, hidden), "bias0": (hidden,), "weight1": (hidden, 1), "bias1": (1,)}
    tensors = {name: 0.3 * generator.standard_normal(shape, np.float32) for name, shape in shapes.items()}
    return make_evaluator(game, tensors, features=features, head="tanh")


def race() -> Evaluator:
    """A linear evaluator of the lead in pips, 42 of them worth a point: 3 tanh(1.33 x lead / 167)."""
    features = BACKGAMMON.features("tesauro_pips")
    weights = np.zeros((features.num_features, 1), np.float32)
    weights[-2:, 0] = -1.33, 1.33
    tensors = {"weight0": weights, "bias0": np.zeros(1, np.float32)}
    return make_evaluator(BACKGAMMON, tensors, features=features, head="tanh")


def random_positions(game: Game, n: int) -> list[np.ndarray]:
    """Positions before the roll, from random games."""
    positions: list[np.ndarray] = []
    player, number = RandomPlayer(game), 0
    while len(positions) < n:
        state, number, ply = game.rules.initial(), number + 1, 0
        while not game.rules.outcome(state)[0]:
            positions.append(game.row(state))
            row = game.row(roll(game, state, 5, number, ply)[0])
            state = game.unrow(player.choose(Decisions.of(row[None], np.array([[number, ply]])), 5).rows[0])
            ply += 1
    return positions[:n]


def roll(game: Game, state, seed: int, pair: int, ply: int):
    """(state after its chance event, number of the outcome), by a plain running sum."""
    k = game.rules.num_chance(state)
    if k == 0:
        return state, -1
    unit, total = random_unit(seed, pair, ply, ROLL), 0.0
    for i in range(k):
        rolled, probability = game.rules.chance(state, i)
        total += probability
        if unit < total:
            return game.unrow(game.row(rolled)), i
    return game.unrow(game.row(rolled)), k - 1


def best_move_value(game: Game, evaluator: Evaluator, state) -> float:
    """Value of the decision `state` for its mover; every move hands over the turn."""
    moves, children = game.buffers()
    n = game.rules.expand(state, moves, children)
    return float((-evaluator.values(children[:n])[0]).max())


def naive_game(game: Game, first: Player, second: Player, number: int, seed: int, luck: Evaluator) -> tuple[int, float]:
    """(result, luck) for `first` of one game, played by itself."""
    players = (first, second) if number % 2 == 0 else (second, first)
    state, ply, total = game.unrow(game.row(game.rules.initial())), 0, 0.0
    while True:
        over, value = game.rules.outcome(state)
        if over:
            return (value if players[game.rules.seat(state)] is first else -value), total
        player = players[game.rules.seat(state)]
        values = []
        for i in range(game.rules.num_chance(state)):
            rolled, probability = game.rules.chance(state, i)
            values.append((best_move_value(game, luck, rolled), probability))
        rolled, i = roll(game, state, seed, number // 2, ply)
        if i >= 0:
            total += (1 if player is first else -1) * (values[i][0] - sum(v * p for v, p in values))
        row = player.choose(Decisions.of(game.row(rolled)[None], np.array([[number, ply]])), seed).rows[0]
        state, ply = game.unrow(row), ply + 1


# --- the match ----------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def network() -> EvaluatorPlayer:
    return EvaluatorPlayer(BACKGAMMON, random_network(BACKGAMMON, 1).leaf, "network", threads=1)


def test_naive_referee(network):
    pubeval, luck = find_player(BACKGAMMON, "pubeval"), race()
    contest = Match(BACKGAMMON, pubeval, network, 4, seed=3, slots=3, luck=luck.leaf)
    while not contest.done:
        contest.step()
    for number in range(4):
        result, total = naive_game(BACKGAMMON, pubeval, network, number, 3, luck)
        assert contest.record.result[number] == result
        assert contest.record.luck[number] == pytest.approx(total, abs=1e-4)


def test_equal_players_score_zero(network):
    twin = EvaluatorPlayer(BACKGAMMON, network.leaf, "twin", threads=1)
    result = match(BACKGAMMON, network, twin, 20, seed=5)
    assert (result.mean, result.standard_error) == (0.0, 0.0)
    assert all(result.outcomes.get(-value) == n for value, n in result.outcomes.items())


def test_swapped_players_score_the_opposite(network):
    pubeval = find_player(BACKGAMMON, "pubeval")
    one = match(BACKGAMMON, network, pubeval, 40, seed=6)
    other = match(BACKGAMMON, pubeval, network, 40, seed=6)
    assert one.mean == -other.mean
    assert one.standard_error == pytest.approx(other.standard_error)
    assert one.outcomes == {-value: n for value, n in reversed(other.outcomes.items())}


def test_result_depends_on_the_seed_alone(network):
    def play(slots: int, threads: int, seed: int = 7):
        pubeval = find_player(BACKGAMMON, "pubeval", threads=threads)
        first = EvaluatorPlayer(BACKGAMMON, network.leaf, "network", threads=threads)
        results = [
            match(BACKGAMMON, first, other, 8, seed, slots=slots, luck=network.leaf, threads=threads)
            for other in (pubeval, RandomPlayer(BACKGAMMON))
        ]
        return [result._replace(seconds=0.0) for result in results]

    expected = play(256, 1)
    assert play(3, 2) == play(7, 3) == expected
    assert play(256, 1, seed=8) != expected


def test_two_plies_depend_on_no_batch():
    game, leaf = TIC_TAC_TOE, leaf_of(TIC_TAC_TOE.baselines["open_lines"])
    rows = np.array(random_positions(game, 30))
    keys = np.zeros((30, 2), np.int64)
    one = EvaluatorPlayer(game, leaf, "one", plies=2, threads=1).choose(Decisions.of(rows, keys), 0).rows
    three = EvaluatorPlayer(game, leaf, "three", plies=2, threads=3).choose(Decisions.of(rows, keys), 0).rows
    single = [
        EvaluatorPlayer(game, leaf, "x", plies=2, threads=1).choose(Decisions.of(r[None], keys[:1]), 0).rows[0]
        for r in rows
    ]
    assert (one == three).all()
    assert (one == np.array(single)).all()


def test_luck_adjustment_is_unbiased_and_reduces_the_error(network):
    """Both estimate the same mean, as luck has expectation 0; between equal players most of a result is luck."""
    leaf, pubeval = race().leaf, find_player(BACKGAMMON, "pubeval")
    for other, games_played, smaller in ((pubeval, 200, 0.8), (network, 100, None)):
        contest = Match(BACKGAMMON, pubeval, other, games_played, seed=9, luck=leaf)
        while not contest.done:
            contest.step()
        raw, luck = contest.record.result[::2], contest.record.luck[::2]  # one game a pair: these are independent
        assert abs(luck.mean()) < SIGMAS * luck.std() / math.sqrt(len(luck))
        assert luck.std() > 0.3
        if smaller is not None:
            assert (raw - luck).std() < smaller * raw.std()
        mean, error = paired(contest.record.result - contest.record.luck)
        assert (contest.result().adjusted_mean, contest.result().adjusted_error) == (mean, error)


def test_rolls_have_their_chances():
    """Each roll as often as its probability says, and no double in the opening."""
    rules, n = BACKGAMMON.rules, 20_000
    opening = BACKGAMMON.unrow(BACKGAMMON.row(rules.initial()))
    keys = np.stack([2 * np.arange(n), np.zeros(n, np.int64)], axis=1)
    for state in (opening, opening._replace(roll=0)):
        rows, rolls = np.repeat(BACKGAMMON.row(state)[None], n, axis=0), np.empty(n, np.int64)
        roll_rows(rules, rows, keys, 1, 2, np.empty_like(rows), rolls, np.empty(n, np.int64))
        chances = np.array([rules.chance(state, i)[1] for i in range(rules.num_chance(state))])
        picks = np.bincount(rolls, minlength=len(chances))
        assert (np.abs(picks - n * chances) < SIGMAS * np.sqrt(n * chances)).all()
    assert all(rules.chance(opening, i)[0].roll not in (1, 3, 6, 10, 15, 21) for i in range(15))


def test_pubeval_beats_random():
    result = match(BACKGAMMON, find_player(BACKGAMMON, "pubeval"), find_player(BACKGAMMON, "random"), 200)
    assert result.mean > 1.5
    assert result.score > 0.9
    assert sum(result.outcomes.values()) == 200
    assert result.mean == sum(value * n for value, n in result.outcomes.items()) / 200


def test_random_player_draws_evenly():
    row = TIC_TAC_TOE.row(TIC_TAC_TOE.rules.initial())
    keys = np.stack([np.arange(9000), np.zeros(9000, np.int64)], axis=1)
    chosen = RandomPlayer(TIC_TAC_TOE).choose(Decisions.of(np.repeat(row[None], 9000, axis=0), keys), 4).rows
    _, counts = np.unique(chosen[:, 1], return_counts=True)
    assert len(counts) == 9
    assert (np.abs(counts - 1000) < SIGMAS * math.sqrt(1000)).all()


def test_stops_at_the_wanted_error_whatever_the_slots():
    players = find_player(TIC_TAC_TOE, "open_lines"), find_player(TIC_TAC_TOE, "random")
    results = [match(TIC_TAC_TOE, *players, 20_000, slots=slots, until_error=0.02) for slots in (64, 300)]
    assert results[0].games == results[1].games < 20_000
    assert 0.015 < results[0].standard_error <= 0.02
    assert results[0].outcomes == results[1].outcomes


def test_openings_differ_between_pairs_only():
    """Deterministic players without dice: several games, each opening played from both seats."""
    players = [find_player(TIC_TAC_TOE, "open_lines", plies) for plies in (1, 2)]
    result = match(TIC_TAC_TOE, *players, 200)
    assert len(result.outcomes) > 1
    assert match(TIC_TAC_TOE, players[0], players[0], 200).standard_error == 0.0
    assert len(match(TIC_TAC_TOE, *players, 200, opening_plies=0).outcomes) <= 2


def test_long_games_are_draws():
    game = TIC_TAC_TOE.__class__(**(vars(TIC_TAC_TOE) | {"rules": TIC_TAC_TOE.rules._replace(max_plies=4)}))
    result = match(game, RandomPlayer(game), RandomPlayer(game), 10)
    assert (result.outcomes, result.plies) == ({0: 10}, 40)


def test_elo():
    result = match(TIC_TAC_TOE, RandomPlayer(TIC_TAC_TOE), RandomPlayer(TIC_TAC_TOE), 100)
    even = result._replace(outcomes={-1: 25, 0: 50, 1: 25}, standard_error=0.02)
    assert elo(even)[:2] == pytest.approx((0.0, 400 / math.log(10) / 0.25 * 0.01))
    low, high = (400 * math.log10(s / (1 - s)) for s in (0.5 - 1.96 * 0.01, 0.5 + 1.96 * 0.01))
    assert elo(even)[2:] == pytest.approx((low, high))
    assert elo(even._replace(outcomes={-1: 1, 1: 99}))[3] == math.inf  # 0.99 + 1.96 x 0.01 is beyond a score of 1
    assert elo(even._replace(games=11, outcomes={-1: 1, 1: 10}))[0] == pytest.approx(400.0)
    assert elo(even._replace(outcomes={1: 100})) is None


@pytest.mark.parametrize(
    ("change", "message"),
    [({"games": 3}, "not 3"), ({"games": 0}, "not 0"), ({"slots": 0}, "1 slot"), ({"seed": -1}, "not -1")],
)
def test_bad_matches(change, message):
    player = RandomPlayer(TIC_TAC_TOE)
    with pytest.raises(InputError, match=message):
        match(TIC_TAC_TOE, player, player, **({"games": 2, "seed": 0} | change))


# --- gnubg --------------------------------------------------------------------------------------------------------


@pytest.mark.skipif(importlib.util.find_spec("gnubg_nn") is None, reason="the optional gnubg-nn is not installed")
def test_gnubg_plays_its_own_best_move():
    """Always a legal result, and the one that gnubg puts first in its own list."""
    import gnubg_nn

    from deltaw.envs.games.backgammon import notation

    player = find_player(BACKGAMMON, "gnubg")
    states = [
        roll(BACKGAMMON, BACKGAMMON.unrow(row), 2, i, 0)[0] for i, row in enumerate(random_positions(BACKGAMMON, 150))
    ]
    rows = np.array([BACKGAMMON.row(state) for state in states])
    chosen = player.choose(Decisions.of(rows), 0)
    for state, move, result in zip(states, *chosen, strict=True):
        moves, children = BACKGAMMON.buffers()
        n = BACKGAMMON.rules.expand(state, moves, children)
        assert (children[:n][moves[:n] == move] == result).all(axis=1).tolist() == [True]
        board = gnubg_nn.board_from_position_id(notation.position_id(state))
        dice = (int(d) for d in notation.roll_text(state.roll))
        listed = gnubg_nn.best_move(board, *dice, n=0, b=1, list=1)[-1]
        if n > 1 and listed[0][3] - listed[1][3] > 1e-6:
            best = gnubg_nn.position_id([list(side) for side in gnubg_nn.board_from_position_key(listed[0][0])])
            assert notation.position_id(BACKGAMMON.unrow(result)) == best


def test_missing_gnubg_is_explained(monkeypatch, capsys):
    monkeypatch.setitem(__import__("sys").modules, "gnubg_nn", None)
    assert arena.main(["backgammon", "gnubg", "random"]) == 2
    assert (
        capsys.readouterr().err == 'error: the player gnubg needs the package gnubg-nn: pip install "deltaw[peers]"\n'
    )


# --- command line -------------------------------------------------------------------------------------------------


def run(capsys, *argv: str) -> tuple[int, str, str]:
    try:
        status = arena.main(list(argv))
    except SystemExit as stop:
        status = int(stop.code or 0)
    out, err = capsys.readouterr()
    return status, out, "\n".join(line for line in err.splitlines() if not line.startswith("compiling"))


@pytest.mark.parametrize(
    ("argv", "message"),
    [
        ("ludo random random", "unknown game 'ludo'"),
        ("backgammon nobody random", "no player 'nobody' for backgammon"),
        ("tic_tac_toe gnubg random", "no player 'gnubg' for tic_tac_toe"),
        ("backgammon missing.safetensors random", "no evaluator file missing.safetensors"),
        ("backgammon pubeval random --plies 2", "only ranks"),
        ("backgammon random pubeval --opponent-plies 2", "only ranks"),
        ("backgammon random pubeval --plies 2", "random does not look ahead"),
        ("backgammon pubeval random --plies 3", "invalid choice"),
        ("backgammon pubeval random --luck pubeval", "gives no equity"),
        ("backgammon pubeval random --luck nobody", "no evaluator 'nobody'"),
        ("tic_tac_toe random random --luck open_lines", "no dice"),
        ("backgammon pubeval random --games 1", "not 1"),
        ("backgammon pubeval random --games many", "invalid int value: 'many'"),
        ("backgammon pubeval random --slots 0", "--slots must be at least 1, not 0"),
        ("backgammon pubeval random --threads 0", "--threads must be at least 1, not 0"),
        ("backgammon pubeval random --candidates 0", "--candidates must be at least 1, not 0"),
        ("backgammon pubeval random --until-error -1", "--until-error must be above 0"),
        ("backgammon pubeval random --seed -3", "the seed must be at least 0"),
        ("backgammon pubeval", "required: second"),
        ("backgammon pubeval random --gmaes 3", "unrecognized arguments: --gmaes 3"),
    ],
)
def test_bad_input_is_one_line(capsys, argv, message):
    status, out, err = run(capsys, *argv.split())
    assert (status, out) == (2, "")
    assert err.startswith("error: ")
    assert message in err
    assert "\n" not in err


def test_json(capsys, tmp_path):
    file = tmp_path / "small.safetensors"
    save_evaluator(random_network(BACKGAMMON, 1), file)
    status, out, _ = run(capsys, "backgammon", str(file), "pubeval", "--games", "4", "--luck", str(file), "--json")
    result = json.loads(out)
    assert status == 0
    assert set(result) == {
        "game", "first", "second", "games", "mean", "standard_error", "adjusted_mean", "adjusted_error", "outcomes",
        "plies", "seconds", "seed", "games_per_second", "luck", "plies_first", "plies_second", "noise", "first_only",
        "pentanomial", "hypotheses", "log_likelihood_ratio", "accepted", "score", "elo",
    }  # fmt: skip
    assert (result["first"], result["second"], result["luck"]) == ("small", "pubeval", str(file))
    assert sum(result["outcomes"].values()) == result["games"] == 4
    assert math.isfinite(result["adjusted_error"])


def test_json_of_one_pair_has_no_error(capsys):
    status, out, _ = run(capsys, "tic_tac_toe", "random", "random", "--games", "2", "--json")
    assert (status, json.loads(out)["standard_error"]) == (0, None)


def test_table(capsys):
    status, out, err = run(capsys, "tic_tac_toe", "open_lines", "random", "--games", "200")
    assert (status, err) == (0, "")
    for text in ("open_lines against random", "points a game", "wins : losses", "draws", "Elo", "one standard error"):
        assert text in out


def test_interrupted_match_reports_what_was_played(capsys, monkeypatch):
    plain, steps = Match.step, iter(range(40))

    def step(self: Match) -> None:
        if next(steps, None) is None:
            raise KeyboardInterrupt
        plain(self)

    monkeypatch.setattr(Match, "step", step)
    argv = ("tic_tac_toe", "random", "random", "--games", "1000", "--slots", "20", "--json")
    status, out, err = run(capsys, *argv)
    result = json.loads(out)
    assert status == 130
    assert 20 < result["games"] < 1000
    assert err == f"interrupted after {result['games']} games in complete pairs"
