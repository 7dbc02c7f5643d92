"""Contract one: a game is a NamedTuple of integers and pure functions. Read this first.

A game file defines a `State`, a NamedTuple of integers seen from the side to move (the *mover*), and kernels over it.
`play` hands the turn over by rotating the board, so no kernel below the fronts ever takes a colour. Shapes: W integers
a state, `[W]` a row; A the most active features a state can have.

    Rules   what crosses into compiled code: kernels and sizes, the value that every search and learner takes
    Game    what Python needs besides: names, notation, drawing, feature sets, baselines

**Values flip exactly when `seat` changes.** A chance edge never changes the seat, and a depth limit never falls between
a chance node (the dice) and the decision behind it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np

from deltaw.envs.errors import InputError
from deltaw.envs.tuples import NAME, entry_names, make_spec, num_placements, num_weights, tables

if TYPE_CHECKING:
    from PIL import Image

START = "start"
"""the text of the position that a game begins with, beside the game's own notation"""
FORBIDDEN = 1
"""`Rules.repetition`: no move may lead to a position that has occurred before"""
SPARE_MOVES = 64 * 64
"""room behind `max_moves` for the moves of a position that no game reaches: from every square of a mask to every
other"""


class Rules(NamedTuple):
    """Kernels and sizes of one game. `make_rules` (`envs/rules.py`) fills in the optional ones."""

    initial: Any
    """initial() -> State"""
    seat: Any
    """seat(state) -> 0 .. num_players - 1: whose turn it is, in absolute terms; seat 0 moves first"""
    legal_moves: Any
    """legal_moves(state, out int64 [max_moves]) -> n: fills out[:n] with move codes, best guesses first; n >= 1 while
    the game is on (a forced pass is a move), and never called at a chance node"""
    play: Any
    """play(state, move) -> State: never checks legality (the fronts do)"""
    outcome: Any
    """outcome(state) -> (over, value): value is one of `outcomes`, for the mover; 0 while the game is on"""
    num_chance: Any
    """num_chance(state) -> k: 0 at a decision; k > 0 outcomes at a chance node"""
    chance: Any
    """chance(state, i) -> (State, probability)"""
    features: Any
    """features(state, spec int64 [..], index int32 [A], value float32 [A]) -> n: the active features of the mover's
    view, indices strictly increasing; `spec` belongs to a FeatureSet; the same before and after the dice
    (a card that is dealt may be seen). Where spec[0] is TUPLES, the active entries of an n-tuple network
    (`envs/tuples.py`), in the tables' order; an index may then occur more than once"""
    weigh: Any
    """weigh(state, spec int64 [..], weight float32 [F + 1], index int32 [A], value float32 [A]) -> float64: the sum of
    the active features' values times their weights, and the last weight; index and value are scratch; default: by
    features"""
    expand: Any
    """expand(state, moves int64 [max_moves], rows int64 [max_moves, W]) -> n: legal moves with *distinct* results, and
    the results; default: legal_moves and play"""
    load: Any
    """load(row int64 [W]) -> State"""
    store: Any
    """store(state, row int64 [W])"""
    cells: Any
    """cells(state, out int64 [num_cells]): the board as small integers, for observations and one-hot inputs"""
    tuple_cells: Any
    """tuple_cells(state, out [num_cells]): the board as n-tuples see it, numbers below `tuple_values`; default: the
    cells"""
    key: Any
    """key(state) -> int64: equal states have equal keys; collision-free where `exact_key`"""
    noisy: Any
    """noisy(state, move) -> bool: a quiescence search follows this move; default: never"""
    noisy_moves: Any
    """noisy_moves(state, out int64 [max_moves]) -> n: the legal moves that are noisy, best guesses first; default: by
    legal_moves and noisy"""
    gain: Any
    """gain(state, move) -> int64: what a noisy move promises, by any measure: above 0 it is tried before quiet moves,
    the greatest first; below 0 after them, and quiescence leaves it out; 0 for a quiet move; default: 0"""
    in_danger: Any
    """in_danger(state) -> bool: the mover must answer a threat at once, so that quiescence follows all his moves and he
    may not stand pat; default: never"""
    null: Any
    """null(state) -> State: the turn passed without a move, for null-move pruning; default: the state itself, which
    searches read as "not allowed", as it should be where a pass would be better than every move"""
    score: Any
    """score(state) -> int64: what exact solvers report at the end of a game (discs, distance to win); default:
    outcome"""
    payoffs: Any
    """payoffs(state, out float64 [num_players]): what a finished game is worth to everyone: out[i] for the player i
    turns after the mover; default, for two players: outcome and its opposite"""
    repetition_key: Any
    """repetition_key(state) -> int64: equal where two decisions are the same position, the side to move included; the
    same before and after the dice; 0: this one never counts as a repetition; default: 0"""
    reversible: Any
    """reversible(state) -> int64: how many of the last moves could be taken back; no equal position lies further back
    in the game; default: `path_plies`"""
    information_key: Any
    """information_key(state) -> int64: equal where the mover cannot tell two states apart; default: `key`"""
    determinize: Any
    """determinize(state, word) -> State: a state that the mover of the decision cannot tell from this one; what he does
    not see is dealt anew from 63 random bits. His moves are the same ones in the same order; default: the state
    itself"""
    sample_chance: Any
    """sample_chance(state, word) -> State: after a chance event that 63 random bits decide; default: by the
    probabilities of `chance`"""
    action_mask: Any
    """action_mask(state, word, out int8 [num_actions]): which actions may spell the next letter of a move, given the
    `word` of actions so far (0: none); default: actions are move codes"""
    spell: Any
    """spell(state, word, action) -> (word, complete): when complete, `word` is a move for `play`"""
    observe: Any
    """observe(state, word, out float32 [observation_size]): what an agent sees, in the middle of a move too; default:
    the cells"""
    width: int
    """W"""
    max_moves: int
    max_chance: int
    """most outcomes of a chance node; 0 for a deterministic game"""
    max_plies: int
    """a game longer than this is broken off as a draw (value 0); 0: it always ends by itself"""
    num_players: int
    num_cells: int
    num_actions: int
    observation_size: int
    tuple_values: int
    """what can stand on a cell, for n-tuples; 0: this game has no cells that n-tuples could read"""
    repetition: int
    """what it means that a position occurs again: n >= 2: the n-th occurrence is a draw; FORBIDDEN: no move may lead
    there; 0: nothing, or it cannot happen"""
    path_plies: int
    """the most moves that may lie between two occurrences of a position; 0 where `repetition` is 0"""
    hidden: bool
    """whether there is something that the mover does not see (`determinize` is given)"""
    exact_chance: bool
    """whether `chance` lists every outcome; if not, `num_chance` is 1 at a chance node and only `sample_chance` is
    called"""
    only_deals: bool
    """whether chance events come before the first move only (the deal), so that a search meets none"""
    exact_key: bool
    outcomes: tuple[int, ...]
    """every value `outcome` can have, ascending and symmetric about 0: -1 0 1, or -3 -2 -1 1 2 3"""


def meets_chance(rules: Rules) -> bool:
    """Whether a search from a decision may meet a chance node."""
    return rules.max_chance > 0 and not rules.only_deals


class FeatureSet(NamedTuple):
    """A way to describe a state to an evaluator: plain data, stored in the evaluator file."""

    name: str
    spec: tuple[int, ...]
    num_features: int
    max_active: int
    names: Callable[[], list[str]]
    """one name a feature, for weight tables and charts"""


class Baseline(NamedTuple):
    """A handmade, compiled player that lives with its game."""

    name: str
    kind: Literal["value", "rank", "payoffs"]
    """"value": function(state) -> float in outcome units for the mover.
    "rank": function(parent, move, child) -> float that only orders the moves of one parent, highest first.
    "payoffs": function(state, out float64 [num_players]) for games of more than two, ordered like `Rules.payoffs`."""
    function: Any
    about: str
    check: Callable[[Any], None] | None = None
    """check(state) raises InputError where a player of kind "rank" does not play; None: it plays everywhere"""


class Pieces(NamedTuple):
    """The pieces of a game whose sides have several kinds, for those who draw them and let people move them."""

    board: tuple[int, int]
    """rows and columns of `cells`"""
    shapes: dict[str, str]
    """name of the kind -> SVG elements (`envs/picture.py`)"""
    cells: Callable[[Any], list[int]]
    """(state) -> what is on each cell, as everybody sees the board, row by row from the top: 0 nothing, or 1 + the
    owner's seat + number of players x the number of the kind"""
    clicks: Callable[[Any, int], list[list[int]]]
    """(state, move) -> the ways to make the move by touching cells, each a list of them in order"""


class GameFile(NamedTuple):
    """A format for whole games, which are `GameRecord`s (`envs/record.py`)."""

    about: str
    read: Callable[[Game, str], list[Any]]
    """from the text of a file; raises InputError that names the game and the move"""
    write: Callable[[Game, Sequence[Any]], str]
    """raises InputError for games that the format cannot hold"""


class Slices(NamedTuple):
    """The positions of few pieces, numbered for databases (`search/databases/endings.py`). A slice is all positions
    with the same pieces, and has a code of the game's own, at least 0. Every move passes the turn."""

    slice_of: Any
    """kernel slice_of(state) -> int64: the slice of a running game's position; -1: it is in none"""
    index: Any
    """kernel index(state) -> int64: the number of the position in its slice; equal only for positions of equal value,
    such as mirror images"""
    position: Any
    """kernel position(code, index) -> (whether there is one, State): of a running or a finished game, and with nothing
    behind it: clocks are 0"""
    size: Callable[[int], int]
    """(code) -> how many numbers a slice has; 0 for any other number in place of a code"""
    name: Callable[[int], str]
    """(code) -> its name, which may be a part of a file's name"""
    following: Callable[[int], list[int]]
    """(code) -> the slices of the opponent to which a move may lead. Two slices lead to each other where no piece was
    captured or changed; no other circle leads back"""
    read: Callable[[str], list[int]]
    """the slices that a person names; raises InputError"""
    example: str
    """what `read` takes, in words"""


@dataclass(frozen=True)
class Game:
    """A game as Python sees it. Compiled code takes `game.rules`; everything else here is text, pictures and tables."""

    name: str
    title: str
    state: type
    rules: Rules
    feature_sets: dict[str, FeatureSet]
    default_features: str
    parse: Callable[[str], Any]
    """text -> State, in the usual notation of the game; raises InputError. What strangers wrote is read by
    `read_position`"""
    format: Callable[[Any], str]
    move_text: Callable[[Any, int], str]
    """(state, move) -> the move as players write it"""
    ansi: Callable[..., str]
    """ansi(state, color=False) -> the board as text"""
    draw: Callable[[Any], Image.Image]
    """the board as a picture"""
    svg: Callable[[Any], str] | None = None
    """the same picture in SVG"""
    pieces: Pieces | None = None
    """None: a side has one kind of piece, or there is no board"""
    baselines: dict[str, Baseline] = field(default_factory=dict)
    read_move: Callable[[Any, str], int] | None = None
    """(state, text) -> move code, for games whose players write one move in several ways; default: by `move_text`"""
    chance_text: Callable[[Any, int], str] = lambda state, i: str(i)
    """(state, number of the outcome, or the random word of one that is not listed) -> text"""
    read_chance: Callable[[Any, str], int] | None = None
    """(state, text) -> chance outcome; default: by `chance_text`"""
    probes: tuple[tuple[str, str], ...] = ()
    """(label, position) worth watching while an evaluator learns"""
    board: tuple[int, int] | None = None
    """rows and columns, where the cells are numbered row by row: n-tuples walk over it"""
    turned: bool = False
    """whether `play` turns the board by half, so that the second player's last cell is the first player's first"""
    falls: bool = False
    """whether a move is a column in which a piece falls: the first row of cells is then the lowest"""
    dice: str | None = None
    """the State's field that numbers what the mover rolled, 0 before; None: chance events are no dice of his"""
    win_names: dict[int, str] = field(default_factory=dict)
    """what wins of several points are called, where players have words for them: {2: "gammon"}"""
    solved_from: int = 0
    """first ply whose positions are solved in a fraction of a second, for a game with a solver"""
    symmetries: np.ndarray | None = None
    """int64 [S, num_cells]: permutations p of the board that leave the game the same: the image has cell[p[i]] at place
    i. The first is the identity; default: no other"""
    engine_options: dict[str, Any] = field(default_factory=dict)
    """options of the engine (`search/tree/engine_node.py`) with which it plays this game best, as far as they differ
    from those that it takes from the rules"""
    slices: Slices | None = None
    """how positions of few pieces are numbered; None: this game has no databases of endings by slices"""
    files: dict[str, GameFile] = field(default_factory=dict)
    """ending of a file's name -> a format for whole games, beside JSON lines (`envs/record.py`)"""

    def features(self, name: str | None = None) -> FeatureSet:
        """The feature set called `name` (default: the game's default)."""
        wanted = name or self.default_features
        if wanted not in self.feature_sets:
            raise InputError(f"{self.name} has no feature set {wanted!r}; it has: {', '.join(self.feature_sets)}")
        return self.feature_sets[wanted]

    def tuples(self, tuples: Sequence[Sequence[int]], *, symmetric: bool = True, per_seat: bool = False) -> FeatureSet:
        """The feature set of an n-tuple network over `tuples` of cells (`envs/tuples.py`). Raises InputError."""
        if not self.rules.tuple_values:
            raise InputError(
                f"{self.name} has no board of cells for n-tuples; use a feature set: {', '.join(self.feature_sets)}"
            )
        seats = self.rules.num_players if per_seat else 1
        symmetries = self.symmetries if symmetric else None
        return self.described(NAME, make_spec(self.rules.tuple_values, seats, tuples, self.rules.num_cells, symmetries))

    def described(self, name: str, spec: tuple[int, ...]) -> FeatureSet:
        """The feature set that a file describes by its name and spec; raises InputError where this game has none like
        it."""
        if name != NAME:
            known = self.features(name)
            if known.spec != spec:
                raise InputError(f"another {name!r} is meant: spec {spec}; here {known.spec}")
            return known
        cells = max(max(max(cells) for cells in table.placements) for table in tables(spec))
        seats = (1, self.rules.num_players)
        if spec[1] != self.rules.tuple_values or spec[2] not in seats or cells >= self.rules.num_cells:
            raise InputError(
                f"its n-tuples read cells up to {cells} of {spec[1]} values, with tables for {spec[2]} seats; "
                f"{self.name} has {self.rules.num_cells} cells of {self.rules.tuple_values} values, and tables for "
                f"{' or '.join(map(str, seats))} seats"
            )
        room = num_placements(spec) + self.rules.num_cells  # the cells themselves are noted behind the entries
        return FeatureSet(NAME, spec, num_weights(spec), room, lambda: entry_names(spec))

    def moves(self, state: Any) -> list[int]:
        """Codes of the legal moves with distinct results, in the game's order."""
        codes, rows = self.buffers()
        n = self.rules.expand(state, codes, rows)
        return [int(code) for code in codes[:n]]

    def buffers(self) -> tuple[np.ndarray, np.ndarray]:
        """Empty `moves` [max_moves] and `rows` [max_moves, W] for `expand`."""
        size = self.rules.max_moves
        return np.empty(size, np.int64), np.empty((size, self.rules.width), np.int64)

    def row(self, state: Any) -> np.ndarray:
        """The state as an int64 row [W]."""
        return np.array(state, dtype=np.int64)

    def unrow(self, row: np.ndarray) -> Any:
        return self.state(*(int(field) for field in row))

    def read_position(self, text: str) -> Any:
        """The position that a person wrote, or `start`. Raises InputError, also as `playable` does."""
        text = text.strip()
        return self.unrow(self.row(self.rules.initial())) if text == START else self.playable(self.parse(text))

    def playable(self, state: Any) -> Any:
        """`state`. Raises InputError where the game is on and has no move, or more than it has room for: kernels check
        neither, and a position that a person set up need not be one that the rules lead to."""
        rules, most = self.rules, self.rules.max_moves
        codes = np.empty(most + SPARE_MOVES, np.int64)
        rolls = 0 if rules.outcome(state)[0] else rules.num_chance(state)
        for decision in [rules.chance(state, i)[0] for i in range(rolls)] or [state]:
            n = most if rules.outcome(decision)[0] else rules.legal_moves(decision, codes)
            if not 1 <= n <= most:
                raise InputError(
                    f"{self.format(state)} is no position of {self.name}: it is not over, and has {n} moves; "
                    f"1 to {most} are possible"
                )
        return state

    def find_move(self, state: Any, text: str) -> int:
        """The legal move that a person wrote; raises InputError with the legal ones."""
        if self.read_move is not None:
            return self.read_move(state, text)
        texts = {self.move_text(state, move): move for move in self.moves(state)}
        if text.strip() not in texts:
            raise InputError(f"{text.strip()!r} is not a legal move here; legal: {', '.join(texts)}")
        return texts[text.strip()]

    def find_chance(self, state: Any, text: str) -> int:
        """The chance outcome that a person wrote, such as the dice `31`; raises InputError."""
        if self.read_chance is not None:
            return self.read_chance(state, text)
        if self.rules.num_chance(state) > 0 and not self.rules.exact_chance:
            if not text.strip().isdecimal() or int(text) >= 1 << 63:
                raise InputError(f"{text.strip()!r} is no chance event here; a number from 0 to 2^63 - 1 is right")
            return int(text)
        texts = {self.chance_text(state, i): i for i in range(self.rules.num_chance(state))}
        if text.strip() not in texts:
            raise InputError(f"{text.strip()!r} is not possible here; possible: {', '.join(texts) or 'nothing'}")
        return texts[text.strip()]
