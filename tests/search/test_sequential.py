"""The sequential test over pairs: by hand, by naive sums, by simulation of its errors, and in a match."""

from __future__ import annotations

import math

import numpy as np
import pytest
from command_lines import assert_one_line

from deltaw.envs import games
from deltaw.envs.errors import InputError
from deltaw.search import arena
from deltaw.search.matches.match import Match, match
from deltaw.search.matches.sequential import (
    LIMIT,
    MINIMUM,
    Hypotheses,
    accepted,
    log_likelihood_ratio,
    moments,
    pentanomial,
    score_of_elo,
)
from deltaw.search.players.find import find_player
from deltaw.search.players.players import RandomPlayer

TIC_TAC_TOE = games.load("tic_tac_toe")


def test_scores_of_elo():
    assert score_of_elo(0.0) == 0.5
    assert score_of_elo(400.0) == pytest.approx(10 / 11)
    assert score_of_elo(-400.0) == pytest.approx(1 / 11)


def test_pentanomial_counts_pairs():
    results = np.random.default_rng(0).choice([-3, -1, 0, 1, 2], size=400)
    naive = [0] * 5
    for a, b in zip(results[::2], results[1::2], strict=True):
        score = sum(1.0 if r > 0 else 0.5 if r == 0 else 0.0 for r in (a, b))
        naive[round(2 * score)] += 1
    assert pentanomial(results) == tuple(naive)
    assert pentanomial(results[:0]) == (0, 0, 0, 0, 0)


def test_ratio_by_hand():
    """20 pairs: 2 x 0, 3 x 1/4, 5 x 1/2, 4 x 3/4, 6 x 1."""
    counts = (2, 3, 5, 4, 6)
    scores = [0.0] * 2 + [0.25] * 3 + [0.5] * 5 + [0.75] * 4 + [1.0] * 6
    mean = sum(scores) / 20
    variance = sum((x - mean) ** 2 for x in scores) / 20
    assert moments(counts) == pytest.approx((mean, variance))
    s1 = 1 / (1 + 10 ** (-30 / 400))
    expected = 20 / 2 * ((mean - 0.5) ** 2 - (mean - s1) ** 2) / variance
    assert log_likelihood_ratio(counts, Hypotheses(0, 30)) == pytest.approx(expected)
    assert log_likelihood_ratio((0, 0, 0, 0, 0), Hypotheses(0, 30)) == 0.0


def test_ratio_turns_with_the_sides():
    counts = (5, 9, 30, 11, 8)
    assert log_likelihood_ratio(counts, Hypotheses(-10, 20)) == pytest.approx(
        -log_likelihood_ratio(counts[::-1], Hypotheses(-20, 10))
    )


def test_nothing_is_decided_too_soon():
    few, enough = (0, 0, 0, 0, MINIMUM - 1), (0, 0, 0, 0, MINIMUM)
    assert accepted(few, Hypotheses(0, 10)) is None
    assert accepted(enough, Hypotheses(0, 10)) == 10
    assert accepted(enough[::-1], Hypotheses(0, 10)) == 0


@pytest.mark.parametrize("true_elo", [0.0, 50.0])
def test_error_rates(true_elo):
    """Pairs drawn with the mean that a hypothesis says: the other one is accepted in about 5 % of the tests."""
    hypotheses, runs, random = Hypotheses(0.0, 50.0), 200, np.random.default_rng(int(true_elo))
    chances = np.array([0.1, 0.2, 0.4, 0.2, 0.1]) + (score_of_elo(true_elo) - 0.5) * np.array(
        [-1.0, 0.0, 0.0, 0.0, 1.0]
    )
    wrong = 0
    for _ in range(runs):
        counts = random.multinomial(MINIMUM - 1, chances)
        verdict = None
        while verdict is None:
            counts[random.choice(5, p=chances)] += 1
            verdict = accepted(counts.tolist(), hypotheses)
        wrong += verdict != true_elo
    assert wrong <= runs * 0.05 + 4 * math.sqrt(runs * 0.05 * 0.95)


def test_a_match_stops_at_the_first_pair_that_decides():
    """Whatever the slots; found again by looking at every beginning of the whole match."""
    hypotheses = Hypotheses(0.0, 60.0)
    players = find_player(TIC_TAC_TOE, "open_lines"), RandomPlayer(TIC_TAC_TOE)
    whole = Match(TIC_TAC_TOE, *players, 1000)
    while not whole.done:
        whole.step()
    results = whole.record.result
    ratios = {n: log_likelihood_ratio(pentanomial(results[: 2 * n]), hypotheses) for n in range(MINIMUM, 501)}
    first = min(n for n, ratio in ratios.items() if abs(ratio) >= LIMIT)
    for slots in (6, 256):
        found = match(TIC_TAC_TOE, *players, 1000, slots=slots, sequential=hypotheses)
        assert (found.games, found.accepted) == (2 * first, 60.0)
        assert found.log_likelihood_ratio == pytest.approx(ratios[first])
        assert found.pentanomial == pentanomial(results[: 2 * first])


def test_a_match_may_end_undecided():
    player = RandomPlayer(TIC_TAC_TOE)
    result = match(TIC_TAC_TOE, player, player, 100, sequential=Hypotheses(-1.0, 1.0))
    assert (result.games, result.accepted) == (100, None)


@pytest.mark.parametrize(
    ("argv", "message"),
    [
        ("--sprt 10 0", "smaller one first, not 10 and 0"),
        ("--sprt 0 nan", "not 0 and nan"),
        ("--sprt 0", "expected 2 arguments"),
        ("--sprt 0 10 --until-error 0.1", "exclude each other"),
        ("--sprt 0 10 --first-only", "without --first-only"),
    ],
)
def test_bad_bounds_are_one_line(capsys, argv, message):
    assert_one_line(arena.main, f"tic_tac_toe random random {argv}", message, capsys)


def test_bounds_are_checked_by_the_match_too():
    player = RandomPlayer(TIC_TAC_TOE)
    with pytest.raises(InputError, match="two Elo bounds"):
        Match(TIC_TAC_TOE, player, player, 10, sequential=Hypotheses(5.0, 5.0))


def test_table_says_what_was_accepted(capsys):
    argv = ["tic_tac_toe", "open_lines", "random", "--games", "1000", "--sprt", "0", "60"]
    assert arena.main(argv) == 0
    out = " ".join(capsys.readouterr().out.replace("│", " ").split())
    for text in ("Elo 0 against 60", "accepted: 60", "LLR +", "flatters the winner", "pairs scoring"):
        assert text in out
