"""Pictures of searched trees: what is drawn is what was searched, and the command refuses what cannot be drawn in one
line."""

from __future__ import annotations

import dataclasses
import itertools
import math
import re
import subprocess
import sys
from xml.etree import ElementTree

import pytest
from conftest import ROOT
from PIL import Image

from deltaw.envs import games
from deltaw.envs.control import NODES
from deltaw.envs.errors import InputError
from deltaw.search.analysis.tree_picture import draw_tree, interval
from deltaw.search.picture import main
from deltaw.search.tree.algorithm import evaluate_state, find_algorithm, make_setup
from deltaw.search.tree.search_tree import MOST_LEAVES, Spot, searched_tree

TREES = games.load("trees")
STATIC = TREES.baselines["static"]
TIC_TAC_TOE = games.load("tic_tac_toe")
OPEN_LINES = TIC_TAC_TOE.baselines["open_lines"]
SVG = "{http://www.w3.org/2000/svg}"


def searched(tree: str, depth: int, algorithm: str = "alphabeta", **options) -> Spot:
    knobs = find_algorithm(algorithm).options._replace(**options) if options else None
    return searched_tree(TREES, STATIC, TREES.parse(tree), depth, algorithm, options=knobs).root


def bounds(spot: Spot) -> str:
    return interval(spot.lower, spot.upper)


def drawn(text: str) -> ElementTree.Element:
    """The picture's tree, without its legend."""
    root = ElementTree.fromstring(text)
    return next(group for group in root.iter(f"{SVG}g") if group.get("class") == "tree")


def classes(tree: ElementTree.Element, name: str) -> list[str]:
    return [element.get("class", "") for element in tree.iter(f"{SVG}{name}")]


def words(tree: ElementTree.Element, kind: str) -> list[str]:
    return [element.text or "" for element in tree.iter(f"{SVG}text") if kind in element.get("class", "").split()]


# --- what was searched ------------------------------------------------------------------------------------------------


def test_tree_a_as_on_the_slide():
    root = searched("A", 2)
    assert [bounds(spot) for spot in (root, *root.below)] == ["3", "3", "≤ 2", "2"]
    leaves = [[leaf.visited for leaf in spot.below] for spot in root.below]
    assert leaves == [[True, True, True], [True, False, False], [True, True, True]]
    assert [(spot.depth, spot.label) for spot in root.walk() if spot.best] == [(2, ""), (1, "0"), (0, "0")]


def test_sss_star_jumps_about_and_is_understood():
    """Its visits are no post-order; on this tree it looks at the same leaves as alpha-beta."""
    jumping, orderly = searched("A", 2, "sss_star"), searched("A", 2)
    assert [spot.visited for spot in jumping.walk()] == [spot.visited for spot in orderly.walk()]
    assert bounds(jumping) == "3"


@pytest.mark.parametrize("algorithm", ["alphabeta", "negascout"])
def test_every_bound_is_true_and_every_visit_is_drawn(algorithm):
    state = TIC_TAC_TOE.parse("XO-XO----")
    found = searched_tree(TIC_TAC_TOE, OPEN_LINES, state, 3, algorithm)
    setup = make_setup(TIC_TAC_TOE, OPEN_LINES, "minimax", 3)
    spots = [spot for spot in found.root.walk() if spot.visited]
    for spot in spots:
        value = evaluate_state(setup, spot.state, spot.depth) * (1 if spot.for_max else -1)
        assert spot.lower <= value <= spot.upper
    visits = int(found.setup.stack.control[NODES])
    assert len(spots) == visits if algorithm == "alphabeta" else len(spots) <= visits
    assert found.value == 1


def test_what_lies_beyond_the_depth_is_added():
    root = searched("horizon", 1, "quiescence")
    assert [[child.label for child in spot.below] for spot in root.below] == [[], ["0"]]
    assert bounds(root) == "0"


def test_a_null_move_is_an_edge_of_its_own():
    root = searched("zugzwang", 3, "null_move", reduction=1, guard=0)
    refuted = root.below[1]
    assert [(child.label, child.visited) for child in refuted.below] == [("0", False), ("1", False), ("null", True)]
    assert not refuted.for_max
    assert refuted.below[2].for_max
    assert bounds(refuted.below[2]) == "0"
    assert bounds(refuted) == ""


def test_dice_are_circles_with_their_odds():
    game = games.load("trees_chance")
    found = searched_tree(game, game.baselines["static"], game.parse("D"), 2, "expectiminimax")
    assert bounds(found.root) == "2.1"
    dice = found.root.below
    assert [[child.label for child in spot.below] for spot in dice] == [["0.9", "0.1"]] * 2
    assert [bounds(spot) for spot in dice] == ["2.1", "1.3"]
    tree = drawn(draw_tree(game, game.baselines["static"], game.parse("D"), 2, "expectiminimax"))
    assert len(classes(tree, "circle")) == 2


# --- what is drawn ----------------------------------------------------------------------------------------------------


def test_the_picture_of_tree_a():
    text = draw_tree(TREES, STATIC, TREES.parse("A"), 2)
    tree = drawn(text)
    edges = classes(tree, "path")
    assert [edges.count(f"edge{mark}") for mark in ("", " best", " cut", " gone")] == [8, 2, 2, 0]
    assert edges.count("strokes") == 2
    assert words(tree, "value") == ["3", "3", "≤ 2", "2", "3", "12", "8", "2", "4", "6", "14", "5", "2"]
    assert words(tree, "label") == ["0", "1", "2"] * 4
    assert len(classes(tree, "polygon")) == 4
    caption = "worth 3 to MAX. 11 of 13 nodes visited, 7 of 9 leaves, 2 branches cut off."
    assert caption in text
    assert "Alpha-beta, 2 moves deep" in text


def test_the_picture_in_the_documents_is_up_to_date(tmp_path):
    """`deltaw picture trees A --depth 2 --out docs/tree.svg`"""
    path = tmp_path / "tree.svg"
    assert draw_tree(TREES, STATIC, TREES.parse("A"), 2, path=path) == path.read_text()
    assert path.read_text() == (ROOT / "docs/tree.svg").read_text()
    assert list(tmp_path.iterdir()) == [path]


def test_nothing_overlaps():
    found = searched_tree(TREES, STATIC, TREES.parse("continuation"), 4)
    tree = drawn(draw_tree(TREES, STATIC, TREES.parse("continuation"), 4))
    boxes = []
    for node in tree.iter(f"{SVG}g"):
        for box in node.findall(f"{SVG}rect"):
            x, y = map(float, re.fullmatch(r"translate\((.*) (.*)\)", node.attrib["transform"]).groups())
            boxes.append((x + float(box.attrib["x"]), y, float(box.attrib["width"])))
    assert len(boxes) == sum(not spot.below for spot in found.root.walk())
    for row in {y for _, y, _ in boxes}:
        level = sorted((x, width) for x, y, width in boxes if y == row)
        assert all(x + width < after for (x, width), (after, _) in itertools.pairwise(level))


def test_a_large_tree_only_hints_at_what_was_not_looked_at():
    tree = drawn(draw_tree(TIC_TAC_TOE, OPEN_LINES, TIC_TAC_TOE.parse("X---O----"), 3))
    assert "…" in words(tree, "value")
    assert len(words(tree, "value")) < 210


def test_numbers_are_short_and_signs_are_signs():
    assert interval(1 / 3, 1 / 3) == "0.333"
    assert interval(-2, -2) == "−2"
    assert interval(-math.inf, 2) == "≤ 2"
    assert interval(-0.5, math.inf) == "≥ −0.5"
    assert interval(1, 2) == "1 … 2"
    assert interval(-math.inf, math.inf) == ""


def test_texts_are_escaped():
    """A game's title may hold anything."""
    odd = dataclasses.replace(TREES, title='<b> & "c"')
    text = draw_tree(odd, STATIC, odd.parse("A"), 2)
    assert '<b> & "c", A: worth 3' in "".join(ElementTree.fromstring(text).itertext())


def test_too_large_a_tree_is_refused():
    with pytest.raises(InputError, match=f"more than {MOST_LEAVES} leaves"):
        draw_tree(TIC_TAC_TOE, OPEN_LINES, TIC_TAC_TOE.rules.initial(), 4)


# --- the command ------------------------------------------------------------------------------------------------------


def test_the_command_writes_a_file(tmp_path, capsys):
    path = tmp_path / "pictures/tree.svg"
    knobs = ["--set", "reduction=1", "--set", "guard=0"]
    assert main(["trees", "zugzwang", "--depth", "3", "--algorithm", "null_move", *knobs, "--out", str(path)]) == 0
    assert capsys.readouterr().out == f"wrote {path}\n"
    assert "Null-move pruning, 3 moves deep (reduction 1, guard 0)" in path.read_text()
    drawn(path.read_text())


@pytest.mark.parametrize("name", ["chess", "checkers"])
def test_a_position_is_drawn_as_svg_and_as_png(name, tmp_path, capsys):
    svg, png = tmp_path / "board.svg", tmp_path / "board.png"
    for path in (svg, png):
        assert main([name, "--out", str(path)]) == 0
        assert capsys.readouterr().out == f"wrote {path}\n"
    game, image = games.load(name), Image.open(png)
    assert image.tobytes() == game.draw(game.read_position("start")).tobytes()
    board = ElementTree.fromstring(svg.read_text())
    assert (board.get("width"), board.get("height")) == (str(image.width), str(image.height))
    pieces = [group for group in board if "transform" in group.attrib]
    assert len(pieces) == sum(piece > 0 for piece in game.pieces.cells(game.read_position("start")))
    assert len({group.get("fill") for group in pieces}) == 2


def test_without_a_file_the_picture_goes_to_standard_output():
    command = [sys.executable, "-m", "deltaw.search.picture", "trees", "A", "--depth", "2"]
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT)
    assert done.returncode == 0
    assert done.stdout == (ROOT / "docs/tree.svg").read_text()


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["ludo", "--depth", "2"], "unknown game 'ludo'"),
        (["trees", "Z", "--depth", "2"], "'Z' names no tree"),
        (["trees", "A"], "--out '': a position goes to a file that ends with .svg or .png"),
        (["chess", "--out", "board.gif"], "--out 'board.gif'"),
        (["othello", "--out", "board.svg"], "othello is not drawn as SVG"),
        (["trees", "A", "--depth", "two"], "invalid int value: 'two'"),
        (["trees", "A", "--depth", "-1"], "depth -1 is negative"),
        (["trees", "A", "--depth", "2", "--algorithm", "oracle"], "unknown algorithm 'oracle'"),
        (["trees", "A", "--depth", "2", "--evaluator", "oracle"], "no evaluator 'oracle'"),
        (["trees", "A", "--depth", "2", "--set", "plies=3"], "alphabeta has no knob 'plies'; it has: none"),
        (
            ["trees", "A", "--depth", "1", "--algorithm", "quiescence", "--set", "quiet_plies=x"],
            "quiet_plies takes a number",
        ),
        (
            ["trees", "A", "--depth", "1", "--algorithm", "quiescence", "--set", "quiet_plies=-3"],
            "-3 plies of quiescence",
        ),
        (["trees", "A", "--depth", "2", "--out", "/dev/null/tree.svg"], "cannot write /dev/null/tree.svg"),
        (["trees_three", "B", "--depth", "2", "--algorithm", "max_n"], "trees_three has 3 players"),
        (["trees_chance", "D", "--depth", "2"], "alphabeta knows no chance"),
        (["backgammon", "--depth", "1", "--algorithm", "fallible", "--evaluator", "pubeval"], "pubeval only ranks"),
        (["tic_tac_toe", "--depth", "5"], f"more than {MOST_LEAVES} leaves"),
    ],
)
def test_bad_input_is_one_line(arguments, complaint, capsys):
    try:
        status = main(arguments)
    except SystemExit as end:  # argparse
        status = int(str(end.code))
    out, err = capsys.readouterr()
    assert (status, out) == (2, "")
    assert err.startswith("error: ")
    assert complaint in err
    assert err.count("\n") == 1
