"""Trees written down node by node, as a game: the worked examples of textbooks, and tests whose answers are known by
hand.

    Max([Min([3, 12, 8]), Min([2, 4, 6]), Min([14, 5, 2])])         two players; a leaf has its worth to MAX, seat 0
    Max([Chance([(0.9, Min([2, 2])), (0.1, Min([3, 3]))]), ...])    probabilities of a chance node's outcomes
    Turn(0, [Turn(1, [(1, 2, 6), (4, 2, 3)]), ...])                 any number of players; a leaf has its worth to each

What a node may say besides: `static`, its worth to somebody who looks no further (like a leaf's: to MAX, or to each
seat); `noisy`, that the move leading to it is one that a quiescence search follows; `passed`, the subtree that is
reached by passing (for null-move pruning). A leaf that is more than a number is written `Leaf(8, noisy=True)`.

`forest_game` makes one game of many named trees, so that searches are compiled once for all of them. A position is the
name of a tree and the way from its root, `NAME`, `NAME/0/1` or `NAME/0/pass`; a move is the number of a child. Nodes of
one player may follow each other: the seat then stays, and values do not flip. A leaf's seat is that of the player after
whoever moved last.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from deltaw.envs.errors import InputError
from deltaw.envs.forest import HAS_PASS, IS_CHANCE, IS_LEAF, IS_NOISY, SEAT, Flat, Forest
from deltaw.envs.game import Baseline, FeatureSet, Game
from deltaw.envs.kernel import kernel
from deltaw.envs.rules import make_rules

CHANCE, LEAF = -1, -2
"""`Node.player` where nobody decides"""
MOST_PLAYERS = 16
LARGEST_WORTH = 1 << 53
"""beyond it float64 leaves whole numbers out"""


class Node(NamedTuple):
    """One node; written with `Max`, `Min`, `Turn`, `Chance` or `Leaf`, or as a bare number or tuple if it is a leaf."""

    player: int
    """seat of whoever decides, CHANCE or LEAF"""
    children: tuple[Any, ...]
    odds: tuple[float, ...]
    """probabilities of a chance node's children"""
    worth: Any
    """a leaf's payoff, any other node's static value: to MAX, or to each seat"""
    noisy: bool
    passed: Any


def Turn(player: int, children: Iterable[Any], static: Any = 0, noisy: bool = False, passed: Any = None) -> Node:
    """A node at which seat `player` decides."""
    return Node(player, tuple(children), (), static, noisy, passed)


def Max(children: Iterable[Any], static: Any = 0, noisy: bool = False, passed: Any = None) -> Node:
    return Turn(0, children, static, noisy, passed)


def Min(children: Iterable[Any], static: Any = 0, noisy: bool = False, passed: Any = None) -> Node:
    return Turn(1, children, static, noisy, passed)


def Chance(outcomes: Iterable[tuple[float, Any]], static: Any = 0, noisy: bool = False) -> Node:
    """A chance node over (probability, node). A node behind it is evaluated before the dice, so by the chance node's
    `static`."""
    odds, children = zip(*outcomes, strict=True)
    return Node(CHANCE, children, odds, static, noisy, None)


def Leaf(worth: Any, noisy: bool = False) -> Node:
    return Node(LEAF, (), (), worth, noisy, None)


class State(NamedTuple):
    node: int


# --- the trees as arrays ----------------------------------------------------------------------------------------------


def flatten(trees: Sequence[Any], num_players: int) -> Flat:
    """Raises InputError for nodes that make no sense."""
    nodes = [_node(tree) for tree in trees]
    parent, turn, odds = [-1] * len(nodes), [0] * len(nodes), [1.0] * len(nodes)
    first, flags = [], []
    for i, node in enumerate(nodes):  # grows
        below = [_node(child) for child in node.children]
        seat = _seat(node, below, turn[i], num_players)
        below += [_node(node.passed)] if node.passed is not None else []
        first.append(len(nodes))
        flags.append(_flags(node, seat))
        nodes += below
        parent += [i] * len(below)
        turn += [seat if node.player == CHANCE else (seat + 1) % num_players] * len(below)
        odds += node.odds or [1.0] * len(below)
    view = [p if p >= 0 and nodes[p].player == CHANCE else i for i, p in enumerate(parent)]
    return Flat(
        np.array([*first, len(nodes)], np.int32),
        np.array(flags, np.uint8),
        np.array([_worth(node, num_players) for node in nodes]),
        np.array(odds),
        np.array(view, np.int32),
        np.array(parent, np.int32),
    )


def _node(tree: Any) -> Node:
    return tree if isinstance(tree, Node) else Leaf(tree)


def _flags(node: Node, seat: int) -> int:
    marks = (node.player == CHANCE, IS_CHANCE), (node.player == LEAF, IS_LEAF)
    more = (node.noisy, IS_NOISY), (node.passed is not None, HAS_PASS)
    return seat | sum(bit for mark, bit in (*marks, *more) if mark)


def _seat(node: Node, below: list[Node], turn: int, num_players: int) -> int:
    """Whose turn it is at a node: at a leaf or a chance node `turn`, unless somebody decides behind the dice."""
    if node.player == LEAF:
        return turn
    if not below:
        raise InputError("a node without children has no move; write a leaf instead")
    if node.player != CHANCE:
        if not 0 <= node.player < num_players:
            raise InputError(f"player {node.player} is not among the {num_players} players 0 to {num_players - 1}")
        return node.player
    if any(child.player == CHANCE for child in below):
        raise InputError("a chance node follows a chance node; multiply the probabilities instead")
    odds = [_number(p, "probability") for p in node.odds]
    if not math.isclose(sum(odds), 1.0, abs_tol=1e-9) or min(odds) <= 0:
        raise InputError(f"the probabilities {node.odds} of a chance node must be positive and add up to 1")
    players = {child.player for child in below} - {LEAF}
    if len(players) > 1:
        raise InputError(f"behind one chance node the players {sorted(players)} decide; it must be the same one")
    return players.pop() if players else turn


def _worth(node: Node, num_players: int) -> list[float]:
    """To MAX (two players) or to each seat. A leaf's payoffs must be whole numbers."""
    several, width = isinstance(node.worth, Sequence), 1 if num_players == 2 else num_players
    row = [_number(x, "payoff") for x in (node.worth if several else [node.worth])]
    if several and len(row) != (0 if num_players == 2 else num_players):
        raise InputError(f"the payoffs {node.worth} are not one for each of {num_players} players")
    if not several and num_players > 2 and (node.player == LEAF or node.worth != 0):
        raise InputError(f"{node.worth} should be a tuple, a payoff for each of {num_players} players")
    broken = [x for x in row if node.player == LEAF and not x.is_integer()]
    if broken:
        raise InputError(f"the payoff {broken[0]:g} of a leaf is no whole number")
    return row if several else row * width


def _number(x: Any, what: str) -> float:
    """`x` for the arrays; raises InputError for what is no number, and for one that is not finite or beyond
    LARGEST_WORTH."""
    if isinstance(x, int | float | np.integer | np.floating) and -LARGEST_WORTH <= x <= LARGEST_WORTH:
        return float(x)
    shown = f"of {x.bit_length()} bits" if isinstance(x, int) else repr(x)
    raise InputError(f"the {what} {shown} is no number from -2^53 to 2^53")


# --- kernels: the arrays are constants in them -----------------------------------------------------------------------


def _walking(flat: Flat) -> dict[str, Any]:
    """Rules that only follow edges."""
    first, flags, odds = flat.first, flat.flags, flat.odds

    @kernel
    def initial():
        return State(np.int64(0))

    @kernel
    def seat(state):
        return np.int64(flags[state.node] & SEAT)

    @kernel
    def legal_moves(state, out):
        n = first[state.node + 1] - first[state.node] - (1 if flags[state.node] & HAS_PASS else 0)
        for i in range(n):
            out[i] = i
        return np.int64(n)

    @kernel
    def play(state, move):
        return State(np.int64(first[state.node] + move))

    @kernel
    def num_chance(state):
        children = first[state.node + 1] - first[state.node]
        return np.int64(children if flags[state.node] & IS_CHANCE else 0)

    @kernel
    def chance(state, i):
        child = np.int64(first[state.node] + i)
        return State(child), odds[child]

    @kernel
    def noisy(state, move):
        return flags[first[state.node] + move] & IS_NOISY != 0

    @kernel
    def null(state):
        passed = np.int64(first[state.node + 1] - 1)
        return State(passed if flags[state.node] & HAS_PASS else np.int64(state.node))

    return {
        "initial": initial, "seat": seat, "legal_moves": legal_moves, "play": play,
        "num_chance": num_chance, "chance": chance, "noisy": noisy, "null": null,
    }  # fmt: skip


def _worths(flat: Flat, num_players: int) -> tuple[Any, Any, Any]:
    """outcome(state); worths(state, out [P]), the mover first; and static(state), the first of them."""
    flags, worth = flat.flags, flat.worth
    for_two = num_players == 2

    @kernel
    def static(state):
        turn = flags[state.node] & SEAT
        if for_two:
            return worth[state.node, 0] * (1.0 - 2.0 * turn)
        return worth[state.node, turn]

    @kernel
    def outcome(state):
        over = flags[state.node] & IS_LEAF != 0
        return over, np.int64(static(state)) if over else np.int64(0)

    @kernel
    def worths(state, out):
        if for_two:
            out[0] = static(state)
            out[1] = -out[0]
        else:
            for i in range(num_players):
                out[i] = worth[state.node, ((flags[state.node] & SEAT) + i) % num_players]

    return outcome, worths, static


def _views(flat: Flat) -> tuple[Any, Any, int]:
    """features(state, spec, index, value); cells(state, out) and how many: the number of the node in base 64."""
    view, digits = flat.view, max(1, math.ceil(math.log(len(flat.view), 64)))

    @kernel
    def features(state, spec, index, value):
        index[0] = view[state.node]
        value[0] = 1.0
        return 1

    @kernel
    def cells(state, out):
        for i in range(digits):
            out[i] = state.node >> 6 * i & 63

    return features, cells, digits


@kernel
def _key(state):
    return np.int64(state.node)


@kernel
def _zero(state):
    return 0.0


def forest_game(name: str, title: str, trees: Mapping[str, Any], num_players: int = 2) -> Game:
    """A game of the given trees; it begins at the root of the first one.

    Outcomes are the leaves' payoffs and their opposites. Feature set `node`: one input a node. Baselines: `static`, the
    static value of a node ("payoffs" besides, for more than two players), and `zero`, which knows nothing. Raises
    InputError for trees or names that make no sense.
    """
    forest = plant(trees, num_players)
    flat = forest.flat
    outcome, worths, static = _worths(flat, num_players)
    features, cells, digits = _views(flat)
    rules = make_rules(
        State,
        **_walking(flat),
        **_sizes(flat),
        outcome=outcome,
        payoffs=worths,
        features=features,
        cells=cells,
        num_cells=digits,
        key=_key,
        exact_key=True,
        num_players=num_players,
    )
    return Game(
        name=name,
        title=title,
        state=State,
        rules=rules,
        feature_sets={"node": FeatureSet("node", (0,), len(flat.flags), 1, forest.all_names)},
        default_features="node",
        parse=lambda text: State(forest.parse(text)),
        format=lambda state: forest.format(int(state.node)),
        move_text=lambda state, move: str(int(move)),
        ansi=lambda state, color=False: forest.ansi(int(state.node), color),
        draw=lambda state: forest.draw(int(state.node)),
        baselines=_baselines(static, worths, num_players),
        probes=tuple((tree, tree) for i, tree in enumerate(trees) if not forest.has(i, IS_LEAF)),
    )


def plant(trees: Mapping[str, Any], num_players: int) -> Forest:
    """The trees in arrays. Raises InputError."""
    if not trees:
        raise InputError("a forest without trees is no game")
    if not 2 <= num_players <= MOST_PLAYERS:
        raise InputError(f"{num_players} players; there can be 2 to {MOST_PLAYERS}")
    for tree in trees:
        if not tree or "/" in tree or tree != "".join(tree.split()):
            raise InputError(f"{tree!r} is no name for a tree: it must be one word without /")
    return Forest(tuple(trees), flatten(list(trees.values()), num_players), num_players)


def _sizes(flat: Flat) -> dict[str, Any]:
    """Most moves, most chance outcomes, and all outcomes of games."""
    children, chance = np.diff(flat.first), (flat.flags & IS_CHANCE) != 0
    moves = children - ((flat.flags & HAS_PASS) != 0)
    payoffs = {int(x) for x in flat.worth[(flat.flags & IS_LEAF) != 0].flat}
    return {
        "max_moves": int(max(moves[~chance], default=0)) or 1,
        "max_chance": int(max(children[chance], default=0)),
        "outcomes": tuple(sorted({0} | payoffs | {-x for x in payoffs})),
    }


def _baselines(static: Any, worths: Any, num_players: int) -> dict[str, Baseline]:
    about = "what the tree says of a node that is not looked beyond"
    found = [
        Baseline("static", "value", static, about),
        Baseline("zero", "value", _zero, "every node is worth nothing"),
    ]
    if num_players > 2:
        found.insert(0, Baseline("static_payoffs", "payoffs", worths, about + ", for every player"))
    return {baseline.name: baseline for baseline in found}


# --- random trees -----------------------------------------------------------------------------------------------------


def random_tree(random: np.random.Generator, depth: int, width: int, values: int = 9, *, chance: float = 0.0) -> Any:
    """A tree for two players: MAX first, then in turn; 1 to `width` children a node, every leaf at most `depth` moves
    away.

    Leaves and static values are integers between -values and values; with probability `chance` dice of two outcomes
    follow a move.
    """

    def grow(player: int, left: int) -> Any:
        if left == 0 or (left < depth and random.random() < 0.1):
            return int(random.integers(-values, values, endpoint=True))
        if left < depth and random.random() < chance:
            p = float(random.integers(1, 8)) / 8
            return Chance([(p, below(player, left)), (1 - p, below(player, left))], static=worth())
        return below(player, left)

    def below(player: int, left: int) -> Node:
        children = [grow(1 - player, left - 1) for _ in range(random.integers(1, width, endpoint=True))]
        return Turn(player, children, static=worth(), noisy=bool(random.random() < 0.2))

    def worth() -> int:
        return int(random.integers(-values, values, endpoint=True))

    return grow(0, depth)
