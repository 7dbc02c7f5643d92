"""Chess: counts of moves by other programs, python-chess beside every move of random games, the rules' corners, and
what is read and written."""

from __future__ import annotations

import io
import json
import os
import random
import subprocess
import sys

import numpy as np
import pytest
from conftest import DATA, ROOT

from deltaw.envs import games
from deltaw.envs.errors import InputError
from deltaw.envs.fronts.front import BoardGameEnv
from deltaw.envs.games.chess import epd, rules
from deltaw.envs.games.chess.actions import action_of, move_of
from deltaw.envs.games.chess.ajedrecista import check_ending, machine_move
from deltaw.envs.games.chess.features import CRITERIA, NUM_CRITERIA, judge_side
from deltaw.envs.games.chess.notation import EXAMPLE, format_state, move_text, moves_of, parse, read_move, uci
from deltaw.envs.games.chess.pgn import PGN
from deltaw.envs.games.chess.rules import State
from deltaw.envs.games.chess.shannon import shannon_points
from deltaw.envs.games.chess.turochamp import BELOW_MATE, NOWHERE, dead_value, position_play
from deltaw.envs.perft import count
from deltaw.envs.record import Event, GameRecord, final_state, initial_state
from deltaw.search.players.find import find_player
from deltaw.search.players.players import Decisions

CHESS = games.load("chess")
START = parse(EXAMPLE)
KIWIPETE = "r3k2r/p1ppqpb1/bn2pnp1/3PN3/1p2P3/2N2Q1p/PPPBBPPP/R3K2R w KQkq - 0 1"
PROMOTING = "n1n5/PPPk4/8/8/8/8/4Kppp/5N1N b - - 0 1"


def play(state: State, *moves: str) -> State:
    for move in moves:
        state = plain(rules.play(state, read_move(state, move)))
    return state


def plain(state: State) -> State:
    return State(*map(int, state))


def texts(fen: str) -> set[str]:
    state = parse(fen)
    return {move_text(state, move) for move in moves_of(state)}


# --- moves, against other programs ------------------------------------------------------------------------------------


def test_counts_of_stockfish_in_positions_of_random_games():
    """The six well-known positions are in test_perft.py."""
    known = [json.loads(line) for line in (DATA / "chess/random_perft.json").read_text().splitlines()]
    assert len(known) == 80
    for line in known:
        found = {f"perft{depth}": count(CHESS, parse(line["fen"]), depth) for depth in (3, 4)}
        assert found | {"fen": line["fen"]} == line


@pytest.mark.parametrize("chess960", [False, True])
def test_python_chess_agrees_in_every_position_of_random_games(chess960):
    """Positions, legal moves, captures, and how the game ends; in some positions every move in SAN, both ways."""
    chess = pytest.importorskip("chess")
    draw, looked_at = random.Random(14), 0
    for number in range(12):
        board = chess.Board.from_chess960_pos(draw.randrange(960)) if chess960 else chess.Board()
        state = parse(board.shredder_fen() if chess960 else board.fen())
        while True:
            assert format_state(state) == board.fen()
            moves = {uci(state, move, chess960): move for move in moves_of(state)}
            assert set(moves) == {board.uci(move) for move in board.legal_moves}
            assert tuple(map(int, rules.outcome(state))) == outcome_of(board)
            if looked_at % 12 == number:
                check_texts(chess, board, state, moves)
            looked_at += 1
            if rules.outcome(state)[0]:
                break
            name = draw.choice(sorted(moves))
            state = plain(rules.play(state, moves[name]))
            board.push_uci(name)
    assert looked_at > 1500


def outcome_of(board) -> tuple[int, int]:
    if board.is_checkmate():
        return 1, -1
    return int(board.is_stalemate() or board.is_insufficient_material() or board.halfmove_clock >= 100), 0


def check_texts(chess, board, state, moves):
    assert parse(board.fen()) == state
    for name, code in moves.items():
        move = board.parse_uci(name)
        assert move_text(state, code) == board.san(move)
        assert [read_move(state, text) for text in (board.san(move), board.lan(move), name)] == [code] * 3
        assert bool(rules.noisy(state, code)) == bool(board.is_capture(move) or move.promotion)
        assert move_of(state, action_of(code)) == code


# --- the rules' corners -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("fen", "over", "value"),
    [
        ("rnb1kbnr/pppp1ppp/8/4p3/6Pq/5P2/PPPPP2P/RNBQKBNR w KQkq - 1 3", True, -1),  # fool's mate
        ("7k/5Q2/6K1/8/8/8/8/8 b - - 0 1", True, 0),  # stalemate
        ("7k/8/8/5QK1/8/8/8/8 b - - 99 80", False, 0),
        ("7k/8/8/5QK1/8/8/8/8 b - - 100 80", True, 0),  # 50 moves
        ("7k/6Q1/6K1/8/8/8/8/8 b - - 100 80", True, -1),  # mate comes first
        ("7k/8/6K1/8/8/8/8/8 b - - 0 1", True, 0),
        ("7k/8/6K1/8/8/8/8/7N b - - 0 1", True, 0),
        ("7k/8/6K1/8/8/8/8/7B b - - 0 1", True, 0),
        ("5b1k/8/6K1/8/8/8/8/B1B5 b - - 0 1", True, 0),  # three bishops on dark squares
        ("4b2k/8/8/6K1/8/8/8/B7 b - - 0 1", False, 0),
        ("6nk/8/6K1/8/8/8/8/7N b - - 0 1", False, 0),  # nobody can force a mate, but a mate there is
        ("6nk/8/6K1/8/8/8/8/7B b - - 0 1", False, 0),
        ("7k/8/6K1/8/8/7P/8/8 b - - 0 1", False, 0),
    ],
)
def test_the_end(fen, over, value):
    assert tuple(rules.outcome(parse(fen))) == (over, value)


@pytest.mark.parametrize(
    ("fen", "yes", "no"),
    [
        # castling: over an attacked square, out of check; the rook itself may be attacked, and b1 may be
        ("4k3/8/8/8/8/8/5r2/R3K2R w KQ - 0 1", "O-O-O", "O-O"),
        ("4k3/8/8/8/8/8/4r3/R3K2R w KQ - 0 1", "Kxe2", "O-O"),
        ("4k3/8/8/8/8/8/1r5r/R3K2R w KQ - 0 1", "O-O-O O-O", ""),
        ("4k3/8/8/8/8/8/8/RN2K2R w KQ - 0 1", "O-O", "O-O-O"),
        # Chess960: a king that stays, and a rook that shields him from another
        ("4k3/8/8/8/8/8/8/1RK5 w B - 0 1", "O-O-O", ""),
        ("4k3/8/8/8/8/8/8/qRK5 w B - 0 1", "Rxa1", "O-O-O"),
        ("4k3/8/8/8/8/8/8/5KR1 w G - 0 1", "O-O", ""),
        # en passant: along the rank of the king, on the line of a pin, against a check
        ("8/8/8/KPp4r/8/8/8/4k3 w - c6 0 1", "b6", "bxc6"),
        ("8/1k6/8/2pP4/8/5B2/8/4K3 w - c6 0 1", "dxc6+", ""),
        ("8/6b1/8/2pP4/3K4/8/8/4k3 w - c6 0 1", "Kxc5", "dxc6"),
        ("8/8/8/2pP4/3K4/8/8/4k3 w - c6 0 1", "dxc6 Kxc5", "d6"),
        # two checks at once
        ("4k3/8/8/8/4r3/3n4/8/R3K2Q w - - 0 1", "Kd1", "Qxe4 Kf2"),
    ],
)
def test_legal_and_illegal(fen, yes, no):
    found = texts(fen)
    assert set(yes.split()) <= found
    assert not set(no.split()) & found


def test_en_passant_is_kept_only_where_it_is_possible():
    state = play(START, "e4")
    assert format_state(state).split()[3] == "-"
    assert format_state(play(state, "a6", "e5", "d5")).split()[3] == "d6"
    assert parse("rnbqkbnr/pppppppp/8/8/4P3/8/PPPP1PPP/RNBQKBNR b KQkq e3 0 1") == state
    assert not parse("8/8/8/KPp4r/8/8/8/4k3 w - c6 0 1").en_passant


def test_a_pass_hands_over_the_turn_outside_check():
    state = play(START, "e4", "a6", "e5", "d5")
    passed = plain(rules.null(state))
    assert format_state(passed) == "rnbqkbnr/1pp1pppp/p7/3pP3/8/8/PPPP1PPP/RNBQKBNR b KQkq - 0 3"
    checked = play(START, "e4", "f5", "Qh5")
    assert plain(rules.null(checked)) == checked
    only_pawns = parse("8/8/1p1p4/1P1Pk3/4p3/4P1K1/8/8 w - - 0 1")  # whoever moves loses a pawn
    assert plain(rules.null(only_pawns)) == only_pawns


def test_captures_are_judged_by_the_exchange_on_their_square():
    """Against a plain recursion over python-chess's attackers; its board also says who is in check."""
    chess = pytest.importorskip("chess")
    draw, losing = random.Random(3), 0
    for _ in range(60):
        board = chess.Board()
        for _ in range(draw.randrange(5, 90)):
            if not board.is_game_over():
                board.push(draw.choice(list(board.legal_moves)))
        board = board if board.turn else board.mirror()
        state = parse(board.fen())
        assert bool(CHESS.rules.in_danger(state)) == board.is_check()
        for move in moves_of(state):
            promoted = int(move) >> 12
            if promoted not in (rules.ROOK, rules.BISHOP):
                lost = exchanged(chess, board, chess.Move.from_uci(uci(state, move))) < 0
                losing += lost and bool(rules.noisy(state, move))
                assert (CHESS.rules.gain(state, move) < 0) == (lost and bool(rules.noisy(state, move)))
    assert losing > 20
    (best, *_) = moves_by(CHESS.rules.noisy_moves, parse("7k/1P6/8/3q4/r1P5/1P6/8/6K1 w - - 0 1"))
    assert best == "cxd5"


def moves_by(generator, state: State) -> list[str]:
    moves = np.empty(rules.ROOM, np.int64)
    return [move_text(state, int(move)) for move in moves[: generator(state, moves)]]


def exchanged(chess, board, move) -> int:
    """What a move wins in pawns if both sides then capture on its square, the least valuable man first, as long as it
    pays. Pins do not count; a king captures only where nobody can capture back."""
    worth = {chess.PAWN: 1, chess.KNIGHT: 3, chess.BISHOP: 3, chess.ROOK: 5, chess.QUEEN: 9, chess.KING: 0}
    men, square = board.copy(stack=False), move.to_square
    moved = men.remove_piece_at(move.from_square)
    victim = chess.Piece(chess.PAWN, not board.turn) if board.is_en_passant(move) else men.piece_at(square)
    won = (worth[victim.piece_type] if victim else 0) + (worth[move.promotion] - 1 if move.promotion else 0)

    def recapture(side, kind) -> int:
        """What `side` wins by capturing the man of this kind on the square, at least 0."""
        there = sorted(men.attackers(side, square), key=men.piece_type_at)
        if not there:
            return 0
        man = men.remove_piece_at(there[0])
        men.set_piece_at(square, man)
        if man.piece_type == chess.KING and men.attackers(not side, square):
            gained = 0
        else:
            gained = max(0, worth[kind] - recapture(not side, man.piece_type))
        men.set_piece_at(there[0], man)
        return gained

    men.set_piece_at(square, chess.Piece(move.promotion or moved.piece_type, board.turn))
    return won - recapture(not board.turn, move.promotion or moved.piece_type)


def test_what_makes_a_position_the_same():
    again = play(START, "Nf3", "Nf6", "Ng1", "Ng8")
    assert rules.repetition_key(again) == rules.repetition_key(START)
    assert rules.reversible(again) == 4
    others = [
        START._replace(seat=1),
        play(START, "Nf3", "Nf6", "Rg1", "Ng8", "Rh1", "Nf6", "Ng1", "Ng8"),  # a right to castle is lost
        play(START, "e4", "a6", "e5", "d5"),
        play(START, "e4", "a6", "e5", "d5")._replace(en_passant=0),
    ]
    assert len({int(rules.repetition_key(state)) for state in [START, *others]}) == 5


def test_keys_follow_the_mover_and_a_late_clock():
    white, black = play(START, "e4", "e5"), play(START, "e3", "e5", "e4")
    assert (white.seat, black.seat) == (0, 1)
    assert rules.key(white) == rules.key(black)
    keys = [int(rules.key(white._replace(clock=clock))) for clock in (0, rules.CLOCK_FROM, rules.CLOCK_FROM + 1)]
    assert keys[0] == keys[1] != keys[2]


def test_keys_of_neighbouring_positions_differ():
    """Those three moves from one position share most of their men."""
    codes, rows = CHESS.buffers()
    layer = np.array([parse(KIWIPETE)])
    for _ in range(3):
        layer = np.concatenate([rows[: CHESS.rules.expand(State(*row), codes, rows)].copy() for row in layer])
        layer[:, State._fields.index("clock") :] = 0
        layer = np.unique(layer, axis=0)
    assert len(layer) > 50_000
    assert len({int(rules.key(State(*row))) for row in layer}) == len(layer)


# --- positions as text ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("fen", "written"),
    [
        ("rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w HAha -", EXAMPLE),
        ("nrbbqkrn/pppppppp/8/8/8/8/PPPPPPPP/NRBBQKRN b GBgb - 3 7", None),
        ("4k3/8/8/8/8/8/8/1R1RK1RR w DG - 0 1", "4k3/8/8/8/8/8/8/1R1RK1RR w GD - 0 1"),  # the inner rooks
        ("4k3/8/8/8/8/8/8/RR2K1RR w KQ - 0 0", "4k3/8/8/8/8/8/8/RR2K1RR w KQ - 0 1"),
        ('4k3/8/8/8/8/8/4P3/4K3 b - - hmvc 7; fmvn 20; id "x";', "4k3/8/8/8/8/8/4P3/4K3 b - - 7 20"),
    ],
)
def test_positions_are_read_and_written(fen, written):
    state = CHESS.parse(fen)
    text = format_state(state)
    assert parse(text) == state
    if written:
        assert text == written


@pytest.mark.parametrize(
    ("fen", "message"),
    [
        ("rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKKNR w - - 0 1", "White has 2 kings; one is right"),
        ("rnbq1bnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w - - 0 1", "Black has 0 kings"),
        ("4k3/8/8/8/8/8/8/4K2q b - - 0 1", "White is in check, but Black is to move"),
        ("8/8/8/8/8/8/8/3Kk3 w - - 0 1", "Black is in check"),
        ("4k3/8/8/8/8/8/8/4K3 w K - 0 1", "castling K, but there is no such rook beside the king"),
        ("4k3/8/8/8/8/4K3/8/7R w K - 0 1", "castling K, but the king is not on the first rank"),
        ("r3k3/8/8/8/8/8/8/4K3 w h - 0 1", "castling h, but there is no such rook"),
        ("4k3/8/8/8/8/8/8/RR2K3 w AB - 0 1", "castling AB names two rooks on one side"),
        ("4k3/8/8/8/8/8/8/4K3 w KQkqK - 0 1", "castling is 'KQkqK'"),
        ("4k3/pppppppp/pppppppp/pppp4/8/8/8/4K3 w - - 0 1", "Black has 20 pawns; 8 are the most"),
        ("4k3/8/8/8/8/8/PPPPPPPP/QQ2K3 w - - 0 1", "White has 8 pawns and 1 promoted men"),
        ("4k2P/8/8/8/8/8/8/4K3 w - - 0 1", "there is a pawn on h8"),
        ("4k3/8/8/8/8/8/8/4K3 w - e6 0 1", "en passant is e6, but no pawn"),
        ("4k3/8/8/8/4Pp2/8/8/4K3 w - e3 0 1", "en passant is 'e3'; a square of rank 6"),
        ("4k3/8/8/8/8/8/8/4K3 x - - 0 1", "the side to move is 'x'"),
        ("4k3/8/8/8/8/8/8/4K3 w - - -1 1", "the clock is '-1'"),
        ("4k3/8/8/8/8/8/8/4K3 w - - 0 99999999", "the move is '99999999'"),
        ("4k3/8/8/8/8/8/4K3 w - - 0 1", "7 ranks"),
        ("4k3/9/8/8/8/8/8/4K3 w - - 0 1", "'9' in rank 7"),
        ("4k3/44p/8/8/8/8/8/4K3 w - - 0 1", "rank 7 has 9 squares"),
        ("4k3/8/8/8/8/8/8/4K3", "1 fields"),
    ],
)
def test_bad_positions_say_what_is_wrong(fen, message):
    with pytest.raises(InputError) as caught:
        CHESS.read_position(fen)
    assert message in str(caught.value)
    assert fen[:20] in str(caught.value)


def test_epd():
    line = '1k1r4/pp1b1R2/3q2pp/4p3/2B5/4Q3/PPP2B2/2K5 b - - bm Qd1+; id "BK.01"; acd 12; pv Qd1+ Kxd1 Bg4+;'
    found = epd.read_epd(line)
    assert found.operations == {"bm": ("Qd1+",), "id": ("BK.01",), "acd": ("12",), "pv": ("Qd1+", "Kxd1", "Bg4+")}
    assert [uci(found.state, move) for move in found.moves("bm")] == ["d6d1"]
    assert found.moves("am") == []
    again = epd.write_epd(found.state._replace(clock=5), found.operations | {"c0": ("two words",)})
    assert epd.read_epd(again).state == found.state._replace(clock=5)
    assert epd.read_epd(again).operations["c0"] == ("two words",)
    assert again.startswith("1k1r4/pp1b1R2/3q2pp/4p3/2B5/4Q3/PPP2B2/2K5 b - - hmvc 5; fmvn 1; bm Qd1+;")


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("4k3/8/8/8/8/8/8/4K3 w -;", "is no EPD"),
        ("4k3/8/8/8/8/8/4P3/4K3 w - - bm e4", "'bm e4' is no operation"),
        ('4k3/8/8/8/8/8/4P3/4K3 w - - id "open;', "is no operation"),
        ("4k3/8/8/8/8/8/4P3/4K3 w - - hmvc x;", "the clock is 'x'"),
    ],
)
def test_bad_epd(line, message):
    with pytest.raises(InputError, match=message):
        epd.read_epd(line)
    with pytest.raises(InputError, match="quotation mark"):
        epd.write_epd(START, {"id": ('"',)})


# --- moves as text ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("fen", "text", "move"),
    [
        (EXAMPLE, "Ng1-f3", "g1f3"),
        (EXAMPLE, "e2-e4!?", "e2e4"),
        (EXAMPLE, "Pe4", "e2e4"),
        (KIWIPETE, "0-0-0", "e1c1"),
        (KIWIPETE, "OO", "e1g1"),
        (KIWIPETE, "e1h1", "e1g1"),
        (KIWIPETE, "Qf6", "f3f6"),
        (KIWIPETE, "e2xa6", "e2a6"),
        (KIWIPETE, "d5e6+", "d5e6"),
        (PROMOTING, "g1Q+", "g2g1q"),
        (PROMOTING, "gxf1=N+", "g2f1n"),
        (PROMOTING, "fxg1(R)", None),
        (PROMOTING, "G2H1B", None),
        (PROMOTING, "g2h1B", "g2h1b"),
        ("8/8/8/KPp5/8/8/8/4k3 w - c6 0 1", "bxc6 e.p.", "b5c6"),
    ],
)
def test_moves_are_read_as_people_write_them(fen, text, move):
    state = parse(fen)
    if move is None:
        with pytest.raises(InputError, match="not a legal move"):
            read_move(state, text)
    else:
        assert uci(state, read_move(state, text)) == move


@pytest.mark.parametrize(
    ("fen", "text", "message"),
    [
        (EXAMPLE, "Nf4", "'Nf4' is not a legal move here; close to it: f4, Nf3"),
        (EXAMPLE, "e2e5", "'e2e5' is not a legal move here; close to it: e4, e3"),
        (EXAMPLE, "O-O", "'O-O' is not a legal move here; legal: "),
        ("4k3/8/8/8/8/5N2/8/1N2K3 w - - 0 1", "Nd2", "'Nd2' can be Nbd2, Nfd2: write which"),
        (PROMOTING, "h1", "'h1' is not a legal move here; close to it: gxh1="),
        ("7k/5Q2/6K1/8/8/8/8/8 b - - 0 1", "Kg8", "legal: none, the game is over"),
    ],
)
def test_illegal_moves_are_refused_with_close_ones(fen, text, message):
    with pytest.raises(InputError) as caught:
        CHESS.find_move(parse(fen), text)
    assert message in str(caught.value)


# --- game files -------------------------------------------------------------------------------------------------------

ANNOTATED = r"""% exported
[Event "A \"casual\" game"]
[White "Anna \\ B."]
[Black "Bert"]
[Result "1-0"]

1.e4 {the best; by test (1... c5)} e5 $1 2. Bc4 (2. Nf3 Nc6 1/2-1/2)
(2. Nf3 Nc6 (2... d6 {Philidor)} 3. d4) 3. Bb5) 2... Nc6?! ; 3. Nf3
3.Qh5 Nf6?? 4.Qxf7# 1-0

[White "Anna"]
[Black "Bert"]
[FEN "4k2r/8/8/8/8/8/8/4K3 b k - 0 30"]

30... 0-0 31. Kd2 Rf2+ 0-1
1. e4 a6 2. e5 d5 3. exd6 e.p. 1/2-1/2
[White "Carl"]
1. f3 e5 2. g4 *
"""


def test_pgn_is_read_without_its_remarks():
    first, second, third, fourth = PGN.read(CHESS, ANNOTATED)
    assert first.players == ("Anna \\ B.", "Bert")
    assert [len(record.events) for record in (first, second, third, fourth)] == [7, 3, 5, 3]
    assert [record.payoffs for record in (first, second, third, fourth)] == [(1, -1), (1, -1), (0, 0), None]
    assert second.players == ("Bert", "Anna")
    assert format_state(final_state(CHESS, second)) == "6k1/8/8/8/8/8/3K1r2/8 w - - 3 32"
    assert not any(record.notes for record in (first, second, third, fourth))


def test_pgn_is_read_as_python_chess_reads_it_and_the_other_way():
    pgn = pytest.importorskip("chess.pgn")
    starts = [START, parse("bqnrkbrn/pppppppp/8/8/8/8/PPPPPPPP/BQNRKBRN w GDgd - 0 1"), parse(PROMOTING)]
    records = [some_game(start, number) for number, start in enumerate(starts)]
    text = io.StringIO(PGN.write(CHESS, records))
    for record in records:
        theirs = pgn.read_game(text)
        assert not theirs.errors
        first = record.start.seat
        assert (theirs.headers["White"], theirs.headers["Black"]) == (record.players[first], record.players[1 - first])
        assert theirs.end().board().fen() == format_state(final_state(CHESS, record))
        (again,) = PGN.read(CHESS, str(theirs))
        assert again == record


def some_game(start: State, number: int) -> GameRecord:
    draw, state, events = random.Random(number), start, []
    while len(events) < 60 and not rules.outcome(state)[0]:
        events.append(Event(False, draw.choice(moves_of(state))))
        state = plain(rules.play(state, events[-1].code))
    return GameRecord(start, ("first", "second"), tuple(events), (1.0, -1.0))


def test_an_illegal_move_in_pgn_is_named_and_the_other_games_are_read():
    first, second, third = PGN.read(CHESS, "1. e4 e5 1-0\n\n1. d4 d5 2. Qd3 Qd4 0-1\n\n1. c4 *\n\n1. e5 *")
    assert (len(first.events), len(second.events)) == (2, 3)
    assert (first.payoffs, second.payoffs) == ((1.0, -1.0), None)
    assert second.notes[0].startswith("game 2, move 2 of Black: 'Qd4' is not a legal move here; close to it: Qd7, Qd6;")
    assert third.notes[0].startswith("game 4, move 1 of White: 'e5' is not a legal move here; close to it: e4, e3")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("hello", "game 1, move 1 of White: 'hello' is not a legal move"),
        ('[FEN "8/8 w - -"]\n1. e4', "game 1: '8/8 w - -' is no position: 2 ranks"),
        ('[Variant "Atomic"]\n1. e4', "game 1: the variant is 'Atomic'; Standard and Chess960 can be read"),
        ('[FEN "7k/5Q2/6K1/8/8/8/8/8 b - - 0 1"]\n1... Kg8', "'Kg8' comes after the end of the game: stalemate"),
    ],
)
def test_pgn_without_a_game(text, message):
    with pytest.raises(InputError) as caught:
        PGN.read(CHESS, text)
    assert message in str(caught.value)
    assert PGN.read(CHESS, "") == []


def test_pgn_knows_three_results():
    with pytest.raises(InputError, match=r"game 1 was worth \(0.5, -0.5\) to White and Black; PGN knows 1-0, 0-1"):
        PGN.write(CHESS, [GameRecord(START, ("a", "b"), (), (0.5, -0.5))])


# --- what evaluators see ----------------------------------------------------------------------------------------------


def active(name: str, state: State) -> dict[str, float]:
    feature_set = CHESS.features(name)
    index, value = np.empty(feature_set.max_active, np.int32), np.empty(feature_set.max_active, np.float32)
    n = CHESS.rules.features(state, np.array(feature_set.spec, np.int64), index, value)
    names = feature_set.names()
    return {names[i]: float(v) for i, v in zip(index[:n], value[:n], strict=True)}


def test_material_is_a_difference():
    assert active("material", START) == {}
    assert active("material", parse("4k3/pp6/8/8/8/8/8/4K2R w - - 0 1")) == {"pawns": -2.0, "rooks": 1.0}
    assert active("material", parse("4k3/pp6/8/8/8/8/8/4K2R b - - 0 1")) == {"pawns": 2.0, "rooks": -1.0}


def test_pieces_go_over_from_the_middle_game_to_the_endgame():
    assert active("pieces", START) == {}  # both have the same on the same squares
    half = active("pieces", parse("1qr1kr2/8/8/8/8/8/8/4KR1R w - - 0 1"))  # 4 rooks and a queen: 12 of 24
    assert half == {
        f"{phase}_{name}": value / 2
        for phase in ("middle", "end")
        for name, value in {"rook_h1": 1.0, "rook_c1": -1.0, "queen_b1": -1.0, "queens": -1.0}.items()
    }
    assert active("pieces", parse("4k3/p7/8/8/8/8/8/4K3 b - - 0 1")) == {"end_pawn_a2": 1.0, "end_pawns": 1.0}


def test_halfkp_looks_from_both_kings():
    seen = active("halfkp", START)
    mine, his = ({name.split("_", 1)[1] for name in seen if name.startswith(view)} for view in ("my", "his"))
    assert len(mine) == 30
    assert mine == his
    assert "king_e1_opponent_queen_d8" in mine
    assert "his_king_e1_me_pawn_a2" in active("halfkp", parse("4k3/p7/8/8/8/8/8/4K3 w - - 0 1"))


@pytest.mark.parametrize(
    ("fen", "wanted"),
    [
        (
            "4k3/8/8/3p4/8/P1PP4/2P3P1/4K3 w - - 0 1",
            {"isolated_pawns": 2, "doubled_pawns": 1, "backward_pawns": 0, "defended_pawns": 1,
             "passed_pawns_rank_2": 1, "passed_pawns_rank_3": 1, "passed_pawns_rank_4": 0, "blocked_passed_pawns": 0},
        ),
        ("4k3/8/8/4p3/2P5/3P4/8/4K3 w - - 0 1", {"backward_pawns": 1, "isolated_pawns": 0, "defended_pawns": 1}),
        ("4k3/3nP3/3P4/8/8/8/8/4K3 w - - 0 1", {"passed_pawns_rank_7": 1, "passed_pawns_rank_6": 1,
                                                "blocked_passed_pawns": 2}),
        ("4k3/p6R/8/8/8/2P5/8/R3K3 w - - 0 1", {"rooks_on_open_files": 1, "rooks_on_half_open_files": 1,
                                                "rooks_on_seventh_rank": 1, "rook_mobility": 23}),
        ("4k3/8/2p5/8/8/8/8/NBQ1K3 w - - 0 1", {"knight_mobility": 2, "bishop_mobility": 7, "queen_mobility": 13}),
        ("k6r/8/8/8/8/8/5PP1/6K1 w - - 0 1", {"king_shield": 2, "king_open_files": 1, "king_attackers": 1,
                                              "king_zone_attacks": 2, "castling_rights": 0}),
        ("r3k2r/8/8/8/8/8/8/R3K2R w KQk - 0 1", {"castling_rights": 2}),
        ("4k3/8/8/3N4/4P3/8/8/2B1KB2 w - - 0 1", {"knight_outposts": 1, "bishop_pair": 1}),
        ("4k3/2p5/8/3N4/4P3/8/8/2B1K3 w - - 0 1", {"knight_outposts": 0, "bishop_pair": 0}),
    ],
)  # fmt: skip
def test_criteria(fen, wanted):
    """Each by hand; the same from the other side, and the difference in the feature set."""
    out = np.empty(NUM_CRITERIA)
    state = parse(fen)
    judge_side(state, out)
    found = dict(zip(CRITERIA, out, strict=True))
    assert {name: found[name] for name in wanted} == wanted
    other = plain(rules.mirrored(state, 0))
    mine, his = (
        {name: v for name, v in active("expert", s).items() if name.split("_", 1)[1] in CRITERIA}
        for s in (state, other)
    )
    assert mine
    assert his == {name: -v for name, v in mine.items()}


def test_the_baseline_counts_material():
    value = CHESS.baselines["material"].function
    assert value(START) == 0.0
    up = parse("rnb1kbnr/pppp1ppp/8/4p3/4P3/8/PPPP1PPP/RNBQKBNR w KQkq - 0 3")
    assert value(up) == -value(plain(rules.mirrored(up, 0))) > 0.9


# --- programs of the past ---------------------------------------------------------------------------------------------


def test_shannons_function():
    assert shannon_points(START) == 0.0
    for move, worth in (("e4", 1.0), ("d4", 0.8)):  # Black has 20 moves, White 30 and 28
        assert -shannon_points(play(START, move)) == pytest.approx(worth)


@pytest.mark.parametrize(
    ("fen", "worth"),
    [
        ("4k3/8/8/8/8/2P5/2P5/4K3 w - - 0 1", 2 - 0.5 * (1 + 2) + 0.1 * 1),  # doubled, both isolated; a move more
        ("4k3/5p2/8/4p3/4P3/3P4/8/4K3 w - - 0 1", -0.5 + 0.1 * (6 - 6)),  # the pawn d3 is backward
        ("3qk3/8/8/8/8/8/8/R3K2R w - - 0 1", 2 * 5 - 9 + 0.1 * (22 - 21)),
    ],
)
def test_shannons_terms(fen, worth):
    state = parse(fen)
    assert shannon_points(state) == pytest.approx(worth)
    assert shannon_points(plain(rules.mirrored(state, 0))) == pytest.approx(-worth)


PAPER_GAME = {
    "e4": 42, "e5": None, "Nc3": 31, "Nf6": None, "d4": 26, "Bb4": None, "Nf3": 20, "d6": None, "Bd2": 35,
    "Nc6": None, "d5": 2, "Nd4": None, "h4": 11, "Bg4": None, "a4": 10, "Nxf3+": None, "gxf3": None, "Bh5": None,
    "Bb5+": 17, "c6": None, "dxc6": None, "O-O": None, "cxb7": None, "Rb8": None, "Ba6": None, "Qa5": None,
    "Qe2": None, "Nd7": None, "Rg1": None, "Nc5": None, "Rg5": None, "Bg6": None, "Bb5": None, "Nxb7": None,
    "O-O-O": 12,
}  # fmt: skip
"""Turing's game with A. Glennie (1952), and what our position play gains by some of its moves, in tenths. Turing's own
numbers are the same but for d4 (31), Bd2 (36), Bb5+ (24) and O-O-O (30)."""


def test_turings_position_play():
    assert position_play(START) == 102
    state = START
    for text, gain in PAPER_GAME.items():
        move = read_move(state, text)
        after = plain(rules.play(state, move))
        castled = 10 if text == "O-O-O" else 0
        found = position_play(plain(rules.mirrored(after, 0))) + castled - position_play(state)
        assert gain in (None, found), text
        state = after


def test_turochamp_prefers_the_small_step_of_the_kings_pawn():
    """By the rules 1. e3 gains 4.4, and Turing's 1. e4 gains 4.2."""
    assert ranked("turochamp", EXAMPLE)[:2] == ["e3", "e4"]


@pytest.mark.parametrize(
    ("fen", "retaken", "white", "black"),
    [
        ("4k3/pp6/8/8/8/8/PPP5/4K3 w - - 0 1", None, 3, 2),
        ("4k3/p6p/8/3p4/8/8/3Q4/4K3 w - - 0 1", None, 10, 2),  # an undefended pawn
        ("4k3/p6p/2p5/3p4/8/8/3Q4/4K3 w - - 0 1", None, 10, 4),  # a defended one stays
        ("4k3/p6p/2p5/3q4/8/4N3/P6P/4K3 w - - 0 1", None, 2, 3),  # by a man of less value, and taken back
        ("4k3/p6p/2p5/3n4/8/4N3/P6P/R3K3 w - - 0 1", None, 10, 6),  # an equal exchange is not considered,
        ("4k3/p6p/2p5/3n4/8/4N3/P6P/R3K3 w - - 0 1", "d5", 7, 3),  # but for a recapture
        ("6k1/5ppp/8/8/8/8/5PPP/4R1K1 w - - 0 1", None, None, None),  # a mate
    ],
)
def test_turochamp_counts_what_is_left_in_dead_positions(fen, retaken, white, black):
    square = NOWHERE if retaken is None else "abcdefgh".index(retaken[0]) + 8 * int(retaken[1]) - 8
    worth = 1.0 if white is None else BELOW_MATE * (white - black) / (white + black)
    assert dead_value(parse(fen), square, -np.inf, np.inf) == pytest.approx(worth)


def test_turochamp_sees_the_reply():
    """A bishop that a pawn attacks goes away; where it goes is decided by position play."""
    best = ranked("turochamp", "4k3/3p4/2p5/1p6/B7/7p/8/4K3 w - - 0 1")[:3]
    assert set(best) == {"Bb3", "Bc2", "Bd1"}
    assert ranked("turochamp", "6k1/5ppp/8/8/8/8/5PPP/4R1K1 w - - 0 1")[0] == "Re8#"


def ranked(player: str, fen: str) -> list[str]:
    """The moves, best first."""
    state = parse(fen)
    score = CHESS.baselines[player].function
    moves = sorted(moves_of(state), key=lambda move: -score(state, move, rules.play(state, move)))
    return [move_text(state, move) for move in moves]


def longest_mate(state: State, known: dict[State, int | None]) -> int:
    """White moves to mate that El Ajedrecista needs against the best defence, Black being to move."""
    replies = [plain(rules.play(state, move)) for move in moves_of(state)]
    assert replies or rules.in_check(state), "stalemate"
    most = 0
    for after in replies:
        after = after._replace(clock=0, move_number=1)  # the 50-move rule is left out
        if after not in known:
            known[after] = None
            check_ending(after)  # the rook was not lost, and the rules give a move
            known[after] = 1 + longest_mate(plain(rules.play(after, int(machine_move(after)))), known)
        assert known[after] is not None, "a circle"
        most = max(most, known[after])
    return most


def test_el_ajedrecista_mates():
    """From every black king on the first four ranks that is not in check, against all replies."""
    longest: dict[int, list[int]] = {}
    known: dict[State, int | None] = {}
    for rank in range(1, 5):
        for file in "acdefgh":
            placed = {"a8": "K", "b8": "R", f"{file}{rank}": "k"}
            longest.setdefault(rank, []).append(longest_mate(position_of(placed), known))
    assert longest[1] == [58, 61, 61, 58, 58, 51, 51]
    assert (min(longest[4]), max(longest[4])) == (62, 67)
    assert max(map(max, longest.values())) == 67
    for square in ("c5", "d5", "c6", "d6", "e6", "f6", "g6", "h6"):
        with pytest.raises(InputError, match="no legal move"):
            longest_mate(position_of({"a8": "K", "b8": "R", square: "k"}), {})


def position_of(placed: dict[str, str]) -> State:
    """Black is to move."""
    board = "/".join("".join(placed.get(f"{file}{rank}", "1") for file in "abcdefgh") for rank in range(8, 0, -1))
    return parse(f"{board} b - - 0 1")


def test_el_ajedrecista_plays_nothing_else():
    player = find_player(CHESS, "ajedrecista", threads=1)
    for fen, said in (
        (EXAMPLE, "plays nothing else"),
        ("KR6/8/8/8/8/8/8/4k3 b - - 0 1", "the bare king is to move"),
        ("KR6/3k4/8/8/8/8/8/8 w - - 0 1", "no legal move"),
    ):
        with pytest.raises(InputError, match=said):
            player.choose(Decisions.of(CHESS.row(parse(fen))[None]), 0)
    state = parse("KR6/8/8/8/8/8/8/4k3 w - - 0 1")
    assert move_text(state, int(player.choose(Decisions.of(CHESS.row(state)[None]), 0).moves[0])) == "Rb7"


# --- drawing ----------------------------------------------------------------------------------------------------------


def test_the_board_as_text():
    lines = CHESS.ansi(play(START, "e4", "e5", "Qh5")).splitlines()
    assert lines[0] == "8 r n b q k b n r"
    assert lines[3] == "5 . . . . p . . Q"
    assert lines[8:] == ["  a b c d e f g h", "Black to move"]
    assert CHESS.ansi(play(START, "f3", "e5", "g4", "Qh4")).endswith("checkmate, Black wins")
    assert "\033[" in CHESS.ansi(START, color=True)


def test_white_is_at_the_bottom_of_the_picture_whoever_moves():
    state = play(START, "e4", "e5", "Nf3")
    pictures = [np.array(CHESS.draw(s)) for s in (state, plain(rules.null(state)))]
    np.testing.assert_array_equal(pictures[0][:464], pictures[1][:464])
    pieces = [pictures[0][24 + 52 * row : 76 + 52 * row, 24:440].mean() for row in (0, 7)]
    assert pieces[0] < pieces[1] - 20  # Black's are darker


# --- without a compiler -----------------------------------------------------------------------------------------------

CODE = f"""
import numpy as np
from deltaw.envs import games
game = games.load("chess")
for fen in ({KIWIPETE!r}, {PROMOTING!r}, "8/6b1/8/2pP4/3K4/8/8/4k3 w - c6 0 1", "4k2q/8/8/8/8/8/8/1RK4R w BH - 61 9"):
    state = game.parse(fen)
    for move in game.moves(state):
        after = game.rules.play(state, move)
        print(game.move_text(state, move), *map(int, after), int(game.rules.key(after)), *game.rules.outcome(after))
    index, value = np.empty(200, np.int32), np.empty(200, np.float32)
    for features in game.feature_sets.values():
        n = game.rules.features(state, np.array(features.spec), index, value)
        print(*index[:n], *value[:n])
"""


def test_interpreted_it_does_the_same():
    def printed(**variables):
        run = [sys.executable, "-c", CODE]
        environment = os.environ | {"PYTHONPATH": str(ROOT)} | variables
        return subprocess.run(run, cwd=ROOT, env=environment, capture_output=True, text=True, check=True).stdout

    text = printed(NUMBA_DISABLE_JIT="1")
    assert text.count("\n") > 80
    assert text == printed(NUMBA_DISABLE_JIT="0")


# --- repetition -------------------------------------------------------------------------------------------------------


def test_a_third_occurrence_ends_the_game_but_not_in_a_file():
    """Whoever plays here gets the draw at once; in games of others nobody may have claimed it."""
    env, moves = BoardGameEnv(CHESS), ["Nf3", "Nf6", "Ng1", "Ng8", "Nf3", "Nf6", "Ng1", "Ng8"]
    env.reset(seed=1)
    for ply, move in enumerate(moves, start=1):
        _, reward, over, _, _ = env.step(action_of(read_move(env.state, move)))
        assert over == (ply == len(moves))
    assert reward == 0.0
    text = " ".join(moves)
    (drawn,), (won,) = (PGN.read(CHESS, f'[Result "1-0"]\n\n{text}{more} 1-0') for more in ("", " e4 e5"))
    assert drawn.payoffs == (0.0, 0.0)
    assert won.payoffs == (1.0, -1.0)
    assert len(won.events) == len(moves) + 2


def test_only_games_that_begin_otherwise_are_written_as_chess960():
    usual, otherwise = initial_state(CHESS), parse("1rk5/8/8/8/8/8/8/1RK5 w Bb - 0 1")
    for start, named in ((usual, False), (START, False), (otherwise, True)):
        written = PGN.write(CHESS, [GameRecord(start, ("a", "b"), (), None)])
        assert ('[Variant "Chess960"]' in written) == named
