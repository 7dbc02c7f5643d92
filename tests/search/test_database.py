"""Databases and books: what they answer, their files, damage to these, the leaf that asks them, and the command that
builds them."""

from __future__ import annotations

import contextlib
import functools
import hashlib
import json

import numpy as np
import pytest
from conftest import ROOT, random_game
from safetensors.numpy import save as to_bytes
from toy_games import random_evaluator

from deltaw.envs import games
from deltaw.envs.errors import InputError
from deltaw.search.databases.bearoff import build_bearoff, save_bearoff
from deltaw.search.databases.book import make_book
from deltaw.search.databases.database import (
    BEAROFF,
    BOOK,
    ENDGAME,
    OUTCOME,
    SCORE,
    Entry,
    checksum,
    data_folder,
    find_databases,
    find_key,
    load_database,
    load_databases,
    make_database,
    read_table,
    save_database,
    with_database,
)
from deltaw.search.databases.retrograde import retrograde
from deltaw.search.databases.symmetry import class_keys
from deltaw.search.evaluators.evaluator import evaluate_rows, make_evaluator
from deltaw.search.evaluators.work import make_work
from deltaw.search.players.players import Decisions, EvaluatorPlayer
from deltaw.search.solvers import exact as solve

TIC_TAC_TOE = games.load("tic_tac_toe")
CONNECT_FOUR = games.load("connect_four")


@functools.cache
def complete():
    return retrograde(TIC_TAC_TOE, command="by hand")


def some_states(game=TIC_TAC_TOE, count=200):
    states = [state for number in range(60) for state in random_game(game, 17, number)]
    return states[:count]


# --- answers ----------------------------------------------------------------------------------------------------------


def test_find_key_is_a_search_of_a_sorted_list():
    random = np.random.default_rng(2)
    for size in (0, 1, 2, 3, 100):
        keys = np.unique(random.integers(0, 300, size))
        for key in range(-1, 301):
            found = find_key(keys, np.int64(key))
            assert found == (list(keys).index(key) if key in keys else -1)


def test_what_is_known_and_what_is_not():
    database = retrograde(TIC_TAC_TOE, [TIC_TAC_TOE.parse("X-O------")])
    assert database.find(TIC_TAC_TOE.parse("X-O------")) == Entry(1, 5)
    assert database.find(TIC_TAC_TOE.parse("--------X")) is None
    assert database.moves(TIC_TAC_TOE.parse("--------X")) == []
    lost = TIC_TAC_TOE.parse("XXX-O-O--")
    assert database.find(lost) == Entry(-1, 0), "a finished game needs no entry"
    assert database.moves(lost) == []


def test_mirrored_positions_are_one():
    database = complete()
    for text in ("X-O------", "O-X------", "X-----O--", "------X-O"):
        assert database.find(TIC_TAC_TOE.parse(text)) == Entry(1, 5)
    assert [TIC_TAC_TOE.move_text(None, m) for m in database.moves(TIC_TAC_TOE.parse("X-O------"))] == [
        "a2",
        "a3",
        "c3",
    ]


def test_best_moves_without_distances_are_by_value():
    database = complete()
    blind = make_database(
        TIC_TAC_TOE,
        database.positions.keys,
        database.positions.values,
        kind=ENDGAME,
        covers="all",
        units=OUTCOME,
        symmetric=True,
    )
    for state in some_states():
        if not TIC_TAC_TOE.rules.outcome(state)[0]:
            mine, his = blind.moves(state), database.moves(state)
            assert set(his) <= set(mine)
            value = database.find(state).value
            assert all(-database.find(TIC_TAC_TOE.rules.play(state, m)).value == value for m in mine)
            assert blind.find(state) == Entry(value, None)


def test_moves_at_the_edge_of_a_book():
    """Where only the position itself is known, nothing is said; where the results are, that suffices."""
    book = make_book(TIC_TAC_TOE, 2)
    inside, edge = TIC_TAC_TOE.parse("X--------"), TIC_TAC_TOE.parse("X---O----")
    assert [TIC_TAC_TOE.move_text(None, m) for m in book.moves(inside)] == ["b2"]
    assert book.find(edge) == Entry(0, None)
    assert book.moves(edge) == []
    positions = book.positions
    without = positions.keys != class_keys(TIC_TAC_TOE, TIC_TAC_TOE.row(inside)[None])[0]
    beside = make_database(
        TIC_TAC_TOE,
        positions.keys[without],
        positions.values[without],
        kind=BOOK,
        covers="",
        units=OUTCOME,
        symmetric=True,
    )
    assert beside.find(inside) is None
    assert beside.moves(inside) == book.moves(inside)


# --- books ------------------------------------------------------------------------------------------------------------


def test_books_are_right():
    """Of tic-tac-toe by the complete database, with and without symmetry, of every length."""
    for plies in (0, 3, 9):
        for symmetric in (True, False):
            book = make_book(TIC_TAC_TOE, plies, symmetric=symmetric)
            assert (book.description.kind, book.description.units) == (BOOK, OUTCOME)
            for state in some_states():
                stones = int(state.me | state.opponent).bit_count()
                known = book.find(state)
                if stones <= plies or TIC_TAC_TOE.rules.outcome(state)[0]:
                    assert known.value == complete().find(state).value
                else:
                    assert known is None


def test_a_book_holds_each_class_once():
    told = []
    book = make_book(TIC_TAC_TOE, 2, report=lambda *numbers: told.append(numbers))
    assert len(book) == 1 + 3 + 12
    assert told == [(done, 12) for done in range(1, 13)], "only the last ply is solved"
    assert len(make_book(TIC_TAC_TOE, 2, symmetric=False)) == 1 + 9 + 72


class ByScore:
    """A solver as those of `search/solvers/` are seen: scores instead of outcomes."""

    def solve(self, state, *, seconds=None, nodes=None, best=True):
        return solve.Solution(1000 * complete().find(state).value, (), 1)


def test_a_book_of_scores():
    book = make_book(TIC_TAC_TOE, 2, solver=ByScore())
    assert book.description.units == SCORE
    assert abs(book.positions.values).max() == 1000
    assert book.find(TIC_TAC_TOE.parse("X-O------")) == Entry(1000, None)
    with pytest.raises(InputError, match="score"):
        with_database(random_evaluator(TIC_TAC_TOE, 1).leaf, book)


def test_a_book_by_the_games_own_solver():
    """Scores backed up from the last ply are those found where they stand."""
    root = CONNECT_FOUR.parse("4444445235365566")
    book = make_book(CONNECT_FOUR, 3, [root])
    solver = solve.find_solver(CONNECT_FOUR)
    assert book.description.units == SCORE
    layer = [root]
    for _ in range(3):
        for state in layer:
            solution = solver.solve(state)
            assert book.find(state) == Entry(solution.score, None)
        layer = [CONNECT_FOUR.rules.play(s, m) for s in layer for m in CONNECT_FOUR.moves(s)]
        layer = [s for s in layer if not CONNECT_FOUR.rules.outcome(s)[0]]
    assert set(book.moves(root)) == set(solver.solve(root).best)
    assert book.find(CONNECT_FOUR.rules.initial()) is None


# --- as an evaluator --------------------------------------------------------------------------------------------------


def random_tuples():
    """A small n-tuple network with random weights."""
    features = TIC_TAC_TOE.tuples([[0, 1], [0, 3], [0, 4], [2, 4]])
    weights = np.random.default_rng(5).normal(0, 0.5, (features.num_features, 1))
    return make_evaluator(TIC_TAC_TOE, {"weight0": weights, "bias0": np.zeros(1)}, features=features, head="tanh")


def check_siblings(leaf, decisions):
    """As siblings, at play, positions have the values that they have afresh."""
    player, rows = EvaluatorPlayer(TIC_TAC_TOE, leaf, "informed"), np.array([TIC_TAC_TOE.row(s) for s in decisions])
    _, found = player.decide(Decisions.of(rows), 0)
    for state, value in zip(decisions, found, strict=True):
        children = [TIC_TAC_TOE.row(TIC_TAC_TOE.rules.play(state, move)) for move in TIC_TAC_TOE.moves(state)]
        afresh, outputs = np.empty(1), np.empty((1, len(leaf.weights.outcomes)), np.float32)
        worths = []
        for child in children:
            evaluate_rows(TIC_TAC_TOE.rules, leaf, child[None], make_work(leaf, TIC_TAC_TOE), afresh, outputs)
            worths.append(-afresh[0])
        assert value == pytest.approx(max(worths), abs=1e-6)


@pytest.mark.parametrize("head", ["classes", "tanh", "tuples"])
def test_a_leaf_with_a_database(head):
    plain = (random_tuples() if head == "tuples" else random_evaluator(TIC_TAC_TOE, 5, head=head)).leaf
    database = retrograde(TIC_TAC_TOE, [TIC_TAC_TOE.parse("X-O------")])
    leaf = with_database(plain, database)
    states = some_states()
    rows = np.array([TIC_TAC_TOE.row(state) for state in states])
    answers = []
    for one in (leaf, plain):
        values, outputs = np.empty(len(rows)), np.empty((len(rows), len(one.weights.outcomes)), np.float32)
        evaluate_rows(TIC_TAC_TOE.rules, one, rows, make_work(one, TIC_TAC_TOE), values, outputs)
        answers.append((values, outputs))
    (values, outputs), (own, own_outputs) = answers
    known = [database.find(state) for state in states]
    for i, entry in enumerate(known):
        assert values[i] == (own[i] if entry is None else entry.value)
        if entry is None:
            np.testing.assert_array_equal(outputs[i], own_outputs[i])
        elif head == "classes":
            assert outputs[i].tolist() == [float(outcome == entry.value) for outcome in (-1, 0, 1)]
    assert 20 < sum(entry is None for entry in known) < len(known) - 20
    check_siblings(leaf, [state for state in states if not TIC_TAC_TOE.rules.outcome(state)[0]][:40])
    with pytest.raises(InputError, match="cannot be given"):
        with_database(leaf, database)


# --- files ------------------------------------------------------------------------------------------------------------


@pytest.fixture
def good(tmp_path):
    """(path, database) of a good file."""
    path = tmp_path / "deep" / "good.table"
    save_database(complete(), path)
    return path, complete()


def same(a, b) -> bool:
    return a.description == b.description and all(
        np.array_equal(x, y) for x, y in zip(a.positions, b.positions, strict=True)
    )


def test_round_trip(good, tmp_path):
    path, database = good
    assert same(load_database(path), database)
    assert same(load_database(path, TIC_TAC_TOE), database)
    save_database(load_database(path), tmp_path / "again.table")
    assert (tmp_path / "again.table").read_bytes() == path.read_bytes()
    assert database.description.made["command"] == "by hand"
    assert len(path.read_bytes()) < 765 * 12 + 1000, "one byte a value, two a distance"


def test_round_trip_of_large_values_without_distances(tmp_path):
    book = make_book(TIC_TAC_TOE, 2, solver=ByScore())
    save_database(book, tmp_path / "book.table")
    _, tensors = read_table(tmp_path / "book.table", (BOOK,))
    assert {name: t.dtype.name for name, t in tensors.items()} == {"keys": "int64", "values": "int16"}
    assert same(load_database(tmp_path / "book.table"), book)


def test_the_order_of_the_keys_does_not_matter(tmp_path):
    positions = complete().positions
    shuffled = np.random.default_rng(1).permutation(len(positions.keys))
    about = {
        "kind": ENDGAME,
        "covers": complete().description.covers,
        "units": OUTCOME,
        "symmetric": True,
        "command": "by hand",
    }
    again = make_database(TIC_TAC_TOE, *(array[shuffled] for array in positions[:3]), **about)
    assert same(again, complete())


def one_line(call, *arguments) -> str:
    """The message of the InputError that the call must raise: one line."""
    with pytest.raises(InputError) as caught:
        call(*arguments)
    message = str(caught.value)
    assert message
    assert "\n" not in message
    return message


def rewrite(path, *, description: dict | None = None, **tensors) -> None:
    """The file with some tensors and fields of the description changed (None: left out), and a checksum that fits."""
    data = path.read_bytes()
    fields = json.loads(json.loads(data[8 : 8 + int.from_bytes(data[:8], "little")])["__metadata__"]["deltaw"])
    _, old = read_table(path, (ENDGAME,))
    new = {name: np.ascontiguousarray(t) for name, t in (old | tensors).items() if t is not None}
    fields = {k: v for k, v in (fields | {"sha256": checksum(new)} | (description or {})).items() if v is not None}
    path.write_bytes(to_bytes(new, metadata={"deltaw": json.dumps(fields)}))


FIELDS = {
    "version": ({"version": 99}, "99"),
    "game": ({"game": "halma"}, "'halma'"),
    "another game": ({"game": "connect_four"}, "connect_four"),
    "kind": ({"kind": BEAROFF}, "'bearoff'"),
    "mark": ({"mark": "0" * 16}, "build it again"),
    "checksum": ({"sha256": "0" * 64}, "damaged"),
    "symmetric": ({"symmetric": "yes"}, "symmetric"),
    "another symmetry": ({"symmetric": False}, "build it again"),
    "incomplete": ({"units": None}, "'units'"),
    "no version": ({"version": None}, "'version'"),
    "type of a text": ({"covers": 3}, "description"),
    "type of the version": ({"version": "new"}, "not 'new'"),
    "units": ({"units": "furlongs"}, "'furlongs'"),
    "made": ({"made": "by hand"}, "description"),
    "unknown field": ({"colour": "blue"}, "colour"),
}


@pytest.mark.parametrize("case", FIELDS)
def test_a_wrong_description_is_named(good, case):
    changes, named = FIELDS[case]
    rewrite(good[0], description=changes)
    assert named in one_line(load_database, good[0])


@pytest.mark.parametrize("text", ["", "[1, 2]", "3", "{", "null"])
def test_a_description_that_is_none(good, text):
    path, _ = good
    _, tensors = read_table(path, (ENDGAME,))
    path.write_bytes(to_bytes(tensors, metadata={"deltaw": text}))
    assert str(path) in one_line(load_database, path)
    path.write_bytes(to_bytes(tensors))
    assert "'deltaw'" in one_line(load_database, path)


def test_wrong_tensors_are_named(good):
    path, database = good
    keys, values, distances, _ = database.positions
    before = path.read_bytes()
    wrong = {
        "ascending": {"keys": keys[::-1]},
        "not strictly": {"keys": np.append(keys[:1], keys[:-1])},
        "are not strictly": {"keys": np.append(keys[:-1], -(2**63) + 5)},  # their differences are beyond 64 bits
        "keys of type int32": {"keys": keys.astype(np.int32)},
        "values of type float32": {"values": values.astype(np.float32)},
        "(764,)": {"values": values[1:].astype(np.int8)},
        "(765, 1)": {"distances": distances[:, None]},
        "values between": {"values": (5 * values).astype(np.int8)},
        "distance of -7": {"distances": np.where(distances < 0, -7, distances).astype(np.int16)},
        "but holds distances, keys": {"values": None},
        "extra": {"extra": keys},
    }
    for named, change in wrong.items():
        path.write_bytes(before)
        rewrite(path, **change)
        assert named in one_line(load_database, path)


def test_a_file_for_another_game(good):
    message = one_line(load_database, good[0], CONNECT_FOUR)
    assert "tic_tac_toe" in message
    assert "connect_four" in message


def test_an_evaluator_is_no_table(tmp_path):
    from deltaw.search.evaluators.evaluator import save_evaluator

    save_evaluator(random_evaluator(TIC_TAC_TOE, 1), tmp_path / "file")
    assert "no table" in one_line(load_database, tmp_path / "file")
    assert "there is no" in one_line(load_database, tmp_path / "absent")
    assert str(tmp_path) in one_line(load_database, tmp_path)


def test_truncated_and_random_files(good):
    path, _ = good
    data = path.read_bytes()
    random = np.random.default_rng(5)
    for length in [0, 1, 7, 8, 9, 100, len(data) // 2, len(data) - 1]:
        path.write_bytes(data[:length])
        assert str(path) in one_line(load_database, path)
        path.write_bytes(random.bytes(length))
        assert str(path) in one_line(load_database, path)


def test_any_flipped_byte_of_the_tensors_is_noticed(good):
    path, _ = good
    data = path.read_bytes()
    header = 8 + int.from_bytes(data[:8], "little")
    random = np.random.default_rng(6)
    for place in random.integers(header, len(data), 60):
        broken = bytearray(data)
        broken[place] ^= 1 << int(random.integers(8))
        path.write_bytes(broken)
        assert "damaged" in one_line(load_database, path)
    for place in random.integers(0, header, 200):  # in the header: an error or harmless
        broken = bytearray(data)
        broken[place] = random.integers(256)
        path.write_bytes(broken)
        with contextlib.suppress(InputError):
            load_database(path)


# --- where files are --------------------------------------------------------------------------------------------------


def test_databases_are_found_by_name(tmp_path, monkeypatch):
    monkeypatch.setenv("DELTAW_DATA", str(tmp_path / "data"))
    shipped = find_databases(TIC_TAC_TOE)
    save_database(complete(), tmp_path / "data" / "tic_tac_toe_mine.table")
    (tmp_path / "data" / "connect_four_other.table").touch()
    assert find_databases(TIC_TAC_TOE) == shipped | {"mine": tmp_path / "data" / "tic_tac_toe_mine.table"}
    for path in shipped.values():
        assert len(load_database(path, TIC_TAC_TOE)) > 0


def test_all_databases_of_a_game_are_loaded(tmp_path, monkeypatch):
    monkeypatch.setenv("DELTAW_DATA", str(tmp_path))
    save_database(make_book(TIC_TAC_TOE, 1), tmp_path / "tic_tac_toe_a.table")
    kinds = [database.description.kind for database in load_databases(TIC_TAC_TOE)]
    assert kinds == sorted(kinds, key=[ENDGAME, BOOK].index)
    assert kinds.count(BOOK) == 1
    save_bearoff(build_bearoff(games.load("backgammon"), 2), tmp_path / "backgammon_bearoff.table")
    assert load_databases(games.load("backgammon")) == []
    (tmp_path / "tic_tac_toe_b.table").write_bytes(b"nothing")
    assert "tic_tac_toe_b.table" in one_line(load_databases, TIC_TAC_TOE)


SHIPPED = sorted((ROOT / "checkpoints").glob("*.table"))


@pytest.mark.parametrize("path", SHIPPED, ids=lambda path: path.name)
def test_shipped_tables_are_what_their_list_says(path, tmp_path, monkeypatch):
    monkeypatch.setenv("DELTAW_DATA", str(tmp_path))
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    (line,) = [
        line
        for line in (ROOT / "checkpoints" / "README.md").read_text().splitlines()
        if line.startswith(f"| `{path.name}`")
    ]
    database = load_database(path)
    assert digest[:16] in line
    assert f"{len(database):,}" in line
    assert f"{path.stat().st_size:,}" in line
    assert database.description.made["command"].removeprefix("python -m search.") in line  # of the version that made it
    assert (
        path == find_databases(database.game)[path.name.removeprefix(f"{database.game.name}_").removesuffix(".table")]
    )


@pytest.mark.parametrize("path", [path for path in SHIPPED if "complete" in path.name], ids=lambda path: path.name)
def test_shipped_complete_games_can_be_built_again(path):
    shipped = load_database(path)
    assert retrograde(shipped.game).description.sha256 == shipped.description.sha256


def test_the_data_folder(monkeypatch):
    monkeypatch.setenv("DELTAW_DATA", "/some/where")
    assert str(data_folder()) == "/some/where"
    monkeypatch.delenv("DELTAW_DATA")
    monkeypatch.setenv("XDG_DATA_HOME", "/data")
    assert str(data_folder()) == "/data/deltaw"
    monkeypatch.delenv("XDG_DATA_HOME")
    monkeypatch.setenv("HOME", "/home/somebody")
    assert str(data_folder()) == "/home/somebody/.local/share/deltaw"
