"""Games with hidden cards as trees of information sets: what is known of their values, and of each method.

The figures are those of OpenSpiel (`sequence_form_lp_test.py`, `exploitability_test.py`, and its `cfr`, `cfr_plus`,
`discounted_cfr` run for so many iterations). It deals each card by a chance node of its own: 3 nodes more in Kuhn poker
and 6 in Leduc.
"""

from __future__ import annotations

import functools
import json

import numpy as np
import pytest
from command_lines import call
from path_games import corridor, one_card

from deltaw.envs import games
from deltaw.envs.errors import InputError
from deltaw.search import equilibrium
from deltaw.search.equilibria.cfr import DISCOUNTS, Cfr
from deltaw.search.equilibria.external_sampling import ExternalSampling
from deltaw.search.equilibria.pimc import average_worlds, determinized
from deltaw.search.equilibria.tree import (
    END,
    best_response,
    exploitability,
    flatten,
    nash_conv,
    trace,
    uniform,
    value_of,
)
from deltaw.search.matches.match import match
from deltaw.search.players.find import find_player
from deltaw.search.players.how import How, Limits
from deltaw.search.players.players import Decisions
from deltaw.search.players.plies import WORLDS
from deltaw.search.players.searching_player import Searcher

KUHN, LEDUC, LIAR = "kuhn_poker", "leduc_poker", "liars_dice"
VALUES = {KUHN: -1 / 18, LEDUC: -0.085606424078, LIAR: -0.027131782945736}
"""for the first player"""


@functools.cache
def flat(name):
    return flatten(games.load(name))


@functools.cache
def learned(name, method, iterations):
    run = Cfr(flat(name).tree, DISCOUNTS[method])
    run.run(iterations // 3)  # going on is the same as going through
    run.run(iterations - iterations // 3)
    return run.average()


# --- the tree ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("name", "nodes", "sets"), [(KUHN, 58 - 3, 12), (LEDUC, 9457 - 6, 936)])
def test_trees_have_the_known_sizes(name, nodes, sets):
    tree = flat(name).tree
    assert (len(tree.mover), len(tree.owner)) == (nodes, sets)


@pytest.mark.parametrize(("name", "uniformly", "determinizing"), [(KUHN, 11 / 12, 1 / 3), (LEDUC, 4.747222, 1.0)])
def test_what_a_best_response_wins_of_uniform_play_and_of_determinization(name, uniformly, determinizing):
    tree = flat(name).tree
    assert nash_conv(tree, uniform(tree)) == pytest.approx(uniformly, abs=5e-7)
    assert nash_conv(tree, determinized(tree)) == pytest.approx(determinizing, abs=1e-12)


def test_the_equilibria_of_kuhn_poker():
    """One number says them all: how often the first player bets with the Jack."""
    kuhn = flat(KUHN)
    names = [
        f"{kuhn.game.format(state)[0 if kuhn.game.rules.seat(state) == 0 else 1]} {kuhn.game.format(state)[3:]}".strip()
        for state in kuhn.states
    ]
    for alpha in (0.0, 0.2, 1 / 3):
        bets = {
            "J": alpha, "Q": 0, "K": 3 * alpha, "J pb": 0, "Q pb": alpha + 1 / 3, "K pb": 1,
            "J p": 1 / 3, "Q p": 0, "K p": 1, "J b": 0, "Q b": 1 / 3, "K b": 1,
        }  # fmt: skip
        strategy = np.array([chance for name in names for chance in (1 - bets[name], bets[name])])
        assert kuhn.moves.tolist() == [0, 1] * 12
        assert nash_conv(kuhn.tree, strategy) == pytest.approx(0, abs=1e-12)
        assert value_of(kuhn.tree, strategy) == pytest.approx(-1 / 18, abs=1e-12)
        assert value_of(kuhn.tree, strategy, 1) == pytest.approx(1 / 18, abs=1e-12)


def test_a_best_response_is_a_strategy_that_wins_what_it_says():
    tree = flat(LEDUC).tree
    for seat in (0, 1):
        value, response = best_response(tree, uniform(tree), seat)
        assert value_of(tree, response, seat) == pytest.approx(value, abs=1e-12)
        assert np.allclose(np.add.reduceat(response, tree.start[:-1]), 1)
        others = np.repeat(tree.owner, np.diff(tree.start)) != seat
        assert np.array_equal(response[others], uniform(tree)[others])


@pytest.mark.parametrize(
    ("game", "message"),
    [
        (games.load("nim"), "hides nothing"),
        (games.load("tic_tac_toe_three"), "has 3 players"),
        (one_card(listed=False), "chance events"),
        (corridor(3), "hides nothing"),
    ],
    ids=lambda value: getattr(value, "name", ""),
)
def test_games_that_are_no_such_tree_are_refused(game, message):
    with pytest.raises(InputError, match=message):
        flatten(game)


# --- the methods ------------------------------------------------------------------------------------------------------

KNOWN = [
    (KUHN, "cfr", 100, 0.0082260, 1e-5),
    (KUHN, "cfr", 1000, 0.00093762, 1e-5),
    (KUHN, "cfr_plus", 100, 0.0011944, 3e-5),
    (KUHN, "cfr_plus", 1000, 0.000087365, 1e-5),
    (KUHN, "discounted", 1000, 0.00014650, 1e-5),
    (KUHN, "linear", 1000, 0.000093530, 1e-5),
    (LEDUC, "cfr", 100, 0.0957164, 1e-6),
    (LEDUC, "cfr", 1000, 0.0118178, 2e-4),
    (LEDUC, "cfr_plus", 100, 0.0134160, 1e-6),
    (LEDUC, "cfr_plus", 1000, 0.00025715, 0.1),
]
"""game, method, iterations, exploitability, and how exactly it is reproduced: where rounding makes a regret of 0
positive, that move is made, so the figures of long runs of Leduc depend on the order of the sums"""


@pytest.mark.parametrize(("name", "method", "iterations", "known", "precision"), KNOWN)
def test_exploitabilities_are_those_of_openspiel(name, method, iterations, known, precision):
    found = exploitability(flat(name).tree, learned(name, method, iterations))
    assert found == pytest.approx(known, rel=precision)


@pytest.mark.parametrize("name", [KUHN, LEDUC])
def test_the_value_lies_within_what_best_responses_win(name):
    tree = flat(name).tree
    strategy = learned(name, "discounted", 1000)
    assert -best_response(tree, strategy, 1)[0] <= VALUES[name] <= best_response(tree, strategy, 0)[0]


def test_sampled_walks_approach_an_equilibrium_and_repeat_themselves():
    tree, found = flat(KUHN).tree, []
    for parts in ((20_000,), (5_000, 15_000)):
        run = ExternalSampling(tree, seed=3)
        for iterations in parts:
            run.run(iterations)
        found.append(run.average())
    assert np.array_equal(*found)
    assert exploitability(tree, found[0]) < 0.01


# --- the value, by linear programming ---------------------------------------------------------------------------------


def sequence_form_value(tree):
    """Of seat 0, without regrets or responses: Koller, Megiddo and von Stengel's linear program over the chances x that
    a player's own moves give each of his slots, and a value q for each information set of the other."""
    optimize, sparse = pytest.importorskip("scipy.optimize"), pytest.importorskip("scipy.sparse")
    slots, sets = int(tree.start[-1]), len(tree.owner)
    before = np.empty((2, len(tree.mover)), np.int64)
    trace(tree.mover, tree.child, tree.children, tree.slot, before)
    chance = np.ones(len(tree.mover))
    for node in range(len(tree.mover)):
        children = slice(tree.child[node], tree.child[node] + tree.children[node])
        chance[children] = chance[node] * tree.chance[children]
    ends = np.flatnonzero(tree.mover == END)
    empty, root = slots, slots + 1 + sets  # the sequence before all moves, and the value of the game
    won = sparse.coo_matrix(
        (-chance[ends] * tree.payoff[ends], (before[1, ends] % (slots + 1), before[0, ends] % (slots + 1))),
        shape=(slots + 1, root + 1),
    )
    rows, columns, entries = [], [], []
    equal: list[list[tuple[int, int]]] = [[(empty, 1)]]
    for i in range(sets):
        own, last = range(tree.start[i], tree.start[i + 1]), int(tree.before[i]) % (slots + 1)
        if tree.owner[i] == 0:
            equal.append([(slot, 1) for slot in own] + [(last, -1)])
        else:  # what a set is worth counts for it, and against the move before it
            for slot in own:
                rows.append(slot), columns.append(slots + 1 + i), entries.append(1)
            rows.append(last), columns.append(slots + 1 + i), entries.append(-1)
    rows.append(empty), columns.append(root), entries.append(1)
    limits = (won + sparse.coo_matrix((entries, (rows, columns)), shape=won.shape)).tocsr()
    cells = [(k, slot, factor) for k, line in enumerate(equal) for slot, factor in line]
    flow = sparse.coo_matrix(
        ([c[2] for c in cells], ([c[0] for c in cells], [c[1] for c in cells])), shape=(len(equal), root + 1)
    )
    goal = np.zeros(root + 1)
    goal[root] = -1
    bounds = [(0, None)] * (slots + 1) + [(None, None)] * (sets + 1)
    right = np.array([1.0] + [0.0] * (len(equal) - 1))
    found = optimize.linprog(goal, limits, np.zeros(slots + 1), flow.tocsr(), right, bounds, method="highs")
    assert found.status == 0, found.message
    return -found.fun


@pytest.mark.parametrize("name", [KUHN, LEDUC, pytest.param(LIAR, marks=pytest.mark.slow)])
def test_the_value_of_a_game_by_linear_programming(name):
    assert sequence_form_value(flat(name).tree) == pytest.approx(VALUES[name], abs=5e-12 if name == KUHN else 1e-9)


@pytest.mark.slow
def test_liars_dice():
    tree = flat(LIAR).tree
    assert (len(tree.mover), len(tree.owner)) == (36 * (4096 + 4095) + 1, 24576)
    strategy = learned(LIAR, "discounted", 300)
    assert value_of(tree, strategy) == pytest.approx(VALUES[LIAR], abs=nash_conv(tree, strategy))
    assert exploitability(tree, strategy) < 0.005


# --- the command ------------------------------------------------------------------------------------------------------


def test_the_command_prints_the_strategy_and_what_it_is_worth(capsys):
    status, out, err = call(equilibrium.main, ["kuhn_poker", "--iterations", "1000"], capsys)
    assert (status, err) == (0, "")
    assert "value for the first player: -0.0555" in out
    assert "exploitability: 0.000087" in out
    assert "your card Q" in out


def test_the_command_stops_when_it_is_near_enough(capsys):
    words = ["leduc_poker", "--method", "discounted", "--until", "0.02", "--iterations", "5000", "--json"]
    status, out, _ = call(equilibrium.main, words, capsys)
    found = json.loads(out)
    assert status == 0
    assert found["iterations"] == 100  # looked at after each fiftieth
    assert found["exploitability"] == pytest.approx(0.0077565, abs=1e-5)
    assert len(found["strategy"]) == 936
    assert all(sum(row["moves"].values()) == pytest.approx(1) for row in found["strategy"])


def test_the_command_shows_what_determinization_plays(capsys):
    status, out, _ = call(equilibrium.main, ["kuhn_poker", "--method", "determinization", "--show", "2"], capsys)
    assert status == 0
    assert "exploitability: 0.166667" in out
    assert "10 more situations" in out


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["chess"], "chess hides nothing"),
        (["kuhn_poker", "--iterations", "0"], "--iterations must be from 1"),
        (["kuhn_poker", "--until", "nan"], "--until must be above 0, not nan"),
        (["kuhn_poker", "--show", "-1"], "--show must be at least 0, not -1"),
        (["kuhn_poker", "--method", "magic"], "magic"),
    ],
)
def test_bad_words_are_one_line(words, message, capsys):
    status, out, err = call(equilibrium.main, words, capsys)
    assert (status, out, err.count("\n")) == (2, "", 1)
    assert message in err


# --- determinization by sampling --------------------------------------------------------------------------------------


def test_sampled_determinization_is_the_exact_one_on_average():
    """A search of worlds that `determinize` deals, and the tree, which weighs the nodes of a set by the deal."""
    kuhn, words = flat(KUHN), 20
    nodes, gain = len(kuhn.tree.mover), np.zeros(len(kuhn.moves))
    dealt = np.empty(nodes)
    average_worlds(kuhn.tree, dealt, np.empty(nodes), gain)
    how = How(algorithm="negamax", limits=Limits(depth=4))
    searcher = Searcher(kuhn.game, kuhn.game.baselines["zero"], how, fresh=True)
    for i, state in enumerate(kuhn.states):
        slots = range(kuhn.tree.start[i], kuhn.tree.start[i + 1])
        weight = dealt[kuhn.tree.slot == kuhn.tree.start[i]].sum()
        found = [{m.move: m.value for m in searcher.search(state, full=True, word=w).ranked} for w in range(words)]
        for slot in slots:
            mean = np.mean([values[int(kuhn.moves[slot])] for values in found])
            assert mean == pytest.approx(gain[slot] / weight, abs=4 * 2 / np.sqrt(words * WORLDS))


# --- the player -------------------------------------------------------------------------------------------------------


def test_the_player_draws_its_moves_and_is_hard_to_exploit():
    """How often each move is made, at every set; the strategy counted is nearly an equilibrium itself."""
    kuhn, draws = flat(KUHN), 4000
    player = find_player(kuhn.game, "equilibrium")
    counted = np.zeros(len(kuhn.moves))
    for i, state in enumerate(kuhn.states):
        keys = np.stack([np.arange(draws), np.full(draws, i)], axis=1)
        decisions = Decisions.of(np.repeat(kuhn.game.row(state)[None], draws, axis=0), keys)
        chosen = player.choose(decisions, seed=i)
        slots = range(kuhn.tree.start[i], kuhn.tree.start[i + 1])
        for slot in slots:
            counted[slot] = (chosen.moves == kuhn.moves[slot]).mean()
        after = kuhn.game.rules.play(state, chosen.moves[0])
        assert chosen.rows[0].tolist() == kuhn.game.row(after).tolist()
    assert exploitability(kuhn.tree, counted) < 0.02


def test_the_player_wins_where_others_err_and_loses_nothing_else():
    game = games.load(LEDUC)
    equilibrium_player, honest = (find_player(game, name) for name in ("equilibrium", "honest"))
    result = match(game, equilibrium_player, honest, 2000, seed=1)
    assert result.mean > 2 * result.standard_error
    with pytest.raises(InputError, match="takes no such settings"):
        find_player(game, "equilibrium@depth=3")
    with pytest.raises(InputError, match="no player 'equilibrium' for nim"):
        find_player(games.load("nim"), "equilibrium")
