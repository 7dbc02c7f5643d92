"""Databases of solved positions: opening books, endgames, whole games.

Strong programs use a book at the beginning of a game, a search in the middle and a database at the end:

    chess      K. Thompson's endings of five pieces, "Retrograde analysis of certain endgames", ICCA Journal 9 (1986)
    checkers   J. Schaeffer's Chinook, whose databases of up to 8 pieces hold 443,748,401,247 positions,
               "One Jump Ahead" (1997)
    Othello    M. Buro's learned opening books, "Toward opening book learning", ICCA Journal 22 (1999)

`search/databases/retrograde.py` makes databases, and `deltaw build` writes them.

The file, `GAME_NAME.table`, is safetensors: no code can hide in it. One metadata key, `deltaw`, holds sorted JSON
(`Description`). The tensors of a database of positions:

    keys       int64 [n], strictly ascending     `canonical_key` (search/databases/symmetry.py) of a position, or
                                                 `rules.key` where `symmetric` is false
    values     int8 or int16 [n]                 for the mover; `units` says of what
    distances  int16 [n], may be missing         plies to the end: a win in the fewest, a loss in the most; -1: a draw,
                                                 or unknown

Letters: n positions, S symmetries, C cells, W integers a state.
"""

from __future__ import annotations

import dataclasses
import functools
import hashlib
import importlib.metadata
import json
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from importlib import resources
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from safetensors.numpy import save as to_bytes

from deltaw.envs.errors import InputError
from deltaw.envs.game import Game
from deltaw.envs.kernel import kernel
from deltaw.search.databases.symmetry import canonical_key, symmetries_of
from deltaw.search.evaluators.evaluator import write_whole
from deltaw.search.evaluators.leaf import Leaf, Weights, certain
from deltaw.search.evaluators.tensor_file import KEY, read_file

VERSION = 1
SUFFIX = ".table"
ENDGAME, BOOK, BEAROFF, SLICES = "endgame", "book", "bearoff", "slices"
OUTCOME, SCORE, CHANCES = "outcome", "score", "chances"
NO_DISTANCE = -1

MARK_PLIES = 12
"""length of the line of play whose keys tell whether a file was made with the keys of today"""


@dataclass(frozen=True)
class Description:
    """The metadata of a table file."""

    kind: str
    """endgame, book, bearoff or slices"""
    game: str
    covers: str
    """which positions, in words"""
    units: str
    """of the values: outcome (`Rules.outcome`), score (`Rules.score`), or chances (bearoff)"""
    symmetric: bool
    """whether a key stands for a symmetry class"""
    mark: str
    """`mark_of` the game when the file was made; empty where no keys are stored"""
    made: dict[str, str] = field(default_factory=dict)
    """command, and version of the program"""
    sha256: str = ""
    """of the tensors, see `checksum`"""
    version: int = VERSION


class Entry(NamedTuple):
    """What a database knows of a position."""

    value: int
    """for the mover"""
    distance: int | None
    """plies to the end under best play; None for a draw, or where the database has none"""


class Positions(NamedTuple):
    """A database as kernels take it."""

    keys: np.ndarray
    """int64 [n], strictly ascending"""
    values: np.ndarray
    """int16 [n]"""
    distances: np.ndarray
    """int16 [n]"""
    symmetries: np.ndarray
    """int64 [S, C]; S = 0: keys are `rules.key`"""


@kernel
def find_key(keys, key):
    """Index of `key` among the ascending `keys`, or -1."""
    low, high = 0, len(keys)
    while low < high:
        middle = (low + high) >> 1
        if keys[middle] < key:
            low = middle + 1
        else:
            high = middle
    return low if low < len(keys) and keys[low] == key else -1


@kernel
def look_up(rules, positions, state, board):
    """Index of `state` in `positions`, or -1; `board` int64 [C] is scratch memory."""
    return find_key(positions.keys, canonical_key(rules, positions.symmetries, state, board))


# --- a database in memory ---------------------------------------------------------------------------------------------


class AnyDatabase:
    """What databases of all kinds answer."""

    game: Game
    description: Description

    def find(self, state: Any) -> Entry | None:
        """What is known of `state`; a finished game is always known."""
        raise NotImplementedError

    def __len__(self) -> int:
        raise NotImplementedError

    def moves(self, state: Any) -> list[int]:
        """The best moves of the decision `state`, all of them where all results are known, in the game's order; of wins
        those that win soonest, of losses those that lose latest, as far as distances are known. Empty where the
        database does not suffice, and at the end of the game."""
        own = self.find(state)
        worth = {} if self.game.rules.outcome(state)[0] else self._worths(state)
        known = [entry for entry in worth.values() if entry is not None]
        if not known or (own is None and len(known) < len(worth)):
            return []
        value = max(entry.value for entry in known) if own is None else own.value
        best = {move: entry for move, entry in worth.items() if entry is not None and entry.value == value}
        distances = [entry.distance for entry in best.values() if entry.distance is not None]
        if value == 0 or not best or len(distances) < len(best):
            return list(best)
        wanted = min(distances) if value > 0 else max(distances)
        return [move for move, entry in best.items() if entry.distance == wanted]

    def _worths(self, state: Any) -> dict[int, Entry | None]:
        """What is known of every move, for the mover."""
        moves, rows = self.game.buffers()
        n = self.game.rules.expand(state, moves, rows)
        mover = self.game.rules.seat(state)
        worths: dict[int, Entry | None] = {}
        for move, row in zip(moves[:n], rows[:n], strict=True):
            child = self.game.unrow(row)
            entry = self.find(child)
            if entry is not None and self.game.rules.seat(child) != mover:
                entry = entry._replace(value=-entry.value)
            worths[int(move)] = entry
        return worths


@dataclass(frozen=True)
class Database(AnyDatabase):
    """Solved positions of a game, by their keys."""

    game: Game
    description: Description
    positions: Positions

    def __len__(self) -> int:
        return len(self.positions.keys)

    def find(self, state: Any) -> Entry | None:
        rules = self.game.rules
        over, result = rules.outcome(state)
        if over:
            return Entry(int(rules.score(state) if self.description.units == SCORE else result), 0)
        index = int(look_up(rules, self.positions, state, np.empty(rules.num_cells, np.int64)))
        if index < 0:
            return None
        distance = int(self.positions.distances[index])
        return Entry(int(self.positions.values[index]), None if distance == NO_DISTANCE else distance)


def make_database(
    game: Game,
    keys: np.ndarray,
    values: np.ndarray,
    distances: np.ndarray | None = None,
    *,
    kind: str,
    covers: str,
    units: str,
    symmetric: bool,
    command: str = "",
) -> Database:
    """A database from keys int64 [n], all different, in any order, values [n] and distances [n]. `symmetric`: the keys
    are `class_keys` of `search/databases/symmetry.py`, otherwise `rules.key`."""
    order = np.argsort(keys, kind="stable")
    if distances is None:
        distances = np.full(len(keys), NO_DISTANCE, np.int16)
    made = {"command": command, "version": program_version()}
    description = Description(kind, game.name, covers, units, symmetric, mark_of(game, symmetric), made)
    positions = _positions(game, symmetric, keys[order], values[order], distances[order])
    description = dataclasses.replace(description, sha256=checksum(_tensors(positions)))
    database = Database(game, description, positions)
    _check_positions("the database", database)
    return database


def _positions(game: Game, symmetric: bool, keys: np.ndarray, values: np.ndarray, distances: np.ndarray) -> Positions:
    return Positions(
        np.ascontiguousarray(keys, np.int64),
        np.ascontiguousarray(values, np.int16),
        np.ascontiguousarray(distances, np.int16),
        _symmetries(game, symmetric),
    )


def _symmetries(game: Game, symmetric: bool) -> np.ndarray:
    """Those that keys are made with: none where each position has its own."""
    return symmetries_of(game) if symmetric else symmetries_of(game)[:0]


def mark_of(game: Game, symmetric: bool) -> str:
    """A digest of the keys along one line of play. A game whose keys mean something else than when a file was made has
    another mark, almost certainly: the file is then refused instead of answering at random."""
    symmetries = _symmetries(game, symmetric)
    board = np.empty(game.rules.num_cells, np.int64)
    state, text = game.rules.initial(), f"{symmetries.tolist()}"
    for ply in range(MARK_PLIES):
        text += f" {int(canonical_key(game.rules, symmetries, state, board))}"
        if game.rules.outcome(state)[0]:
            break
        moves = game.moves(state)
        state = game.rules.play(state, moves[7 * ply % len(moves)])
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def program_version() -> str:
    try:
        return importlib.metadata.version("deltaw")
    except importlib.metadata.PackageNotFoundError:
        return "unknown"


# --- as an evaluator ------------------------------------------------------------------------------------------------


class InformedWeights(NamedTuple):
    """Weights of an evaluator, field by field as in `Weights` of `search/evaluators/leaf.py`, and exact knowledge
    beside them."""

    first: np.ndarray
    dense: np.ndarray
    sizes: np.ndarray
    activation: int
    head: int
    scale: float
    outcomes: np.ndarray
    spec: np.ndarray
    facts: Any
    """what the kernel around the evaluator looks things up in: `Positions`, or a bear-off table"""


def informed(leaf: Leaf, evaluate: Any, facts: Any) -> Leaf:
    """A leaf that passes `facts` to its kernel `evaluate` as weights.facts. Raises InputError for one that has facts
    already."""
    if not isinstance(leaf.weights, Weights):
        raise InputError(f"an evaluator with weights of type {type(leaf.weights).__name__} cannot be given a database")
    return leaf._replace(evaluate=evaluate, weights=InformedWeights(*leaf.weights, facts))  # type: ignore[arg-type]


def with_database(leaf: Leaf, database: Database) -> Leaf:
    """A leaf that is exact where the database knows the position, and says what `leaf` says elsewhere. Raises
    InputError unless values are outcomes."""
    if database.description.units != OUTCOME:
        raise InputError(
            f"the database's values are in units of {database.description.units}, an evaluator's are outcomes"
        )
    return informed(leaf, _evaluate_or_find(leaf.evaluate), database.positions)


@functools.cache
def _evaluate_or_find(evaluate: Any) -> Any:
    @kernel
    def evaluate_or_find(rules, weights, state, work):
        index = look_up(rules, weights.facts, state, np.empty(rules.num_cells, np.int64))
        if index < 0:
            return evaluate(rules, weights, state, work)
        value = np.float64(weights.facts.values[index])
        certain(weights, value, work)
        return value

    return evaluate_or_find


# --- the file ---------------------------------------------------------------------------------------------------------


def save_database(database: Database, path: str | Path) -> None:
    """Write the file whole or not at all; the same database gives the same bytes."""
    write_table(path, database.description, _tensors(database.positions))


def load_database(path: str | Path, game: Game | None = None) -> AnyDatabase:
    """Read and check a database of positions; `game`: the one it must be for. Raises InputError."""
    readers = _readers()
    description, tensors = read_table(path, tuple(readers), game)
    return readers[description.kind](path, description, tensors, game)


def load_databases(game: Game) -> list[AnyDatabase]:
    """All databases of the game that `find_databases` lists, endgames before books. Raises InputError for a damaged
    file."""
    readers = _readers()
    found = [(path, *read_table(path, (*readers, BEAROFF), game)) for path in find_databases(game).values()]
    loaded = [readers[parts[1].kind](*parts, game) for parts in found if parts[1].kind in readers]
    return sorted(loaded, key=lambda database: database.description.kind == BOOK)


def _readers() -> dict[str, Callable[..., AnyDatabase]]:
    """Kind -> what makes the database of a file's tensors."""
    from deltaw.search.databases.endings import read_endings

    return {ENDGAME: _database, BOOK: _database, SLICES: read_endings}


def _database(
    path: str | Path, description: Description, tensors: dict[str, np.ndarray], game: Game | None
) -> Database:
    from deltaw.envs import games

    game = game or games.load(description.game)
    if not {"keys", "values"} <= set(tensors) <= {"keys", "values", "distances"}:
        held = ", ".join(sorted(tensors))
        raise InputError(f"{path} should hold keys, values and perhaps distances, but holds {held}")
    _check_shapes(path, tensors)
    distances = tensors.get("distances", np.full(len(tensors["keys"]), NO_DISTANCE, np.int16))
    positions = _positions(game, description.symmetric, tensors["keys"], tensors["values"], distances)
    database = Database(game, description, positions)
    _check_positions(path, database)
    return database


def _tensors(positions: Positions) -> dict[str, np.ndarray]:
    """What the file holds: values as small as they can be written, distances where there are any."""
    small = np.iinfo(np.int8)
    fits = not len(positions.values) or (positions.values.min() >= small.min and positions.values.max() <= small.max)
    tensors = {"keys": positions.keys, "values": positions.values.astype(np.int8 if fits else np.int16)}
    if (positions.distances != NO_DISTANCE).any():
        tensors["distances"] = positions.distances
    return tensors


TYPES = {"keys": ("int64",), "values": ("int8", "int16"), "distances": ("int16",)}


def _check_shapes(path: str | Path, tensors: dict[str, np.ndarray]) -> None:
    for name, tensor in tensors.items():
        if tensor.dtype.name not in TYPES[name] or tensor.shape != (tensors["keys"].size,):
            raise InputError(
                f"{path} holds {name} of type {tensor.dtype} and shape {tensor.shape}; "
                f"one {' or '.join(TYPES[name])} a key is right"
            )


def _check_positions(path: str | Path, database: Database) -> None:
    keys, values, distances, _ = database.positions
    if (keys[1:] <= keys[:-1]).any():
        raise InputError(f"{path} holds keys that are not strictly ascending")
    if database.description.units not in (OUTCOME, SCORE):
        raise InputError(
            f"{path} has values in units of {database.description.units!r}; {OUTCOME} and {SCORE} are known"
        )
    outcomes = database.game.rules.outcomes
    if database.description.units == OUTCOME and not np.isin(values, (0, *outcomes)).all():
        raise InputError(
            f"{path} holds values between {values.min()} and {values.max()}; "
            f"{database.game.name} has the outcomes {outcomes}"
        )
    if len(distances) and distances.min() < NO_DISTANCE:
        raise InputError(f"{path} holds a distance of {distances.min()} plies")
    if database.description.mark != mark_of(database.game, database.description.symmetric):
        raise InputError(f"{path} was made with other keys than those {database.game.name} has now: build it again")


def checksum(tensors: dict[str, np.ndarray]) -> str:
    """sha256, in hex, of name, type, shape and bytes of every tensor, in the order of their names."""
    digest = hashlib.sha256()
    for name, tensor in sorted(tensors.items()):
        digest.update(f"{name} {tensor.dtype.str} {tensor.shape}\n".encode())
        digest.update(np.ascontiguousarray(tensor).data)
    return digest.hexdigest()


def write_table(path: str | Path, description: Description, tensors: dict[str, np.ndarray]) -> None:
    """Write any kind of table file, whole or not at all; the checksum is put in."""
    fields = dataclasses.asdict(description) | {"sha256": checksum(tensors)}
    ordered = {name: np.ascontiguousarray(tensor) for name, tensor in sorted(tensors.items())}
    write_whole(path, to_bytes(ordered, metadata={KEY: json.dumps(fields, sort_keys=True)}))


def read_table(
    path: str | Path, kinds: Sequence[str], game: Game | None = None
) -> tuple[Description, dict[str, np.ndarray]]:
    """Read a table file of one of these kinds, for `game` (None: any), and check its tensors against the checksum.
    Raises InputError."""
    description, tensors = read_file(path, "table file", VERSION, _description)
    if description.kind not in kinds:
        raise InputError(
            f"{path} is a table of kind {description.kind!r}; here one of kind {' or '.join(kinds)} is needed"
        )
    if game is not None and description.game != game.name:
        raise InputError(f"{path} is a table of {description.game}, not of {game.name}")
    if checksum(tensors) != description.sha256:
        raise InputError(
            f"{path} is damaged: its tensors do not have the checksum {description.sha256[:16]}... it names"
        )
    return description, tensors


def _description(fields: dict[str, Any]) -> Description:
    """The metadata of the file; every field has the type it should have."""
    texts = {name: "" + fields[name] for name in ("kind", "game", "covers", "units", "mark", "sha256")}
    if not isinstance(fields["symmetric"], bool) or not isinstance(fields["made"], dict):
        raise TypeError("symmetric must be true or false, and made an object")
    return Description(**(fields | texts))


# --- where files are ------------------------------------------------------------------------------------------------


def data_folder() -> Path:
    """Where tables that this machine has built are kept: `$DELTAW_DATA`, or the user's data folder."""
    if os.environ.get("DELTAW_DATA"):
        return Path(os.environ["DELTAW_DATA"])
    base = os.environ.get("XDG_DATA_HOME") or os.path.join(os.path.expanduser("~"), ".local", "share")
    return Path(base) / "deltaw"


def find_databases(game: Game) -> dict[str, Path]:
    """Names and files of the tables of a game, shipped and built here (which hide shipped ones of the same name):
    `GAME_NAME.table` is called NAME."""
    prefix = f"{game.name}_"
    folders = (Path(str(resources.files("deltaw.checkpoints"))), data_folder())
    files = [file for folder in folders if folder.is_dir() for file in sorted(folder.glob(f"{prefix}*{SUFFIX}"))]
    return {file.name.removeprefix(prefix).removesuffix(SUFFIX): file for file in files}
