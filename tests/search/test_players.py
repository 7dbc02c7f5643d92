"""Players by name: settings, ties, searches on several threads, noise, and matches without pairs."""

from __future__ import annotations

import json
import math
from typing import Any

import numpy as np
import pytest
from command_lines import assert_one_line

from deltaw.envs import games
from deltaw.envs.errors import InputError
from deltaw.envs.game import Game
from deltaw.search import arena
from deltaw.search.algorithms import heuristic_pruning
from deltaw.search.evaluators.evaluator import Evaluator, make_evaluator
from deltaw.search.evaluators.leaf import TIED
from deltaw.search.evaluators.named import find_evaluator
from deltaw.search.matches.match import Match, match
from deltaw.search.players.find import find_player
from deltaw.search.players.how import How, Limits, settle
from deltaw.search.players.players import Chosen, Decisions, EvaluatorPlayer, Player, RandomPlayer, RankPlayer
from deltaw.search.players.searching_player import LARGE_TABLE, SMALL_TABLE, SearchingPlayer, table_size
from deltaw.search.players.spec import PlayerSpec, parse_player
from deltaw.search.tree.algorithm import search
from deltaw.search.tree.engine import Engine

TIC_TAC_TOE = games.load("tic_tac_toe")
CONNECT_FOUR = games.load("connect_four")
OTHELLO = games.load("othello")
BACKGAMMON = games.load("backgammon")
SIGMAS = 4.5


def linear(game: Game, scale: float) -> Evaluator:
    """Random weights, or none at all for scale 0."""
    features = game.features()
    weight = scale * np.random.default_rng(0).standard_normal((features.num_features, 1), np.float32)
    tensors = {"weight0": weight, "bias0": np.zeros(1, np.float32)}
    return make_evaluator(game, tensors, features=features, head="tanh")


def random_rows(game: Game, n: int, plies: int) -> np.ndarray:
    """Decisions after at most so many random moves."""
    random, rows = np.random.default_rng(1), []
    while len(rows) < n:
        state = game.rules.initial()
        for _ in range(random.integers(plies + 1)):
            if not game.rules.outcome(state)[0]:
                state = game.rules.play(state, random.choice(game.moves(state)))
        if not game.rules.outcome(state)[0]:
            rows.append(game.row(state))
    return np.array(rows)


def keyed(rows: np.ndarray) -> Decisions:
    """Every row is the first decision of another game."""
    return Decisions.of(rows, np.stack([np.arange(len(rows)), np.zeros(len(rows), np.int64)], axis=1))


# --- names --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "spec"),
    [
        ("network", PlayerSpec("network")),
        ("a@b/net.safetensors", PlayerSpec("a@b/net.safetensors")),
        ("net@plies=2", PlayerSpec("net", How(plies=2))),
        ("net@ties=random", PlayerSpec("net", How(ties=True), "ties=random")),
        ("net@depth=8", PlayerSpec("net", How(limits=Limits(depth=8)), "depth=8")),
        ("net@seconds=0.1", PlayerSpec("net", How(limits=Limits(seconds=0.1)), "seconds=0.1")),
        (
            "net@algorithm=alphabeta,nodes=9",
            PlayerSpec("net", How(algorithm="alphabeta", limits=Limits(nodes=9)), "algorithm=alphabeta,nodes=9"),
        ),
        ("net@quiet_plies=0", PlayerSpec("net", How(options=(("quiet_plies", 0),)), "quiet_plies=0")),
        ("net@book=a.bin,plies=2", PlayerSpec("net", How(plies=2, book="a.bin"), "book=a.bin")),
    ],
)
def test_settings_are_read(text, spec):
    assert parse_player(text) == spec


def test_labels():
    assert parse_player("outputs/x/best.safetensors@depth=8,ties=random").label == "best@depth=8,ties=random"
    assert find_player(CONNECT_FOUR, "points_2@plies=2").name == "points_2 2-ply"


def test_options_reach_the_search():
    """Without quiescence the queen takes a defended pawn at depth 1; with a factor of 1 no second move is seen."""
    chess = games.load("chess")
    state = chess.parse("4k3/8/2p5/3p4/8/8/3Q4/3RK3 w - - 0 1")
    moves = [
        chess.move_text(state, find_player(chess, f"material@depth=1{more}", threads=1).judge(state).moves[0].move)
        for more in ("", ",quiet_plies=0")
    ]
    assert moves[0] != moves[1] == "Qxd5"
    row = random_rows(CONNECT_FOUR, 1, 10)[0]
    for factor in (1, 8):
        found = find_player(CONNECT_FOUR, f"points_2@algorithm=heuristic_pruning,depth=4,factor={factor}", threads=1)
        truth = search(
            CONNECT_FOUR, CONNECT_FOUR.baselines["points_2"], CONNECT_FOUR.unrow(row), "heuristic_pruning",
            depth=4, options=heuristic_pruning.Options(factor), full=True,
        )  # fmt: skip
        assert found.judge(CONNECT_FOUR.unrow(row)).search.nodes == truth.nodes


def test_a_file_with_an_at_sign_is_a_file(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "net@depth=8").write_text("")
    assert parse_player("net@depth=8") == PlayerSpec("net@depth=8")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "points_2@dept=8",
            "there are plies, ties, book, depth, nodes, seconds, algorithm, endgames, and of the search",
        ),
        ("points_2@quiet_plies=-1", "quiet_plies is a whole number from 0 to 999, not '-1'"),
        ("points_2@quiet_plies=0.5", "a whole number from 0 to 999, not '0.5'"),
        ("points_2@singular_margin=nan", "singular_margin is a number from 0 to 999, not 'nan'"),
        ("points_2@algorithm=alphabeta,quiet_plies=2", "no setting 'quiet_plies'"),
        ("points_2@algorithm=heuristic_pruning,factor=0", "a factor of 0"),
        ("points_2@algorithm=magic,factor=2", "unknown algorithm 'magic'"),
        ("points_2@plies=2,quiet_plies=2", "exclude each other"),
        ("perfect@quiet_plies=2", "perfect takes no such settings"),
        ("points_2@depth=2,endgames=maybe", "endgames is yes or no, not 'maybe'"),
        ("points_2@endgames=yes", "only the engine asks databases of endings"),
        ("points_2@depth=many", "depth must be a whole number of at least 1, not 'many'"),
        ("points_2@depth=0", "not '0'"),
        ("points_2@depth=2,depth=3", "depth is set twice"),
        ("points_2@seconds=-1", "seconds must be a number above 0, not '-1'"),
        ("points_2@seconds=nan", "not 'nan'"),
        ("points_2@ties=last", "first or random, not by 'last'"),
        ("points_2@plies=2,depth=4", "exclude each other"),
        ("points_2@plies=3", "1 or 2 plies ahead, not 3"),
        ("points_2@algorithm=magic", "unknown algorithm 'magic'"),
        ("points_2@algorithm=max_n,depth=1000000", "1000000"),
        ("random@plies=3", "1 or 2 plies ahead, not 3"),
        ("random@depth=3", "random takes no such settings: depth=3"),
        ("perfect@ties=random", "perfect takes no such settings"),
        ("nobody@depth=3", "no player 'nobody' for connect_four"),
        ("x" * 300, f"no player '{'x' * 300}' for connect_four"),
        (f"points_2@depth={'9' * 5000}", "depth: '99999"),
        (f"points_2@nodes={1 << 63}", "nodes: '9223372036854775808' is no whole number of 64 bits"),
    ],
)
def test_bad_settings_are_one_line(capsys, text, message):
    assert_one_line(arena.main, f"connect_four {text} random", message, capsys)


def test_plies_do_not_belong_to_a_search():
    with pytest.raises(InputError, match="2 plies do not belong to it"):
        find_player(CONNECT_FOUR, "points_2@depth=3", plies=2)
    with pytest.raises(InputError, match="only ranks"):
        find_player(BACKGAMMON, "pubeval@depth=1")


@pytest.mark.parametrize(
    "text",
    [
        "random", "perfect", "criteria", "open_lines@plies=2,ties=random", "open_lines@depth=2",
        "open_lines@algorithm=alphabeta,depth=2,ties=random",
    ],
)  # fmt: skip
def test_codes_are_those_of_the_results(text):
    player: Any = find_player(TIC_TAC_TOE, text, threads=1)
    decisions = keyed(random_rows(TIC_TAC_TOE, 20, 6))
    first = decisions.at(slice(1))
    for asked, (moves, results) in ((decisions, player.choose(decisions, 3)), (first, player.tied(first))):
        rows = np.resize(asked.rows, results.shape)
        for row, move, result in zip(rows, moves, results, strict=True):
            assert (TIC_TAC_TOE.row(TIC_TAC_TOE.rules.play(TIC_TAC_TOE.unrow(row), move)) == result).all()


@pytest.mark.parametrize(
    ("name", "player", "said", "settled"),
    [
        ("connect_four", "points_2", How(), ("engine", None)),
        ("connect_four", "points_2", How(algorithm="scout"), ("scout", None)),
        ("connect_four", "points_2", How(plies=1), (None, 1)),
        ("tic_tac_toe", "criteria", How(), (None, 1)),
        ("backgammon", "linear", How(), (None, 2)),
        ("backgammon", "linear", How(limits=Limits(depth=1)), ("expectiminimax", None)),
        ("backgammon", "pubeval", How(), (None, 1)),
        ("tic_tac_toe_three", "shares", How(), ("max_n", None)),
    ],
)
def test_what_nobody_said_is_settled(name, player, said, settled):
    game = games.load(name)
    how = settle(game, find_evaluator(game, player), said, plies=2)
    assert (how.algorithm, how.plies) == settled
    assert how.searches == (settled[0] is not None)


# --- ties ---------------------------------------------------------------------------------------------------------


def frequencies_are_even(chosen: Chosen, ways: int) -> bool:
    _, counts = np.unique(chosen.rows, axis=0, return_counts=True)
    expected = len(chosen.moves) / ways
    return len(counts) == ways and bool((np.abs(counts - expected) < SIGMAS * math.sqrt(expected)).all())


def test_ties_go_to_the_first_or_to_any():
    leaf = linear(TIC_TAC_TOE, 0.0).leaf
    rows = np.repeat(TIC_TAC_TOE.row(TIC_TAC_TOE.rules.initial())[None], 4500, axis=0)
    first = EvaluatorPlayer(TIC_TAC_TOE, leaf, "first", threads=1).choose(keyed(rows), 3)
    assert len(np.unique(first.rows, axis=0)) == 1
    for plies in (1, 2):
        player = EvaluatorPlayer(TIC_TAC_TOE, leaf, "any", plies, 0, threads=1, ties=True)
        assert frequencies_are_even(player.choose(keyed(rows), 3), 9)
    assert len(player.tied(Decisions.of(rows[:1])).moves) == 9


def test_candidates_that_were_not_searched_do_not_tie():
    player = EvaluatorPlayer(TIC_TAC_TOE, linear(TIC_TAC_TOE, 0.0).leaf, "few", 2, candidates=4, threads=1, ties=True)
    row = TIC_TAC_TOE.row(TIC_TAC_TOE.rules.initial())
    assert len(player.tied(Decisions.of(row[None])).moves) == 4


def test_tied_moves_are_those_of_best_value():
    leaf = linear(CONNECT_FOUR, 0.3)
    player = EvaluatorPlayer(CONNECT_FOUR, leaf.leaf, "linear", threads=1, ties=True)
    rows = random_rows(CONNECT_FOUR, 40, 20)
    chosen, values = player.decide(keyed(rows), 1)
    for row, pick, value in zip(rows, chosen.rows, values, strict=True):
        moves, children = CONNECT_FOUR.buffers()
        n = CONNECT_FOUR.rules.expand(CONNECT_FOUR.unrow(row), moves, children)
        naive = -leaf.values(children[:n])[0]
        best = children[:n][naive >= naive.max() - TIED]
        assert value == pytest.approx(naive.max(), abs=1e-5)
        assert (player.tied(Decisions.of(row[None])).rows == best).all()
        assert (best == pick).all(axis=1).any()


def symmetric_network():
    """A network for Othello that values a position and its images alike, but for the order of its float32 sums."""
    features, random = OTHELLO.features("discs"), np.random.default_rng(1)
    units = [random.normal(0, 0.5, (features.num_features // 64, 64)) for _ in range(4)]
    images = [unit[:, permutation].ravel() for unit in units for permutation in OTHELLO.symmetries]
    output = np.repeat(random.normal(0, 0.5, len(units)), len(OTHELLO.symmetries))
    tensors = {
        "weight0": np.array(images).T, "bias0": np.zeros(len(images)), "weight1": output[:, None], "bias1": np.zeros(1),
    }  # fmt: skip
    return make_evaluator(OTHELLO, tensors, features=features, head="tanh")


@pytest.mark.parametrize("name", ["ntuple", "sparring", "network"])
def test_moves_that_are_images_of_each_other_are_tied(name):
    """By plies, by an algorithm and by the engine: Othello's four first moves, whose sums are added up in another
    order."""
    evaluator = symmetric_network() if name == "network" else find_evaluator(OTHELLO, name)
    start, leaf = OTHELLO.unrow(OTHELLO.row(OTHELLO.rules.initial())), evaluator.leaf
    for plies in (1, 2):
        player = EvaluatorPlayer(OTHELLO, leaf, name, plies, threads=1, ties=True)
        assert len(player.tied(Decisions.of(OTHELLO.row(start)[None])).moves) == 4
    engine = Engine(OTHELLO, evaluator, entries=1 << 12)
    for depth in (1, 2, 4):
        assert len(search(OTHELLO, evaluator, start, "alphabeta", depth=depth).moves) == 4
        assert len(engine.search(start, depth=depth, ties=True).moves) == 4


def test_a_ranking_has_ties_too():
    baseline = next(b for b in TIC_TAC_TOE.baselines.values() if b.kind == "rank")
    rows = np.repeat(TIC_TAC_TOE.row(TIC_TAC_TOE.rules.initial())[None], 2000, axis=0)
    player = RankPlayer(TIC_TAC_TOE, baseline, threads=1, ties=True)
    best = player.tied(Decisions.of(rows[:1]))
    assert frequencies_are_even(player.choose(keyed(rows), 3), len(best.moves))
    first = RankPlayer(TIC_TAC_TOE, baseline, threads=1).choose(keyed(rows[:1]), 3)
    assert first.moves[0] == best.moves[0]


# --- searches -----------------------------------------------------------------------------------------------------


def test_a_searching_player_plays_the_engines_move():
    rows, baseline = random_rows(CONNECT_FOUR, 25, 20), CONNECT_FOUR.baselines["points_2"]
    player = find_player(CONNECT_FOUR, "points_2@depth=4", threads=1)
    chosen, values = player.decide(keyed(rows), 0)  # type: ignore[attr-defined]
    for row, pick, value in zip(rows, chosen.moves, values, strict=True):
        state = CONNECT_FOUR.unrow(row)
        found = Engine(CONNECT_FOUR, baseline, entries=SMALL_TABLE).search(state, depth=4)
        assert pick == found.move
        assert value == found.value


@pytest.mark.parametrize(
    "text", ["points_2@depth=4,ties=random", "points_2@nodes=300", "points_2@algorithm=alphabeta,depth=2"]
)
def test_searches_depend_on_no_thread(text):
    def play(threads: int) -> object:
        first = find_player(CONNECT_FOUR, text, threads=threads)
        contest = Match(
            CONNECT_FOUR, first, find_player(CONNECT_FOUR, "points_1", threads=threads), 12, slots=5 * threads
        )
        while not contest.done:
            contest.step()
        return contest.record.result.tolist(), contest.record.length.tolist()

    assert play(1) == play(2)


def test_searched_ties_are_all_found():
    player = SearchingPlayer(
        TIC_TAC_TOE, TIC_TAC_TOE.baselines["open_lines"], "deep", How(limits=Limits(depth=9), ties=True), threads=2
    )
    row = TIC_TAC_TOE.row(TIC_TAC_TOE.rules.initial())
    assert len(player.tied(Decisions.of(row[None])).moves) == 9  # all are draws
    rows = np.repeat(row[None], 600, axis=0)
    assert frequencies_are_even(player.choose(keyed(rows), 3), 9)


def test_dice_are_searched_by_expectiminimax():
    player = find_player(BACKGAMMON, "linear@depth=1", threads=1)
    decision = Decisions.of(BACKGAMMON.row(BACKGAMMON.rules.chance(BACKGAMMON.rules.initial(), 0)[0])[None])
    plain = find_player(BACKGAMMON, "linear", threads=1)
    assert player.choose(decision, 0).moves == plain.choose(decision, 0).moves


def test_seconds_limit_gives_legal_moves():
    result = match(
        TIC_TAC_TOE, find_player(TIC_TAC_TOE, "open_lines@seconds=0.0001", threads=2), RandomPlayer(TIC_TAC_TOE), 4
    )
    assert result.games == 4


def test_sizes_of_tables():
    assert table_size(Limits(depth=8)) == table_size(Limits(nodes=1000)) == SMALL_TABLE
    assert table_size(Limits(depth=9)) == table_size(Limits(seconds=1.0)) == LARGE_TABLE


def test_an_error_in_a_thread_is_told():
    player = find_player(CONNECT_FOUR, "points_2@depth=2", threads=2)
    with pytest.raises((TypeError, ValueError)):
        player.choose(keyed(np.zeros((4, 1), np.int64)), 0)


# --- noise, and matches without pairs -------------------------------------------------------------------------------


class Spy:
    """Another player, and what it was asked."""

    def __init__(self, player: Player) -> None:
        self.player, self.name, self.rows = player, "spy", []

    def choose(self, decisions: Decisions, seed: int) -> Chosen:
        self.rows += [TIC_TAC_TOE.unrow(row) for row in decisions.rows]
        return self.player.choose(decisions, seed)


def test_noise_makes_that_share_of_moves():
    spies = [Spy(RandomPlayer(TIC_TAC_TOE)) for _ in range(2)]
    result = match(TIC_TAC_TOE, *spies, 1000, noise=0.3, opening_plies=0)
    asked, plies = sum(len(spy.rows) for spy in spies), result.plies
    assert abs(asked - 0.7 * plies) < SIGMAS * math.sqrt(plies * 0.3 * 0.7 * 2)  # both games of a pair share the draw
    assert result.noise == 0.3


def test_nothing_but_noise():
    spy = Spy(RandomPlayer(TIC_TAC_TOE))
    result = match(TIC_TAC_TOE, spy, spy, 2000, noise=1.0, opening_plies=0)
    assert spy.rows == []
    assert len(result.outcomes) == 3
    assert (result.mean, result.standard_error) == (0.0, 0.0)  # pairs are the same games from both seats


def test_equal_players_with_noise_score_zero():
    player = find_player(TIC_TAC_TOE, "open_lines")
    result = match(TIC_TAC_TOE, player, player, 100, noise=0.2)
    assert (result.mean, result.standard_error) == (0.0, 0.0)


def test_first_only_means_the_first_seat():
    first, second = Spy(find_player(TIC_TAC_TOE, "open_lines")), Spy(RandomPlayer(TIC_TAC_TOE))
    contest = Match(TIC_TAC_TOE, first, second, 301, first_only=True)
    while not contest.done:
        contest.step()
    assert {TIC_TAC_TOE.rules.seat(state) for state in first.rows} == {0}
    assert {TIC_TAC_TOE.rules.seat(state) for state in second.rows} == {1}
    assert sum(state == TIC_TAC_TOE.rules.initial() for state in first.rows) == 301  # no opening
    result, points = contest.result(), contest.record.result
    assert (result.games, result.pentanomial, result.first_only) == (301, None, True)
    assert result.mean == pytest.approx(sum(points) / 301)
    variance = sum((x - result.mean) ** 2 for x in points) / 300
    assert result.standard_error == pytest.approx(math.sqrt(variance / 301))


def test_results_are_those_of_the_first_player():
    winner, loser = find_player(TIC_TAC_TOE, "perfect"), RandomPlayer(TIC_TAC_TOE)
    assert match(TIC_TAC_TOE, winner, loser, 50, first_only=True).mean > 0.5
    assert match(TIC_TAC_TOE, loser, winner, 50, first_only=True).mean < -0.2


@pytest.mark.parametrize(
    ("argv", "message"),
    [
        ("--noise 1.5", "noise is the probability of a random move: 0 to 1, not 1.5"),
        ("--noise -0.1", "not -0.1"),
        ("--noise nan", "not nan"),
        ("--first-only --games 0", "at least 1 game, not 0"),
    ],
)
def test_bad_protocols_are_one_line(capsys, argv, message):
    assert_one_line(arena.main, f"tic_tac_toe random random {argv}", message, capsys)


def test_protocol_is_reported(capsys):
    argv = ["tic_tac_toe", "open_lines", "random", "--games", "301", "--first-only", "--noise", "0.1"]
    assert arena.main(argv) == 0
    out = " ".join(capsys.readouterr().out.replace("│", " ").split())
    assert "the first player began every game, 10 % random moves" in out
    assert "pairs" not in out
    assert arena.main([*argv, "--json"]) == 0
    result = json.loads(capsys.readouterr().out)
    assert (result["games"], result["first_only"], result["noise"], result["pentanomial"]) == (301, True, 0.1, None)
    assert result["elo"]["low"] < result["elo"]["difference"] < result["elo"]["high"]


def test_payoffs_of_everybody_take_a_search():
    """A baseline for three players is none at 1 ply; the message says how it plays."""
    with pytest.raises(InputError, match="to everybody, which takes a search: try shares@depth=2"):
        find_player(games.load("tic_tac_toe_three"), "shares")
