"""Opening books in Polyglot format: keys and records against python-chess, books of games, and who asks them."""

from __future__ import annotations

import random
from collections import Counter

import numpy as np
import pytest
from command_lines import assert_one_line, call

from deltaw.envs import games
from deltaw.envs.games.chess.notation import EXAMPLE, moves_of, parse, read_move, uci
from deltaw.search import arena, build
from deltaw.search.databases.polyglot import RECORD, PolyglotBook, load_polyglot, polyglot_key, swapped
from deltaw.search.databases.polyglot_random import RANDOM64
from deltaw.search.doors.uci import Task, UciDoor
from deltaw.search.players.agent import Agent
from deltaw.search.players.find import find_player
from deltaw.search.players.players import Decisions

CHESS = games.load("chess")
START = parse(EXAMPLE)
GAMES = """
[Result "1-0"]

1. e4 e5 2. Nf3 Nc6 3. Bb5 1-0

[Result "1/2-1/2"]

1. e4 c5 2. Nf3 1/2-1/2

[Result "0-1"]

1. d4 d5 0-1

[Result "*"]

1. a3 *
"""


@pytest.fixture
def book(tmp_path) -> str:
    """The path of the book of GAMES."""
    (tmp_path / "games.pgn").write_text(GAMES)
    path = tmp_path / "book.bin"
    assert build.main(f"chess book --plies 3 --from-games {tmp_path}/games.pgn --out {path}".split()) == 0
    return str(path)


def after(*moves: str):
    state = START
    for text in moves:
        state = CHESS.unrow(CHESS.row(CHESS.rules.play(state, read_move(state, text))))
    return state


# --- the format -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("moves", "key"),
    [
        ("", 0x463B96181691FC9C),
        ("e2e4", 0x823C9B50FD114196),
        ("e2e4 d7d5", 0x0756B94461C50FB0),
        ("e2e4 d7d5 e4e5", 0x662FAFB965DB29D4),
        ("e2e4 d7d5 e4e5 f7f5", 0x22A48B5A8E47FF78),
        ("e2e4 d7d5 e4e5 f7f5 e1e2", 0x652A607CA3F242C1),
        ("e2e4 d7d5 e4e5 f7f5 e1e2 e8f7", 0x00FDD303C946BDD9),
        ("a2a4 b7b5 h2h4 b5b4 c2c4", 0x3C8123EA7B067637),
        ("a2a4 b7b5 h2h4 b5b4 c2c4 b4c3 a1a3", 0x5C3F9B829B279560),
    ],
)
def test_keys_are_those_of_the_specification(moves, key):
    assert polyglot_key(after(*moves.split())) == key


def test_keys_are_those_of_python_chess():
    """Along random games; where a pinned pawn stands beside a double step, the format and we differ."""
    chess = pytest.importorskip("chess")
    polyglot = pytest.importorskip("chess.polyglot")
    drawn, seen, castling = random.Random(3), Counter(), set()
    for _ in range(40):
        board, state = chess.Board(), START
        for _ in range(60):
            if board.is_game_over():
                break
            move = drawn.choice(sorted(board.legal_moves, key=str))
            board.push(move)
            state = CHESS.unrow(CHESS.row(CHESS.rules.play(state, read_move(state, move.uci()))))
            pseudo_legal = board.has_pseudo_legal_en_passant()
            if pseudo_legal == board.has_legal_en_passant():
                assert polyglot_key(state) == polyglot.zobrist_hash(board), board.fen()
            seen["en passant"] += pseudo_legal
            castling.add(board.castling_rights)
    assert seen["en passant"] > 5
    assert len(castling) > 5
    assert tuple(polyglot.POLYGLOT_RANDOM_ARRAY) == RANDOM64


def test_records_are_read_as_python_chess_reads_them(tmp_path):
    """Of random books: every move with its weight, castling and promotions among them."""
    polyglot = pytest.importorskip("chess.polyglot")
    import chess

    positions = [
        EXAMPLE,
        "r3k2r/p1ppqpb1/bn2pnp1/3PN3/1p2P3/2N2Q1p/PPPBBPPP/R3K2R b KQkq - 0 1",
        "n1n5/PPPk4/8/8/8/8/4Kppp/5N1N w - - 0 1",
    ]
    records = []
    for number, fen in enumerate(positions):
        state = parse(fen)
        for move in moves_of(state):
            records.append((polyglot_key(state), swapped(state, move), 1 + (7 * move + number) % 1000, 0))
    book = PolyglotBook(np.array(records, RECORD))
    (tmp_path / "book.bin").write_bytes(book.records.tobytes())
    read = load_polyglot(tmp_path / "book.bin", CHESS)
    with polyglot.open_reader(tmp_path / "book.bin") as reader:
        for fen in positions:
            state = parse(fen)
            theirs = {entry.move.uci(): entry.weight for entry in reader.find_all(chess.Board(fen))}
            ours = {uci(state, move): weight for move, weight in read.weights(state).items()}
            assert ours == theirs
            assert len(ours) == len(moves_of(state))


def test_a_move_that_is_not_legal_is_left_out():
    king_walks = np.array([(polyglot_key(START), 12 << 3 << 6 | 5, 1, 0)], RECORD)
    book = PolyglotBook(king_walks)
    assert (book.weights(START), book.moves(START), book.pick(START, 0)) == ({}, [], None)


# --- books of games ---------------------------------------------------------------------------------------------------


def test_a_book_of_games_counts_points(book):
    """Two a win, one a draw; nothing of lost moves, of unfinished games, and of plies beyond the last."""
    found = load_polyglot(book, CHESS)
    assert named(found, START) == {"e2e4": 3}
    assert named(found, after("e4")) == {"c7c5": 1}
    assert named(found, after("d4")) == {"d7d5": 2}
    assert named(found, after("e4", "e5")) == {"g1f3": 2}
    assert named(found, after("e4", "c5")) == {"g1f3": 1}
    assert len(found) == 5


def named(book: PolyglotBook, state) -> dict[str, int]:
    return {uci(state, move): weight for move, weight in book.weights(state).items()}


def test_weights_stay_within_16_bits(tmp_path):
    wins = '[Result "1-0"]\n\n1. e4 1-0\n\n' * 3
    (tmp_path / "games.pgn").write_text(wins + '[Result "1/2-1/2"]\n\n1. d4 1/2-1/2\n')
    from deltaw.envs.record import read_games
    from deltaw.search.databases import polyglot

    records = read_games(CHESS, tmp_path / "games.pgn")
    found = polyglot.book_of(CHESS, [*records[:3] * 20_000, *records[3:] * 60_000], 1)
    assert named(found, START) == {"e2e4": 65535, "d2d4": 32767}


def test_moves_are_drawn_in_proportion_to_their_weights():
    entries = [(polyglot_key(START), swapped(START, read_move(START, text)), weight, 0)
               for text, weight in (("e4", 3), ("d4", 1), ("a3", 0))]  # fmt: skip
    book = PolyglotBook(np.array(entries, RECORD))
    drawn = Counter(uci(START, book.pick(START, word)) for word in range(400))
    assert drawn == {"e2e4": 300, "d2d4": 100}
    assert [uci(START, move) for move in book.moves(START)] == ["e2e4"]


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("chess book --plies 3 --from-games FILE --from start", "leave out --from"),
        ("chess endgame --from-games FILE --from start", "--from-games is for books"),
        ("chess book --plies 0 --from-games FILE", "at least 1, not 0"),
        ("chess book --plies 3 --from-games none.pgn", "none.pgn"),
        ("chess book --plies 3 --from-games UNFINISHED", "none of them was finished"),
        ("othello book --plies 3 --from-games EMPTY", ""),
    ],
)
def test_bad_books_are_one_line(capsys, tmp_path, line, message):
    for name, text in (("FILE", GAMES), ("UNFINISHED", "1. e4 *"), ("EMPTY", "")):
        (tmp_path / f"{name}.pgn").write_text(text)
        line = line.replace(name, str(tmp_path / f"{name}.pgn"))
    assert_one_line(build.main, line, message, capsys)


def test_a_book_is_checked(book, capsys, tmp_path):
    status, out, _ = call(build.main, ["--check", book], capsys)
    assert status == 0
    assert "chess, book: moves of 5 positions" in out
    (tmp_path / "short.bin").write_bytes(b"123")
    assert_one_line(build.main, f"--check {tmp_path}/short.bin", "no records of 16", capsys)


# --- who asks them ----------------------------------------------------------------------------------------------------


def test_a_player_with_a_book(book):
    """It plays the book's moves, and behind the book its own."""
    player, own = (find_player(CHESS, f"material@depth=1{more}", threads=1) for more in (f",book={book}", ""))
    states = [START, after("d4"), after("a3")]
    decisions = Decisions.of(np.array([CHESS.row(state) for state in states]))
    chosen = player.choose(decisions, 0)
    assert [uci(state, int(move)) for state, move in zip(states[:2], chosen.moves, strict=False)] == ["e2e4", "d7d5"]
    assert chosen.moves[2] == own.choose(decisions, 0).moves[2]
    for state, move, row in zip(states, chosen.moves, chosen.rows, strict=True):
        np.testing.assert_array_equal(row, CHESS.row(CHESS.rules.play(state, int(move))))


def test_an_agent_with_a_book(book):
    agent = Agent(CHESS, CHESS.baselines["material"], databases=[load_polyglot(book, CHESS)])
    assert uci(START, agent.choose(START)) == "e2e4"


@pytest.mark.parametrize(
    ("players", "message"),
    [
        ("chess material@book=none.bin,depth=1 random", "none.bin"),
        ("othello positional@book=none.bin random", "for chess, not for othello"),
        ("chess random@book=none.bin material", "random takes no such settings"),
    ],
)
def test_bad_books_of_players_are_one_line(capsys, players, message):
    assert_one_line(arena.main, players, message, capsys)


def test_the_uci_engine_uses_its_book_when_it_is_told_to(book):
    said: list[str] = []
    door = UciDoor("material", said.append)

    def ask(*lines: str) -> str:
        for line in lines:
            door.obey(Task(line.split()))
        return said[-1]

    ask("uci")
    assert "option name OwnBook type check default false" in said
    assert "option name BookFile type string default <empty>" in said
    assert "none.bin" in ask("setoption name BookFile value none.bin")
    ask(f"setoption name BookFile value {book}", "setoption name OwnBook value true")
    assert ask("position startpos moves d2d4", "go depth 1") == "bestmove d7d5"
    assert not any(line.startswith("info depth") for line in said)
    assert ask("go depth 1 searchmoves a7a6").startswith("bestmove a7a6")
    ask("setoption name BookFile value <empty>", "go depth 1")
    assert any(line.startswith("info depth 1 ") for line in said)
