"""`deltaw play`, driven by scripted input: whole games, every command, and leaving politely."""

from __future__ import annotations

import itertools
import re
from collections import Counter
from collections.abc import Iterable, Iterator

import numpy as np
import pytest
from toy_games import random_evaluator

from deltaw.envs import games
from deltaw.envs.record import begin
from deltaw.search.evaluators.evaluator import save_evaluator
from deltaw.search.play import COMMANDS, Table, finish, main, persons_seat, play, roll
from deltaw.search.players.agent import Agent

BACKGAMMON = games.load("backgammon")
TIC_TAC_TOE = games.load("tic_tac_toe")
EVALUATOR = random_evaluator(BACKGAMMON, 1)


def make_table(game=BACKGAMMON, evaluator=EVALUATOR, *, start=None, plies=1, lines: Iterable[str] = (), **options):
    """A table that writes to a list, `table.said`."""
    said: list[str] = []
    start = game.unrow(game.row(game.rules.initial())) if start is None else start
    options = {"seed": 1} | options
    table = Table(Agent(game, evaluator, plies=plies), iter(lines), said.append, start=start, **options)
    table.said = said
    return table


def talk(*lines: str, **options) -> list[str]:
    """Everything that is said when the person types `lines` and leaves."""
    table = make_table(lines=lines, **options)
    play(table)
    return table.said


def first_moves(said: list[str], games_to_play: int = 1) -> Iterator[str]:
    """A person who asks for the legal moves and plays the first one."""
    while True:
        if said[-1].startswith("`new`"):
            games_to_play -= 1
            yield "new" if games_to_play else "quit"
        else:
            yield "moves"
            yield said[-1].splitlines()[0].strip()


def play_first_moves(games_to_play: int = 1, **options) -> Table:
    table = make_table(**options)
    table.lines = first_moves(table.said, games_to_play)
    play(table)
    return table


def open_lines(**options):
    return {"game": TIC_TAC_TOE, "evaluator": TIC_TAC_TOE.baselines["open_lines"]} | options


# --- whole games ------------------------------------------------------------------------------------------------------


def test_whole_backgammon_games_are_played_and_scored():
    table = play_first_moves(games_to_play=3)
    results = [text for text in table.said if re.match(r"You win|The opponent wins", text)]
    assert len(results) == 3
    points = [int((re.search(r"\((\d) points\)", text) or [0, 1])[1]) for text in results]
    mine = sum(p for p, text in zip(points, results, strict=True) if text.startswith("You"))
    assert table.score == [mine, sum(points) - mine]
    assert results[-1].endswith(f"Score: you {table.score[0]}, opponent {table.score[1]}.")
    assert table.said[-1] == f"Good-bye. Score: you {table.score[0]}, opponent {table.score[1]}."


def test_the_same_seed_and_moves_give_the_same_game():
    one, same, other = (play_first_moves(seed=seed).said for seed in (5, 5, 6))
    assert one == same
    assert one[1:] != other[1:]


def test_the_first_move_loses_tic_tac_toe():
    """The first free cell each time, against two plies of open lines."""
    table = play_first_moves(plies=2, seat="first", **open_lines())
    assert any(text.startswith("The opponent wins. Score: you 0, opponent 1.") for text in table.said)


def test_a_scripted_win_and_a_draw():
    table = make_table(**open_lines(), start=TIC_TAC_TOE.parse("XX-OO----"), seat="first", lines=["c1", "quit"])
    play(table)
    assert "You win. Score: you 1, opponent 0." in table.said
    table = make_table(**open_lines(), start=TIC_TAC_TOE.parse("XOXXOO-X-"), seat="second", lines=["a3", "c3"])
    play(table)
    assert "A draw. Score: you 0, opponent 0." in table.said


@pytest.mark.parametrize(
    ("value", "text", "score"),
    [
        (1, "You win. ", [1, 0]),
        (2, "You win a gammon (2 points). ", [2, 0]),
        (3, "You win a backgammon (3 points). ", [3, 0]),
        (-1, "The opponent wins. ", [0, 1]),
        (-3, "The opponent wins a backgammon (3 points). ", [0, 3]),
    ],
)
def test_the_result_is_named(value, text, score):
    """15, or 14, checkers of the loser left, in the winner's home or not; the mover is the loser: seat 0 has just
    won."""
    borne_off = BACKGAMMON.rules.load(np.zeros(6, np.int64))
    planes = {1: 0b1, 2: 0b1111, 3: 0b1111}[abs(value)]  # 1 checker, or 15 on one point: all four planes
    point = 23 if abs(value) == 3 else 0
    low = (planes & 1) << point | (planes >> 1 & 1) << point + 32
    high = (planes >> 2 & 1) << point | (planes >> 3 & 1) << point + 32
    lost = borne_off._replace(me_low=low, me_high=high, seat=1)
    table = make_table()
    finish(table, begin(table.game, lost), person=0 if value > 0 else 1)
    assert table.score == score
    assert table.said[-1].startswith(text)


def test_who_begins():
    agent_begins = talk(**open_lines(seat="second"))
    assert "You move second." in agent_begins
    assert any(text.startswith("The opponent plays ") for text in agent_begins)
    person_begins = talk(**open_lines(seat="first"))
    assert "You move first." in person_begins
    assert not any(text.startswith("The opponent plays ") for text in person_begins)
    seats = Counter(persons_seat(make_table(seat="random", seed=seed)) for seed in range(200))
    assert 60 < seats[0] < 140  # 5.7 standard deviations


def test_first_is_whoever_is_to_move_in_the_given_position():
    state = TIC_TAC_TOE.parse("X--------")
    assert persons_seat(make_table(**open_lines(start=state, seat="first"))) == 1
    assert persons_seat(make_table(**open_lines(start=state, seat="second"))) == 0


# --- dice -------------------------------------------------------------------------------------------------------------


def test_dice_are_fair_and_a_game_does_not_open_with_a_double():
    opening, later = BACKGAMMON.parse("start"), BACKGAMMON.parse("4HPwATDgc/ABMA")
    doubles = {"opening": 0, "later": 0}
    for seed in range(600):
        table = make_table(seed=seed)
        for name, state in (("opening", opening), ("later", later)):
            roll(table, begin(BACKGAMMON, state), "You roll")
            dice = table.said[-1].removeprefix("You roll ").rstrip(".")
            doubles[name] += dice[0] == dice[1]
    assert doubles["opening"] == 0
    assert 60 < doubles["later"] < 140  # expected 100, standard deviation 9


# --- commands ---------------------------------------------------------------------------------------------------------


def test_commands_are_explained_at_the_start():
    said = talk()
    assert said[0].startswith("Backgammon, seed 1.")
    assert all(re.search(rf"^  {name} ", said[1], re.MULTILINE) for name in COMMANDS)
    assert talk("help", seat="first").count(said[1]) == 2


def test_moves_lists_every_play():
    table = make_table(seat="first", lines=["moves"])
    play(table)
    listed = next(text for text in table.said if text.startswith("  ") and "/" in text)
    dice = table.said[3].removeprefix("You roll ").rstrip(".")
    state = BACKGAMMON.rules.chance(table.start, BACKGAMMON.find_chance(table.start, dice))[0]
    assert listed.split("\n") == [f"  {BACKGAMMON.move_text(state, move)}" for move in BACKGAMMON.moves(state)]


def test_hint_and_think_say_what_the_agent_says():
    table = make_table(seat="first", plies=2, lines=["hint", "think"])
    play(table)
    dice = table.said[3].removeprefix("You roll ").rstrip(".")
    state = BACKGAMMON.rules.chance(table.start, BACKGAMMON.find_chance(table.start, dice))[0]
    ranked = table.agent.rank(state)
    hints = [text for text in table.said if re.match(r"  \d\. ", text)]
    assert len(hints) == 5
    for number, (hint, move) in enumerate(zip(hints, ranked, strict=False), 1):
        assert re.sub(" +", " ", hint).startswith(f" {number}. {move.text} {move.value:+.3f} ({move.depth} pl")
    assert f"With the best move this is worth {ranked[0].value:+.3f} to you." in table.said
    chances = next(text for text in table.said if text.startswith("Chances: "))
    assert f"win {100 * sum(ranked[0].chances[3:]):.1f} %" in chances
    assert f"lose backgammon {100 * ranked[0].chances[0]:.1f} %" in chances


def test_hints_are_shown_before_every_decision():
    table = make_table(seat="first", hints=True, lines=["resign"])
    play(table)
    assert sum(text.startswith("  1. ") for text in table.said) == 1


def test_a_rank_only_opponent_hints_without_equity_and_says_why():
    said = talk("hint", "think", "quit", evaluator=BACKGAMMON.baselines["pubeval"], seat="first")
    hints = [text for text in said if re.match(r"  \d\. ", text)]
    assert len(hints) == 5
    assert not any(re.search(r"[+-]\d\.\d", hint) for hint in hints)
    assert any(text.startswith("pubeval only ranks") for text in said)


def test_undo_goes_back_to_my_previous_decision_and_the_dice_fall_again():
    def says(*lines):
        return talk(*lines, seat="first", seed=3)

    opening = next(text for text in says() if text.startswith("You roll "))
    first = next(line.strip() for line in "\n".join(says("moves")).splitlines() if re.match(r"  \d+/", line))
    straight = says(first)
    again = says(first, "undo", first)
    assert opening == straight[3]
    back = again.index("Back to your last decision.")
    assert again[: len(straight) - 1] == straight[:-1]
    played = straight.index("You move first.") + 1
    board_and_question = straight[played + 1 : played + 3]
    assert again[back + 1 : back + 3] == board_and_question
    assert again[back + 3 : -1] == straight[played + 3 : -1]


def test_there_is_nothing_to_undo_at_first():
    assert "nothing to undo: this is your first decision of the game" in talk("undo", seat="first")


def test_undo_in_tic_tac_toe_takes_back_both_moves():
    said = talk("a1", "undo", "b2", **open_lines(seat="first"))
    boards = [text for text in said if text.startswith("   a b c")]
    assert [board.count("X") + board.count("O") for board in boards] == [0, 2, 0, 2]
    assert boards[3].splitlines()[2][5] == "X"  # the centre


def test_undo_goes_back_as_far_as_the_first_decision():
    table = make_table(**open_lines(seat="first"))
    first = first_moves(table.said)
    table.lines = itertools.chain(itertools.islice(first, 4), ["undo", "undo", "undo"])
    play(table)
    boards = [text for text in table.said if text.startswith("   a b c")]
    assert [board.count("X") + board.count("O") for board in boards] == [0, 2, 4, 2, 0]
    assert "nothing to undo: this is your first decision of the game" in table.said


@pytest.mark.parametrize(("text", "points"), [("resign", 1), ("resign 2", 2), ("resign 3", 3)])
def test_resigning(text, points):
    said = talk(text, "quit", seat="first")
    assert f"You resign: the opponent scores {points}. Score: you 0, opponent {points}." in said
    assert said[-1] == f"Good-bye. Score: you 0, opponent {points}."


def test_resigning_for_impossible_points_asks_again():
    said = talk("resign 4", "resign", seat="first")
    assert "cannot resign '4' points; possible: 1, 2, 3" in said
    assert said[-1] == "Good-bye. Score: you 0, opponent 1."


def test_a_new_game_has_new_dice_and_keeps_the_score():
    said = talk("resign", "what?", "new", "new", seat="first")
    rolls = [text for text in said if text.startswith("You roll ")]
    assert said.count("You move first.") == 3
    assert len(set(rolls)) > 1
    assert said[-1] == "Good-bye. Score: you 0, opponent 1."


@pytest.mark.parametrize("text", ["foo", "1/2", "24/1", "8/5 6/5 4/2", "bar/20"])
def test_a_bad_move_is_one_line_and_asked_again(text):
    said = talk(text, "resign", seat="first", seed=2)
    (complaint,) = [line for line in said if repr(text) in line or repr(text.split()[0]) in line]
    assert "\n" not in complaint
    assert said[-1].endswith("opponent 1.")


def test_enter_plays_an_only_move_and_nothing_else():
    """Six points closed against a checker on the bar."""
    state = BACKGAMMON.rules.load(np.zeros(6, np.int64))._replace(me_low=1 << 24, opponent_low=0x3F << 32)
    said = talk("", seat="first", start=state)
    assert "Your only move is (no move); Enter plays it." in said
    assert any(text.startswith("The opponent plays ") for text in said)
    assert not any(text.startswith("The opponent plays ") for text in talk("", "", seat="first"))


# --- leaving ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("lines", [[], ["quit"], ["QUIT"], ["resign", "quit"], ["resign"]])
def test_leaving_is_polite(lines):
    assert talk(*lines, seat="first")[-1].startswith("Good-bye. Score: you 0, opponent ")


def test_control_c_is_polite():
    def interrupted():
        yield "moves"
        raise KeyboardInterrupt

    table = make_table(seat="first")
    table.lines = interrupted()
    play(table)
    assert table.said[-1] == "Good-bye. Score: you 0, opponent 0."


# --- the command ------------------------------------------------------------------------------------------------------


def test_the_command_plays(capsys, tmp_path):
    path = tmp_path / "small.safetensors"
    save_evaluator(EVALUATOR, path)
    arguments = ["--evaluator", str(path), "--seed", "4", "--seat", "first", "--plies", "2"]
    assert main(arguments, ["hint", "quit"]) == 0
    out = capsys.readouterr().out
    assert "Backgammon, seed 4." in out
    assert "You roll " in out
    assert "(2 plies)" in out
    assert "Good-bye." in out


def test_two_plies_unless_the_evaluator_only_ranks(capsys):
    assert main(["--evaluator", "pubeval", "--seat", "first"], ["hint"]) == 0
    assert main(["tic_tac_toe", "--evaluator", "open_lines", "--plies", "2", "--seat", "first"], ["hint"]) == 0
    assert "(2 plies)" in capsys.readouterr().out


def test_a_game_can_start_anywhere(capsys):
    main(["tic_tac_toe", "--evaluator", "open_lines", "--position", "XX-OO----", "--seat", "first"], ["c1"])
    out = capsys.readouterr().out
    assert "1  X X X" in out
    assert "You win. Score: you 1, opponent 0." in out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("ludo", "unknown game 'ludo'"),
        ("--evaluator nobody", "no evaluator 'nobody'"),
        ("--evaluator pubeval --plies 2", "only ranks"),
        ("--evaluator pubeval --seed -1", "seed -1 is negative"),
        ("--evaluator pubeval --position abc", "'abc' is no Position ID"),
        ("tic_tac_toe --evaluator open_lines --position XXXOO----", "is finished"),
        ("--seat fifth", "invalid choice: 'fifth'"),
        ("tic_tac_toe --seat third", "tic_tac_toe has 2 players: nobody moves third"),
        ("tic_tac_toe --record games.mat", "games of tic_tac_toe are kept in files that end with .jsonl"),
        ("--record /nowhere/games.mat", "there is no folder /nowhere"),
    ],
)
def test_bad_input_is_one_line(capsys, arguments, message):
    try:
        status = main(arguments.split(), [])
    except SystemExit as end:
        status = end.code
    out, err = capsys.readouterr()
    assert (status, out) == (2, "")
    assert err.startswith("error: ")
    assert err.count("\n") == 1
    assert message in err
