"""Leagues: ratings beside a closed form, a generic optimiser and finite differences; who plays; the command."""

from __future__ import annotations

import importlib.util
import json
import math

import numpy as np
import pytest
from command_lines import assert_one_line, call

from deltaw.envs import games
from deltaw.envs.errors import InputError
from deltaw.search import arena
from deltaw.search import league as command
from deltaw.search.evaluators.evaluator import make_evaluator, save_evaluator
from deltaw.search.matches import league as rounds
from deltaw.search.matches import round_robin
from deltaw.search.matches.empirical_game import alpha_rank, empirical_game, lines, nash_mixture
from deltaw.search.matches.league import cell, empty_tables, find_players, league, pairings, standings
from deltaw.search.matches.match import match
from deltaw.search.matches.ratings import PRIOR, bradley_terry
from deltaw.search.players.find import find_player
from deltaw.search.players.players import RandomPlayer

TIC_TAC_TOE = games.load("tic_tac_toe")
ELO = 400 / math.log(10)


def random_tables(players: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    random = np.random.default_rng(seed)
    played = np.triu(random.integers(10, 60, (players, players)), 1).astype(float)
    points = np.triu(np.round(2 * played * random.random((players, players))) / 2, 1)
    return played + played.T, points + np.tril((played - points).T, -1)


def log_likelihood(theta: np.ndarray, points: np.ndarray) -> float:
    """Of points i took from j, naively."""
    total = 0.0
    for i, row in enumerate(points):
        for j, won in enumerate(row):
            if i != j:
                total += won * (theta[i] - math.log(math.exp(theta[i]) + math.exp(theta[j])))
    return total


# --- ratings ------------------------------------------------------------------------------------------------------


def test_two_players_in_closed_form():
    """With the drawn pair, 30 + 1 points to 10 + 1."""
    played, points = np.array([[0.0, 40.0], [40.0, 0.0]]), np.array([[0.0, 10.0], [30.0, 0.0]])
    ratings = bradley_terry(played, points)
    assert ratings.elo == pytest.approx([0.0, 400 * math.log10(31 / 11)])
    p = 31 / 42
    assert ratings.error == pytest.approx([0.0, ELO / math.sqrt(40 * p * (1 - p))])
    assert bradley_terry(played, points, prior=0).elo[1] == pytest.approx(400 * math.log10(3))


@pytest.mark.parametrize("anchor", [0, 2])
def test_ratings_are_of_greatest_likelihood(anchor):
    """Plain gradient ascent on the likelihood, the drawn pairs included."""
    played, points = random_tables(5, 1)
    with_prior = points + PRIOR / 2 * (played > 0)
    theta = np.zeros(5)
    for _ in range(20_000):
        wins = 1 / (1 + np.exp(theta - theta[:, None]))
        theta += 0.005 * (with_prior - (played + PRIOR * (played > 0)) * wins).sum(axis=1)
    elo = bradley_terry(played, points, anchor).elo
    assert elo == pytest.approx(ELO * (theta - theta[anchor]), abs=1e-3)
    best = log_likelihood(elo / ELO, with_prior)
    for step in np.random.default_rng(0).normal(0, 0.01, (20, 5)):
        assert log_likelihood(elo / ELO + step, with_prior) <= best


def test_errors_are_those_of_the_likelihoods_curvature():
    played, points = random_tables(4, 2)
    ratings, anchor, h = bradley_terry(played, points, 1, prior=0), 1, 1e-4
    theta, others = ratings.elo / ELO, [0, 2, 3]
    curvature = np.zeros((3, 3))
    for a, i in enumerate(others):
        for b, j in enumerate(others):
            for u, v in ((1, 1), (1, -1), (-1, 1), (-1, -1)):
                moved = theta.copy()
                moved[i] += u * h
                moved[j] += v * h
                curvature[a, b] += u * v * log_likelihood(moved, points) / (4 * h * h)
    expected = ELO * np.sqrt(np.diag(np.linalg.inv(-curvature)))
    assert ratings.error[others] == pytest.approx(expected, rel=1e-3)
    assert ratings.error[anchor] == 0.0


def test_players_that_lose_everything_have_ratings():
    played = 50 * (1 - np.eye(3))
    points = np.array([[0, 0, 0], [50, 0, 25], [50, 25, 0]], float)
    ratings = bradley_terry(played, points)
    assert np.isfinite(ratings.elo).all()
    assert np.isfinite(ratings.error).all()
    assert ratings.elo[1] == pytest.approx(ratings.elo[2])
    assert ratings.elo[1] > 400


@pytest.mark.parametrize(
    ("played", "points", "message"),
    [
        ([[0.0]], [[0.0]], "at least 2 players"),
        ([[0, 2], [3, 0]], [[0, 1], [1, 0]], "both sides have played"),
        ([[0, 2], [2, 0]], [[0, 1], [2, 0]], "points that add up"),
        ([[0, 2, 0], [2, 0, 0], [0, 0, 0]], [[0, 1, 0], [1, 0, 0], [0, 0, 0]], "player 3 has met nobody"),
    ],
)
def test_tables_that_give_no_ratings(played, points, message):
    with pytest.raises(InputError, match=message):
        bradley_terry(np.array(played, float), np.array(points, float))


# --- the league ---------------------------------------------------------------------------------------------------


def test_everyone_meets_everyone():
    players = find_players(TIC_TAC_TOE, ["open_lines", "perfect"])
    result = league(TIC_TAC_TOE, players, 60, seed=4)
    assert result.names == ("perfect", "open_lines", "random")
    assert result.elo[-1] == result.error[-1] == 0.0
    assert result.elo[0] > result.elo[1] > 100
    order = {name: i for i, name in enumerate(result.names)}
    single = match(TIC_TAC_TOE, players["open_lines"], players["random"], 60, seed=4)
    assert result.points[order["open_lines"]][order["random"]] == single.score * 60
    for i in range(3):
        for j in range(3):
            assert result.played[i][j] == (60 if i != j else 0)
            assert result.points[i][j] + result.points[j][i] == result.played[i][j]


def test_games_with_sizes_show_points_a_game():
    """A cell is what a match of the two says, with its sign for either side."""
    game = games.load("backgammon")
    players = find_players(game, ["pubeval", "random"], threads=1)
    result = league(game, players, 10, seed=2)
    single = match(game, players["pubeval"], players["random"], 10, seed=2)
    assert result.counts_points
    assert (result.mean[0][1], result.mean[1][0]) == (single.mean, -single.mean)
    assert result.mean_error[0][1] == result.mean_error[1][0] == single.standard_error
    assert cell(result, 0, 1) == f"{single.mean:+.2f}"
    assert cell(result, 0, 0) == "-"
    assert league(TIC_TAC_TOE, find_players(TIC_TAC_TOE, ["perfect"]), 2).mean_error[0][1] is None  # a single pair


def test_the_cross_table_is_drawn(capsys, tmp_path, folder):
    from PIL import Image

    path = tmp_path / "league.png"
    argv = ["tic_tac_toe", str(folder), "open_lines", "--games", "4", "--plot", str(path)]
    status, out, err = call(command.main, argv, capsys)
    assert (status, err) == (0, f"wrote {path}\n")
    assert "a league of 5" in out
    picture = np.asarray(Image.open(path).convert("RGB")).astype(int)
    assert min(picture.shape[:2]) > 400
    green, red = (((picture[..., i] - picture[..., j]) > 80).sum() for i, j in ((1, 0), (0, 1)))
    assert green > 100
    assert red > 100  # somebody won, so somebody lost


@pytest.mark.parametrize(
    ("name", "message"), [("x.bmp", "a picture ends with .png"), ("no/x.png", "there is no folder")]
)
def test_pictures_that_cannot_be_written_are_said_before_the_games(tmp_path, capsys, name, message):
    assert_one_line(command.main, f"tic_tac_toe open_lines --plot {tmp_path / name}", message, capsys)


def test_the_arena_with_more_than_two_is_a_league(capsys, folder):
    argv = ["tic_tac_toe", "open_lines", "criteria", "random", "--games", "10", "--json"]
    from_arena, from_league = (json.loads(call(main, argv, capsys)[1]) for main in (arena.main, command.main))
    assert from_arena == from_league
    whole = json.loads(call(arena.main, ["tic_tac_toe", str(folder), "--games", "2", "--json"], capsys)[1])
    assert sorted(whole["names"]) == ["games_100", "games_200", "games_300", "random"]
    mixed = ["tic_tac_toe", "open_lines", "--games", "10", "criteria", "--json", "random"]  # options between players
    assert json.loads(call(arena.main, mixed, capsys)[1]) == from_league


@pytest.mark.parametrize(
    ("argv", "message"),
    [
        ("tic_tac_toe open_lines criteria random --sprt 0 10", "--sprt is for a match of two players"),
        ("tic_tac_toe open_lines criteria random --first-only", "--first-only is for a match of two players"),
        ("tic_tac_toe open_lines criteria random --opponent-plies 2", "--opponent-plies is for a match"),
        ("tic_tac_toe open_lines criteria random --luck none", "--luck is for a match of two players"),
        ("tic_tac_toe open_lines criteria --plot x.png", "name at least three players"),
        ("tic_tac_toe open_lines criteria random --games 3", "must be even and at least 2, not 3"),
        ("tic_tac_toe open_lines criteria nobody", "no player 'nobody'"),
    ],
)
def test_bad_round_robins_are_one_line(capsys, argv, message):
    assert_one_line(arena.main, argv, message, capsys)


def test_the_anchor_meets_all_first():
    assert pairings(["a", "b", "random", "c"])[:3] == [(0, 2), (1, 2), (2, 3)]
    assert len(pairings(list("abcde"))) == 10
    tables = empty_tables(3)
    tables.played[0, 1] = tables.played[1, 0] = 4
    tables.points[0, 1] = 4
    with pytest.raises(InputError, match="player 3 has met nobody"):
        standings(TIC_TAC_TOE, ["random", "b", "c"], tables, 0)


@pytest.fixture
def folder(tmp_path):
    """Three evaluators of a run, as a run keeps them."""
    features, random = TIC_TAC_TOE.features(), np.random.default_rng(0)
    for number in (100, 200, 300):
        weight = random.standard_normal((features.num_features, 1), np.float32)
        tensors = {"weight0": weight, "bias0": np.zeros(1, np.float32)}
        evaluator = make_evaluator(TIC_TAC_TOE, tensors, features=features, head="tanh")
        save_evaluator(evaluator, tmp_path / f"games_{number}.safetensors")
    return tmp_path


def test_a_folder_is_all_its_evaluators(folder):
    assert list(find_players(TIC_TAC_TOE, [str(folder), "random"])) == ["games_100", "games_200", "games_300", "random"]
    again = f"{folder / 'games_100.safetensors'}@depth=2"
    assert "games_100@depth=2" in find_players(TIC_TAC_TOE, [str(folder), again])
    other = folder / "other"
    other.mkdir()
    (other / "games_100.safetensors").write_bytes((folder / "games_100.safetensors").read_bytes())
    names = list(find_players(TIC_TAC_TOE, [str(folder), str(other)]))
    assert names == [f"{folder.name}/games_100", "games_200", "games_300", "other/games_100", "random"]
    deeper = other / folder.name
    deeper.mkdir()
    twin = deeper / "games_100.safetensors"
    twin.write_bytes((other / "games_100.safetensors").read_bytes())
    assert next(iter(find_players(TIC_TAC_TOE, [str(folder), str(twin)]))) == str(folder / "games_100.safetensors")


def test_plies_are_those_of_evaluators_that_look_ahead():
    players = find_players(TIC_TAC_TOE, ["open_lines", "open_lines@depth=2", "perfect"], plies=2)
    assert [player.name for player in players.values()] == [
        "open_lines 2-ply",
        "open_lines@depth=2",
        "perfect",
        "random",
    ]


def test_two_players_at_least():
    with pytest.raises(InputError, match="at least 2 players, not 1"):
        league(TIC_TAC_TOE, {"random": RandomPlayer(TIC_TAC_TOE)}, 2)
    without_random = {"x": find_player(TIC_TAC_TOE, "open_lines"), "y": find_player(TIC_TAC_TOE, "criteria")}
    assert league(TIC_TAC_TOE, without_random, 2).names  # the first is the anchor


@pytest.mark.parametrize(
    ("argv", "message"),
    [
        ("ludo random", "unknown game 'ludo'"),
        ("tic_tac_toe open_lines open_lines", "open_lines is named twice"),
        ("tic_tac_toe random", "at least 2 players, not 1"),
        ("tic_tac_toe nobody", "no player 'nobody'"),
        ("tic_tac_toe open_lines --games 3", "must be even and at least 2, not 3"),
        ("tic_tac_toe open_lines --noise 2", "0 to 1, not 2"),
        ("tic_tac_toe open_lines --seed -1", "the seed must be at least 0"),
        ("tic_tac_toe open_lines --threads 0", "--threads must be at least 1, not 0"),
        ("tic_tac_toe open_lines --opening-plies -1", "--opening-plies must be at least 0, not -1"),
        ("tic_tac_toe_three random shares", "a match needs a game for two"),
    ],
)
def test_bad_leagues_are_one_line(capsys, argv, message):
    assert_one_line(command.main, argv, message, capsys)


def test_an_empty_folder_is_said(capsys, tmp_path):
    assert command.main(["tic_tac_toe", str(tmp_path)]) == 2
    assert "holds no evaluator files" in capsys.readouterr().err


def test_league_reports(capsys, folder):
    argv = ["tic_tac_toe", str(folder), "open_lines", "--games", "20"]
    assert command.main(argv) == 0
    out = capsys.readouterr().out
    for text in ("a league of 5", "games_200", "open_lines", "random", "20 games a pairing"):
        assert text in out
    assert command.main([*argv, "--json"]) == 0
    result = json.loads(capsys.readouterr().out)
    assert sorted(result["names"]) == ["games_100", "games_200", "games_300", "open_lines", "random"]
    assert len(result["points"]) == 5
    assert result["elo"] == sorted(result["elo"], reverse=True)


@pytest.mark.parametrize("after", [1, 4])
def test_interrupted_league_reports_what_was_played(capsys, monkeypatch, after):
    plain, calls = rounds.match, iter(range(after))

    def interrupted(*args, **options):
        if next(calls, None) is None:
            raise KeyboardInterrupt
        return plain(*args, **options)

    monkeypatch.setattr(rounds, "match", interrupted)
    argv = ["tic_tac_toe", "open_lines", "criteria", "perfect", "--games", "20", "--json"]
    status, out, err = call(command.main, argv, capsys)
    assert (status, err) == (130, f"interrupted after {after} of 6 pairings\n")
    assert (out == "") == (after == 1)


# --- the league as a game ---------------------------------------------------------------------------------------------


def league_of(payoffs, error=0.01):
    """A result with these mean points a game, in this order."""
    payoffs = np.array(payoffs, float)
    k, rows = len(payoffs), tuple(map(tuple, payoffs))
    games_each = tuple(tuple(int(i != j) * 10 for j in range(k)) for i in range(k))
    errors = tuple(tuple(None if i == j else error for j in range(k)) for i in range(k))
    names = tuple("ABCDE"[:k])
    return rounds.LeagueResult("nim", names, (0.0,) * k, (1.0,) * k, rows, games_each, rows, errors, 0)


CIRCLE = np.array([[0, -1, 1], [1, 0, -1], [-1, 1, 0]], float)
"""rock, paper, scissors"""
COPIED = CIRCLE[np.ix_([0, 1, 2, 2], [0, 1, 2, 2])]
"""with scissors twice"""
ORDERED = np.array([[0, 1, 1], [-1, 0, 1], [-1, -1, 0]], float)[::-1, ::-1]
"""the last one beats all"""


def test_the_nash_mixture_of_greatest_entropy():
    pytest.importorskip("scipy")
    assert nash_mixture(COPIED) == pytest.approx([1 / 3, 1 / 3, 1 / 6, 1 / 6], abs=1e-6)
    assert nash_mixture(ORDERED) == pytest.approx([0, 0, 1], abs=1e-4)
    assert nash_mixture(np.zeros((3, 3))) == pytest.approx(np.full(3, 1 / 3))
    for seed in range(5):  # nobody beats it
        payoffs = np.random.default_rng(seed).normal(size=(6, 6))
        payoffs -= payoffs.T
        mixture = nash_mixture(payoffs)
        assert mixture.sum() == pytest.approx(1)
        assert (payoffs @ mixture).max() < 1e-4


def test_alpha_rank_is_that_of_openspiel():
    """On the game of T. A. Han et al. (2013), as in its alpharank_test.py; and in a circle all are alike."""
    pytest.importorskip("quantecon")
    r, t, p, s, delta, epsilon = 1.0, 2.0, 0.0, -1.0, 4.0, 0.25
    han = np.array(
        [
            [r - epsilon / 2, r - epsilon, 0, s + delta - epsilon, r - epsilon],
            [r, r, s, s, s],
            [0, t, p, p, p],
            [t - delta, t, p, p, p],
            [r, t, p, p, p],
        ]
    )
    known = [0.40966787, 0.07959841, 0.20506998, 0.08505983, 0.2206039]
    assert alpha_rank(han, 20, 0.1) == pytest.approx(known, abs=1e-8)
    assert alpha_rank(CIRCLE, 50, 1.0) == pytest.approx(np.full(3, 1 / 3))
    assert alpha_rank(ORDERED, 50, 1.0) == pytest.approx([0, 0, 1], abs=1e-9)


def test_a_circle_and_an_upset_are_told():
    pytest.importorskip("quantecon")
    found = empirical_game(league_of(0.4 * CIRCLE))
    assert found.nash == pytest.approx([1 / 3] * 3, abs=1e-6)
    assert all(low < 1 / 3 < high for low, high in zip(found.low, found.high, strict=True))
    assert found.cycles == ((0, 2, 1),)
    assert found.upsets == ((1, 0), (2, 1))
    assert lines(league_of(CIRCLE), found)[-1] == "A beats C beats B beats A"
    unsure = empirical_game(league_of(0.4 * CIRCLE, error=0.3))
    assert (unsure.cycles, unsure.upsets) == ((), ())
    assert unsure.high[0] - unsure.low[0] > 0.2
    best = empirical_game(league_of(-ORDERED))
    assert best.nash == pytest.approx([1, 0, 0], abs=1e-4)
    assert (best.low[0], best.high[1]) == pytest.approx((1, 0), abs=1e-3)
    assert lines(league_of(-ORDERED), best) == ["nobody beats a player who is rated higher, and there is no cycle"]


def test_the_command_adds_the_theory(tmp_path, capsys):
    pytest.importorskip("quantecon")
    words = ["tic_tac_toe", "open_lines", "criteria", "--games", "20", "--theory", "--plot", str(tmp_path / "l.png")]
    status, out, _ = call(command.main, words, capsys)
    assert status == 0
    assert "The league as a game" in out
    status, out, _ = call(command.main, [*words[:6], "--json"], capsys)
    theory = json.loads(out)["theory"]
    assert sum(theory["nash"]) == pytest.approx(1)
    assert len(theory["alpha_rank"]) == 3


def test_theory_needs_errors_and_the_extra(capsys, monkeypatch):
    if importlib.util.find_spec("quantecon"):
        text = "tic_tac_toe open_lines criteria --games 2 --theory"
        assert_one_line(command.main, text, "at least 4 games a pairing, not 2", capsys)
    assert_one_line(arena.main, "nim random parity --theory", "name at least three players", capsys)
    monkeypatch.setattr(round_robin, "find_spec", lambda name: None)
    text = "tic_tac_toe open_lines criteria --games 20 --theory"
    assert_one_line(command.main, text, 'pip install "deltaw[theory]"', capsys)
