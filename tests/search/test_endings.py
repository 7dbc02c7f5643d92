"""Databases of endings by slices: against counts and samples of other programs, against plain iteration with naive
rules; builds that were killed, the file, and who asks it."""

from __future__ import annotations

import functools
import math
import re
import signal
import subprocess
import sys

import numpy as np
import pytest
from conftest import DATA, ROOT, python_state
from filelock import FileLock
from oracles import naive_checkers as naive

from deltaw.envs import games
from deltaw.envs.bits import bit, random_word
from deltaw.envs.errors import InputError
from deltaw.envs.games.checkers.endings import code_of
from deltaw.envs.games.chess.boards import king_attacks
from deltaw.envs.games.chess.rules import State, in_check, mirrored
from deltaw.envs.kernel import kernel
from deltaw.envs.path import make_path, outcome, reach
from deltaw.search import build
from deltaw.search.databases import slices as building
from deltaw.search.databases.database import checksum, load_database, read_table, write_table
from deltaw.search.databases.endings import (
    ABSENT,
    BYTES,
    VALUES,
    WORDS,
    as_known,
    find_endings,
    make_endings,
    packed_slice,
    probe,
    read_entry,
    save_endings,
    with_endings,
)
from deltaw.search.databases.slices import LOCK, groups_of, parts_folder, solve_group
from deltaw.search.players.agent import Agent
from deltaw.search.tree.engine import Engine

CHECKERS, CHESS = games.load("checkers"), games.load("chess")
PIECES = [2, 3, pytest.param(4, marks=pytest.mark.slow)]


@functools.cache
def solved(name: str, pieces: str):
    """The database, built afresh."""
    game, known = games.load(name), {}
    for group in groups_of(game.slices, game.slices.read(pieces)):
        known |= solve_group(game, group, known, threads=2)
    return make_endings(game, known, covers=pieces)


def entries_of(database, code):
    """(values [n], distances [n]) of the positions of a slice, None for numbers without one."""
    slices = database.game.slices
    found = []
    for number in range(slices.size(code)):
        exists, state = slices.position(code, np.int64(number))
        known, value, distance = probe(database.facts, state)
        assert known == exists
        found.append((int(value), int(distance)) if exists else None)
    return found


# --- checkers, against others -----------------------------------------------------------------------------------------


def stats(pieces: int):
    """(code, won, lost, drawn, plies of the longest) of every slice in the list, black to move."""
    for line in (DATA / "checkers/egdb_stats.txt").read_text().splitlines():
        numbers = [int(number) for number in re.findall(r"\d+", line)]
        if line.startswith("  ") and sum(numbers[:4]) == pieces:
            yield int(code_of(*(numbers[i] for i in (0, 1, 2, 3)))), *numbers[4:]


def counts(database, code):
    """(won, lost, drawn, plies of the longest), by the numbers as they are stored."""
    part = database.slices[code]
    assert part.form == BYTES
    numbers = part.data.view(np.int8).astype(int)
    return (numbers > 0).sum(), (numbers < 0).sum(), (numbers == 0).sum(), max(np.abs(numbers).max() - 1, 0)


@pytest.mark.parametrize("pieces", PIECES)
def test_totals_are_those_of_another_program(pieces):
    known = list(stats(pieces))
    assert {code for code, *_ in known} == set(CHECKERS.slices.read(str(pieces)))
    for code, *numbers in known:
        assert counts(solved("checkers", str(pieces)), code) == tuple(numbers), CHECKERS.slices.name(code)


def sample_positions(pieces: int):
    """(state, value, plies or None) of the list."""
    for line in (DATA / "checkers/egdb_samples.tsv").read_text().splitlines()[1:]:
        board, side, value, plies = line.split("\t")
        squares = {"w": [], "b": []}
        for number, piece in enumerate(board, start=1):
            if piece != ".":
                squares[piece.lower()].append(f"{'K' if piece.isupper() else ''}{number}")
        if sum(map(len, squares.values())) == pieces:
            text = f"{side.upper()}:W{','.join(squares['w'])}:B{','.join(squares['b'])}"
            yield CHECKERS.parse(text), {"W": 1, "L": -1, "D": 0}[value], None if value == "D" else int(plies)


@pytest.mark.parametrize("pieces", PIECES)
def test_samples_of_another_program(pieces):
    samples, database = list(sample_positions(pieces)), solved("checkers", str(pieces))
    assert len(samples) == {2: 30, 3: 60, 4: 110}[pieces]
    for state, value, plies in samples:
        assert database.find(state) == (value, plies), CHECKERS.format(state)


def test_two_pieces_by_plain_iteration():
    """Naive rules on dictionaries, and the definition of a won and a lost position, again and again until nothing
    changes."""
    men = {"b": range(1, 29), "w": range(5, 33), "B": range(1, 33), "W": range(1, 33)}
    boards = [
        ((i, j), (black, white), side)
        for black in "bB" for white in "wW" for i in men[black] for j in men[white] if i != j for side in "bw"
    ]  # fmt: skip
    results = {}
    for squares, pieces, side in boards:
        other = "w" if side == "b" else "b"
        after = [board for _, board in naive.moves(dict(zip(squares, pieces, strict=True)), side)]
        results[squares, pieces, side] = [
            None if len(board) == 1 else key_of(board, other) for board in after
        ]  # None: nobody is left to move
    values, plies = {None: (-1, 0)}, 0
    values |= {key: (-1, 0) for key, following in results.items() if not following}
    while any(distance == plies for _, distance in values.values()):
        plies, decided = plies + 1, dict(values)
        for key, following in results.items():
            worths = [values[child][0] if child in values else 0 for child in following]
            if key not in values and (min(worths) < 0 or min(worths) > 0):
                decided[key] = (-min(worths), plies)
        values = decided
    database = solved("checkers", "2")
    for squares, pieces, side in boards:
        black, white = (f"{'K' if p.isupper() else ''}{n}" for p, n in zip(pieces, squares, strict=True))
        value, distance = values.get((squares, pieces, side), (0, None))
        assert database.find(CHECKERS.parse(f"{side.upper()}:W{white}:B{black}")) == (value, distance)


def key_of(board, side):
    black = next(number for number, piece in board.items() if piece.lower() == "b")
    white = next(number for number, piece in board.items() if piece.lower() == "w")
    return (black, white), (board[black], board[white]), side


CHINOOK = {
    2: 6_972, 3: 261_224, 4: 7_092_774, 5: 148_688_232, 6: 2_503_611_964, 7: 34_779_531_480, 8: 406_309_208_481,
}  # fmt: skip
"""positions by pieces, as the authors of Chinook count them: those in which one side has no pieces are among them"""


@pytest.mark.parametrize("pieces", CHINOOK)
def test_there_are_as_many_numbers_as_positions(pieces):
    one_sided = 2 * sum(math.comb(28, men) * math.comb(32 - men, pieces - men) for men in range(pieces + 1))
    numbers = sum(CHECKERS.slices.size(code) for code in CHECKERS.slices.read(str(pieces)))
    assert numbers + one_sided == CHINOOK[pieces]


def test_every_number_of_checkers_is_a_position_and_every_position_has_one():
    slices, seen = CHECKERS.slices, set()
    for code in slices.read("2"):
        for number in range(slices.size(code)):
            exists, state = slices.position(code, np.int64(number))
            assert (exists, slices.slice_of(state), slices.index(state)) == (True, code, number)
            seen.add(python_state(CHECKERS, state))
    assert len(seen) == 716 + 402 + 2370  # black to move, as the list of the other program says
    for code in slices.read("6"):
        for i in range(50):
            number = np.int64(random_word(code, i, 0, 0) % slices.size(code))
            exists, state = slices.position(code, number)
            assert (exists, slices.slice_of(state), slices.index(state)) == (True, code, number)
            assert CHECKERS.parse(CHECKERS.format(python_state(CHECKERS, state))) == state


# --- chess, against others --------------------------------------------------------------------------------------------


@kernel
def count_positions(facts, kind, white, histogram):
    """Every placement of two kings and one white man, on all of the board; histogram[d + 1]: those won or lost in d
    plies; returns how many are legal, unknown, drawn, decided with the pawn on the files a to d."""
    legal, unknown, drawn, left = 0, 0, 0, 0
    for place in range(64**3):
        king, man, his = place >> 12, place >> 6 & 63, place & 63
        if king in (man, his) or man == his or king_attacks(bit(king)) & bit(his):
            continue
        if kind == 0 and (man < 8 or man >= 56):
            continue
        men = placed(kind, king, man, his)
        state = men if white else mirrored(men, np.int64(0))
        if in_check(mirrored(state, np.int64(0))):
            continue
        legal += 1
        known, value, distance = probe(facts, state)
        unknown += not known
        if value == 0:
            drawn += 1
        else:
            histogram[distance] += 1
            left += (man & 7) < 4
    return legal, unknown, drawn, left


@kernel
def placed(kind, king, man, his):
    """White to move with a pawn (0), rook (3) or queen (4)."""
    none = np.int64(0)
    me, kings = bit(king) | bit(man), bit(king) | bit(his)
    pawns, rooks, queens = bit(man) * (kind == 0), bit(man) * (kind == 3), bit(man) * (kind == 4)
    return State(me, bit(his), pawns, none, none, rooks, queens, kings, none, none, none, np.int64(1), none)


KXK = [line.split() for line in (DATA / "chess/kxk_counts.txt").read_text().splitlines()]


@pytest.mark.parametrize("words", KXK, ids=lambda words: f"{words[0]} {words[1]}")
def test_chess_totals_are_those_of_another_program(words):
    facts = solved("chess", "KPK").facts
    white, histogram = words[1] == "stm=white", np.zeros(200, np.int64)
    legal, unknown, drawn, left = count_positions(facts, "PNBRQ".index(words[0][1]), white, histogram)
    assert [legal, int(histogram.sum()), drawn, left] == [int(words[i]) for i in (3, 5, 7, -1)]
    assert unknown == 0
    assert np.flatnonzero(histogram).max() == int(words[11])


def test_chess_samples_of_another_program():
    database = solved("chess", "KPK")
    lines = (DATA / "chess/kxk_samples.tsv").read_text().splitlines()[1:]
    for line in lines:
        letter, king, man, his, side, plies = line.split()
        state = placed("PNBRQ".index(letter), int(king), int(man), int(his))
        state = state if side == "w" else mirrored(state, np.int64(0))
        value = 0 if plies == "-1" else 1 if side == "w" else -1
        if CHESS.rules.outcome(state)[0]:
            assert (value, int(plies)) in ((0, -1), (-1, 0))
        else:
            assert database.find(state) == (value, None if value == 0 else int(plies)), line
    assert len(lines) == 225


@pytest.mark.slow
@pytest.mark.parametrize(("pieces", "moves"), [("KBNK", 33), ("KQKR", 35)])
def test_the_longest_mates_of_four_men_are_the_known_ones(pieces, moves):
    database = solved("chess", pieces)
    part = database.slices[CHESS.slices.read(pieces)[0]].data.view(np.int8).astype(int)
    assert part.max() - 1 == 2 * moves - 1


def test_mirror_images_are_worth_the_same():
    """Of every man, of both sides, in all turns of the board that the pieces allow."""
    database = solved("chess", "KPK")
    for code in database.slices:
        pawns = "P" in CHESS.slices.name(code)
        for i in range(40):
            exists, state = CHESS.slices.position(code, np.int64(random_word(code, i, 0, 0) % CHESS.slices.size(code)))
            for turn in range(2 if pawns else 8) if exists else ():
                image = State(*(turned_mask(mask, turn) for mask in state[:8]), *state[8:])
                assert probe(database.facts, image) == probe(database.facts, state)


def turned_mask(mask, turn):
    there = np.int64(0)
    for square in range(64):
        if int(mask) >> square & 1:
            file, rank = square & 7, square >> 3
            file, rank = (7 - file if turn & 1 else file), (7 - rank if turn & 2 else rank)
            there |= bit(8 * file + rank if turn & 4 else 8 * rank + file)
    return there


@pytest.mark.parametrize("fen", ["8/8/8/4k3/8/8/8/R3K3 w Q - 0 1", "8/8/8/8/k1pP3R/8/8/4K3 b - d3 0 1"])
def test_positions_that_are_not_numbered(fen):
    state = CHESS.read_position(fen)
    assert CHESS.slices.slice_of(state) == -1 or not probe(solved("chess", "KPK").facts, state)[0]
    assert solved("chess", "KPK").find(state) is None


# --- forms ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("most", [5, 126, 127, 3000])
def test_every_form_gives_back_what_was_stored(most):
    random = np.random.default_rng(most)
    entries = random.integers(-most - 1, most + 2, 1001).astype(np.int16)
    entries[::7] = ABSENT
    for distances in (False, True):
        part = packed_slice(entries, distances)
        assert part.form == (VALUES if not distances else BYTES if most < 127 else WORDS)
        data = np.concatenate([np.full(3, 255, np.uint8), part.data])
        for i, entry in enumerate(entries.tolist()):
            known, value, plies = read_entry(data, np.int64(3), np.int64(part.form), np.int64(i))
            assert known == (entry != ABSENT)
            if known:
                assert value == (entry > 0) - (entry < 0)
                assert plies == (abs(entry) - 1 if distances else -1)


def test_values_do_not_need_distances():
    """Where a slice below has none, those above have none either, and the values are the same."""
    whole = solved("checkers", "3")
    known = {}
    for group in groups_of(CHECKERS.slices, CHECKERS.slices.read("3")):
        if group == (int(code_of(0, 1, 0, 1)),):
            numbers = whole.slices[group[0]].data.view(np.int8).astype(np.int16)
            known[group[0]] = packed_slice(numbers, False)
        else:
            known |= solve_group(CHECKERS, group, known)
    blind = make_endings(CHECKERS, known, covers="")
    assert {part.form for part in known.values()} == {VALUES}
    for code in (code_of(1, 1, 0, 1), code_of(1, 0, 2, 0)):
        for mine, his in zip(entries_of(whole, int(code)), entries_of(blind, int(code)), strict=True):
            assert (mine[0], -1) == his
    state = CHECKERS.parse("W:WK20,K24:BK1")
    found = Engine(CHECKERS, CHECKERS.baselines["material"], known=as_known(blind), entries=1 << 10).search(
        state, depth=2
    )
    assert 0.99 < found.value < 1.0, "won, but nobody knows how soon"
    assert found.distance is None


# --- builds -----------------------------------------------------------------------------------------------------------


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Where the data folder is; nothing else is found."""
    monkeypatch.setenv("DELTAW_DATA", str(tmp_path))
    monkeypatch.setattr(building, "find_endings", lambda game: None)
    return tmp_path


KILLED = """
import os, signal
from deltaw.search import build
from deltaw.search.databases import slices
solve, solved = slices.solve_group, []
def solve_some(game, group, *others):
    if len(solved) == 4:
        os.kill(os.getpid(), signal.SIGKILL)
    solved.append(group)
    return solve(game, group, *others)
slices.solve_group, slices.find_endings = solve_some, lambda game: None
build.main(["checkers", "endgame", "--pieces", "3"])
"""


def test_a_killed_build_goes_on(folder, monkeypatch):
    """From the groups that were finished: one of them is damaged, and solved again."""
    path = folder / "checkers_endgame_3.table"
    done = subprocess.run([sys.executable, "-c", KILLED], cwd=ROOT, check=False)
    assert done.returncode == -signal.SIGKILL
    kept = sorted(parts_folder(path).glob("*.table"))
    assert len(kept) == 4
    assert not path.exists()
    kept[0].write_bytes(kept[0].read_bytes()[:-1])
    (parts_folder(path) / "half a file").touch()
    again, solve = [], building.solve_group

    def note(game, group, *others):
        again.append(group)
        return solve(game, group, *others)

    monkeypatch.setattr(building, "solve_group", note)
    assert build.main(["checkers", "endgame", "--pieces", "3"]) == 0
    assert len(again) == len(groups_of(CHECKERS.slices, CHECKERS.slices.read("3"))) - 3
    assert not parts_folder(path).exists()
    assert load_database(path, CHECKERS).description.sha256
    fresh = solved("checkers", "3")
    assert {code: part.data.tobytes() for code, part in load_database(path).slices.items()} == {
        code: part.data.tobytes() for code, part in fresh.slices.items()
    }


def test_one_process_at_a_time(folder, capsys):
    parts = parts_folder(folder / "checkers_endgame_2.table")
    parts.mkdir()
    with FileLock(parts / LOCK):
        assert build.main(["checkers", "endgame", "--pieces", "2"]) == 2
    assert "another process" in capsys.readouterr().err
    assert build.main(["checkers", "endgame", "--pieces", "2"]) == 0


def test_a_build_that_needs_too_much_memory_does_not_begin(folder, capsys, monkeypatch):
    monkeypatch.setattr("deltaw.envs.memory.free_memory", lambda: 1 << 20)
    assert build.main(["checkers", "endgame", "--pieces", "4"]) == 2
    assert "GiB are free" in capsys.readouterr().err
    assert not list(folder.iterdir())


def test_a_build_takes_over_what_is_known(tmp_path, monkeypatch):
    monkeypatch.setenv("DELTAW_DATA", str(tmp_path))
    save_endings(solved("checkers", "3"), tmp_path / "checkers_endgame_3.table")
    monkeypatch.setattr(building, "solve_group", None)
    assert build.main(["checkers", "endgame", "--pieces", "2"]) == 0
    assert len(load_database(tmp_path / "checkers_endgame_2.table")) == 3488


# --- the file ---------------------------------------------------------------------------------------------------------


def test_a_saved_database_is_the_same(tmp_path):
    database, path = solved("checkers", "2"), tmp_path / "x.table"
    save_endings(database, path)
    again = load_database(path)
    for code in database.slices:
        assert entries_of(again, code) == entries_of(database, code)
    assert len(again) == len(database) == 3488


DAMAGE = {
    "code": (lambda t: t["slices"].__setitem__((0, 0), 1 << 16), "slice"),
    "order": (lambda t: t["slices"].__setitem__(slice(None), t["slices"][::-1].copy()), "ascending"),
    "size": (lambda t: t["slices"].__setitem__((0, 1), 7), "7 numbers"),
    "form": (lambda t: t["slices"].__setitem__((0, 2), 4), "of 4 bits"),
    "another form": (lambda t: t["slices"].__setitem__((0, 2), VALUES), "block"),
    "length": (lambda t: t["blocks"].__setitem__(0, 3), "blocks"),
    "bytes": (lambda t: t["packed"].__setitem__(slice(0, 4), 0), "block"),
}


@pytest.mark.parametrize("kind", DAMAGE)
def test_a_damaged_file_is_refused_in_one_line(tmp_path, kind):
    path = tmp_path / "x.table"
    save_endings(solved("checkers", "2"), path)
    description, tensors = read_table(path, ("slices",))
    tensors = {name: tensor.copy() for name, tensor in tensors.items()}
    DAMAGE[kind][0](tensors)
    write_table(path, description, tensors)
    assert read_table(path, ("slices",))[0].sha256 == checksum(tensors)
    with pytest.raises(InputError, match=DAMAGE[kind][1]) as error:
        load_database(path)
    assert "\n" not in str(error.value)


def test_any_change_of_the_tensors_is_refused_or_harmless(tmp_path):
    """With a checksum that fits: nothing but an InputError is raised, and a file that is read can be asked."""
    path, random = tmp_path / "x.table", np.random.default_rng(8)
    save_endings(solved("checkers", "2"), path)
    description, tensors = read_table(path, ("slices",))
    refused: list[str] = []
    for _ in range(300):
        changed = {name: tensor.copy() for name, tensor in tensors.items()}
        data = changed[sorted(changed)[random.integers(3)]].reshape(-1).view(np.uint8)
        data[random.integers(len(data))] ^= 1 << int(random.integers(8))
        write_table(path, description, changed)
        try:
            database = load_database(path)
            for state, _, _ in sample_positions(2):
                database.moves(state)
        except InputError as error:
            refused.append(str(error))
    assert len(refused) > 200
    assert not any("\n" in message for message in refused)


def test_a_file_made_with_other_numbers_is_refused(tmp_path, monkeypatch):
    path = tmp_path / "x.table"
    save_endings(solved("checkers", "2"), path)
    monkeypatch.setattr("deltaw.search.databases.endings.numbering_mark", lambda slices, codes: "other")
    with pytest.raises(InputError, match="build it again"):
        load_database(path)


# --- who asks ---------------------------------------------------------------------------------------------------------


def test_what_is_found_is_joined(tmp_path, monkeypatch):
    monkeypatch.setenv("DELTAW_DATA", str(tmp_path))
    save_endings(solved("chess", "KQK,KRK"), tmp_path / "chess_endgame_a.table")
    save_endings(solved("chess", "KPK"), tmp_path / "chess_endgame_b.table")
    found = find_endings(CHESS)
    assert set(found.slices) >= set(solved("chess", "KPK").slices)
    assert found.find(CHESS.read_position("8/8/8/4k3/8/8/8/R3K3 w - - 0 1")).value == 1


def test_moves_are_those_of_the_database():
    database = solved("checkers", "3")
    for state, value, plies in sample_positions(3):
        for move in database.moves(state):
            entry = database.find(CHECKERS.rules.play(state, move))
            assert entry == (-value, None if value == 0 else plies - 1)


def test_at_one_ply_an_informed_evaluator_is_exact():
    material = CHECKERS.baselines["material"]
    database = solved("checkers", "3")
    agent = Agent(CHECKERS, material, plies=1, endings=functools.partial(with_endings, database=database))
    for state, value, _ in list(sample_positions(3))[:20]:
        assert agent.value(state).value == value
    start = CHECKERS.rules.initial()
    for move in agent.rank(start):
        assert move.value == -material.function(move.state), "unknown positions are the evaluator's"


def engine(game, database):
    return Engine(game, game.baselines["material"], known=as_known(database), entries=1 << 12)


def assert_won_in_time(game, searcher, database, state):
    """The engine wins against the longest defence, in as many plies as the database says."""
    for left in range(database.find(state).distance, 0, -1):
        found = searcher.search(state, depth=2)
        assert (found.value, found.distance, found.proven) == (1.0 if left % 2 else -1.0, left, True)
        state = python_state(game, game.rules.play(state, found.move))
    assert game.rules.outcome(state) == (True, -1)


def test_the_engine_wins_as_soon_as_the_database_says():
    database = solved("checkers", "3")
    won = [state for state, value, _ in sample_positions(3) if value > 0]
    for state in won[:8]:
        assert_won_in_time(CHECKERS, engine(CHECKERS, database), database, state)


@pytest.mark.slow
def test_the_engine_mates_with_a_rook():
    """From the longest mates, too."""
    database = solved("chess", "KRK")
    searcher = engine(CHESS, database)
    for fen in ("8/8/8/8/8/8/1k6/3K3R w - - 0 1", "8/8/8/3k4/8/8/8/R3K3 w - - 0 1", "7R/8/2K5/8/8/8/8/1k6 w - - 0 1"):
        assert_won_in_time(CHESS, searcher, database, CHESS.read_position(fen))
    above = CHESS.read_position("8/8/8/3k4/8/1n6/8/R3K2R w - - 0 1")
    assert not probe(database.facts, above)[0]
    assert searcher.search(above, depth=4).move is not None


def keeping(database, state):
    """How many moves keep the draw, or win."""
    results = [CHECKERS.rules.play(state, move) for move in CHECKERS.moves(state)]
    return sum(database.find(python_state(CHECKERS, result)).value <= 0 for result in results)


def hardest(database, state):
    """The move after which the opponent has the fewest moves that keep the draw."""
    return min(
        database.moves(state),
        key=lambda move: keeping(database, python_state(CHECKERS, CHECKERS.rules.play(state, move))),
    )


def test_a_drawn_ending_is_never_lost():
    """An agent with the shipped database holds 200 drawn positions of four pieces: against random moves, and against
    the moves that leave it the fewest ways to hold."""
    database = find_endings(CHECKERS)
    agent = Agent(CHECKERS, CHECKERS.baselines["material"], databases=[database], plies=1)
    codes = CHECKERS.slices.read("4")
    number, games_played, lost = 0, 0, 0
    while games_played < 200:
        number += 1
        code = codes[number % len(codes)]
        place = np.int64(random_word(7, number, 0, 0) % CHECKERS.slices.size(code))
        state = python_state(CHECKERS, CHECKERS.slices.position(code, place)[1])
        if CHECKERS.rules.outcome(state)[0] or database.find(state).value != 0:
            continue
        games_played += 1
        path, ply = make_path(CHECKERS.rules), 0
        while not outcome(CHECKERS.rules, path, state)[0]:
            if ply % 2 == 0:
                move = agent.choose(state, path)
            elif games_played % 2:
                moves = CHECKERS.moves(state)
                move = moves[random_word(7, number, ply, 1) % len(moves)]
            else:
                move = hardest(database, state)
            reach(CHECKERS.rules, path, state)
            state, ply = python_state(CHECKERS, CHECKERS.rules.play(state, move)), ply + 1
        value = outcome(CHECKERS.rules, path, state)[1]
        lost += value != 0 and (value < 0) == (ply % 2 == 0)
    assert lost == 0
