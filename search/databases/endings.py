"""Databases of endings by slices: one number for every position with few pieces.

A game numbers its positions slice by slice (`Slices` of `envs/game.py`), so that nothing but the answers is stored, at
the place of the position's number, in one of three forms:

    2 bits     0 a draw, 1 won, 2 lost, 3 no position
    8 bits     a draw 0, won in d plies d + 1, lost in d plies -(d + 1); -128: no position
    16 bits    the same, low byte first; -32768: no position

`search/databases/slices.py` builds these databases. They do not see what has happened before a position: a draw by
repetition, or by a limit of moves without progress. A position that they call drawn is one in which nobody can force a
win; one that they call won may be drawn by such a limit where the way is long.

In memory a database is the numbers, one slice after the other, and looking one up takes no search. On disk the numbers
are compressed by Zstandard, in blocks of 1 MiB of a slice. The file is one of `search/databases/database.py` of the
kind `slices`, with the tensors

    slices     int64 [S, 3], ascending     code, how many numbers, and bits of a number
    blocks     int64 [B]                   compressed bytes of each block, slice by slice
    packed     int8, flat                  the blocks

Letters: S slices, B blocks.
"""

from __future__ import annotations

import functools
import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import zstandard

from deltaw.envs.errors import InputError
from deltaw.envs.game import Game, Slices
from deltaw.envs.kernel import kernel
from deltaw.envs.memory import check_memory
from deltaw.search.databases.database import (
    OUTCOME,
    SLICES,
    AnyDatabase,
    Description,
    Entry,
    find_key,
    informed,
    load_databases,
    program_version,
    write_table,
)
from deltaw.search.evaluators.leaf import Leaf, certain
from deltaw.search.tree.deep import Known

CODES, BEGINS, FORMS = range(3)
"""rows of `Facts.slices`"""
VALUES, BYTES, WORDS = 2, 8, 16
"""bits of a number"""
UNKNOWN_DISTANCE = -1
ABSENT = -(1 << 15)
"""an entry of 16 bits at a number that is no position"""
BLOCK = 1 << 20
"""bytes of a slice that are compressed together"""
LEVEL, QUICK_LEVEL = 19, 3
"""of Zstandard. Measured, checkers with 4 pieces: 3 is a quarter larger, and takes a sixtieth of the time"""
MARKS = 8
"""positions of a slice that tell whether a file was made with the numbers of today"""


class Facts(NamedTuple):
    """A database as kernels take it."""

    slice_of: Any
    index: Any
    """of the game's `Slices`"""
    slices: np.ndarray
    """int64 [3, S]: codes, ascending; where in `data` a slice begins; bits of a number"""
    data: np.ndarray
    """uint8, flat"""


@kernel
def probe(facts, state):
    """(whether the running game `state` is known, its value for the mover, plies to the end or UNKNOWN_DISTANCE)."""
    code, codes = facts.slice_of(state), facts.slices[CODES]
    nothing = False, np.int64(0), np.int64(UNKNOWN_DISTANCE)
    if code < 0 or len(codes) == 0 or code > codes[len(codes) - 1]:
        return nothing
    place = find_key(codes, code)
    if place < 0:
        return nothing
    return read_entry(facts.data, facts.slices[BEGINS, place], facts.slices[FORMS, place], facts.index(state))


@kernel
def read_entry(data, begin, form, index):
    """The entry with this number in a slice that begins at data[begin], as `probe` returns it."""
    if form == VALUES:
        bits = np.int64(data[begin + (index >> 2)]) >> 2 * (index & 3) & 3
        return bits != 3, bits - 3 * (bits >> 1), np.int64(UNKNOWN_DISTANCE)
    if form == BYTES:
        entry = np.int64(data[begin + index])
    else:
        entry = np.int64(data[begin + 2 * index]) | np.int64(data[begin + 2 * index + 1]) << 8
    least = np.int64(1) << form - 1
    entry -= entry // least * 2 * least
    return entry != -least, np.int64(np.sign(entry)), abs(entry) - 1


# --- in memory --------------------------------------------------------------------------------------------------------


class Slice(NamedTuple):
    """The answers of one slice."""

    form: int
    data: np.ndarray
    """uint8 [n]"""


def packed_slice(entries: np.ndarray, distances: bool) -> Slice:
    """The smallest form of the entries int16 [n], which are as in 16 bits; with distances or without them."""
    if not distances:
        bits = np.where(entries == ABSENT, 3, np.where(entries < 0, 2, entries > 0)).astype(np.uint8)
        bits = np.concatenate([bits, np.zeros(-len(bits) % 4, np.uint8)]).reshape(-1, 4)
        return Slice(VALUES, bits[:, 0] | bits[:, 1] << 2 | bits[:, 2] << 4 | bits[:, 3] << 6)
    if np.abs(np.where(entries == ABSENT, 0, entries)).max(initial=0) < 1 << 7:
        return Slice(BYTES, np.maximum(entries, -(1 << 7)).astype(np.int8).view(np.uint8))
    return Slice(WORDS, entries.astype("<i2").view(np.uint8))


def make_facts(slices: Slices, known: Mapping[int, Slice]) -> Facts:
    """The slices, by their codes, as kernels take them."""
    codes = sorted(known)
    lengths = [len(known[code].data) for code in codes]
    begins = np.cumsum([0, *lengths])[: len(codes)]
    table = np.array([codes, begins, [known[code].form for code in codes]], np.int64)
    data = np.concatenate([np.empty(0, np.uint8), *(known[code].data for code in codes)])
    return Facts(slices.slice_of, slices.index, table, data)


@dataclass(frozen=True)
class EndingDatabase(AnyDatabase):
    """Solved positions of a game with slices."""

    game: Game
    description: Description
    slices: dict[int, Slice]
    """by code"""
    facts: Facts

    def __len__(self) -> int:
        return sum(slices_of(self.game).size(code) for code in self.slices)

    def find(self, state: Any) -> Entry | None:
        over, result = self.game.rules.outcome(state)
        if over:
            return Entry(int(result), 0)
        known, value, distance = probe(self.facts, state)
        if not known:
            return None
        return Entry(int(value), None if value == 0 or distance == UNKNOWN_DISTANCE else int(distance))


def slices_of(game: Game) -> Slices:
    """How the game numbers its endings. Raises InputError for one that does not."""
    if game.slices is None:
        raise InputError(f"{game.name} does not number its endings by pieces; name a position with --from instead")
    return game.slices


def make_endings(game: Game, slices: Mapping[int, Slice], *, covers: str, command: str = "") -> EndingDatabase:
    """A database of these slices, by their codes."""
    ordered = dict(sorted(slices.items()))
    facts = make_facts(slices_of(game), ordered)
    digest = hashlib.sha256(facts.slices.tobytes() + facts.data.tobytes()).hexdigest()
    made = {"command": command, "version": program_version()}
    mark = numbering_mark(slices_of(game), ordered)
    return EndingDatabase(
        game, Description(SLICES, game.name, covers, OUTCOME, False, mark, made, digest), ordered, facts
    )


def numbering_mark(slices: Slices, codes: Mapping[int, Any]) -> str:
    """A digest of some positions of each slice: if a game comes to number its positions otherwise, old files are
    refused instead of answering at random."""
    digest = hashlib.sha256()
    for code in sorted(codes):
        size = slices.size(code)
        for i in range(MARKS):
            exists, state = slices.position(code, np.int64((size - 1) * i // (MARKS - 1)))
            digest.update(f"{code} {size} {exists} {[int(field) for field in state]}\n".encode())
    return digest.hexdigest()[:16]


# --- as an evaluator ------------------------------------------------------------------------------------------------


def with_endings(leaf: Leaf, database: EndingDatabase) -> Leaf:
    """A leaf that is exact where the database knows the position, and says what `leaf` says elsewhere."""
    return informed(leaf, _evaluating(leaf.evaluate), database.facts)


@functools.cache
def _evaluating(evaluate: Any) -> Any:
    @kernel
    def evaluate_or_probe(rules, weights, state, work):
        known, value, _ = probe(weights.facts, state)
        if not known or rules.outcome(state)[0]:
            return evaluate(rules, weights, state, work)
        certain(weights, np.float64(value), work)
        return np.float64(value)

    return evaluate_or_probe


# --- the file ---------------------------------------------------------------------------------------------------------


def save_endings(database: EndingDatabase, path: str | Path, level: int = LEVEL) -> None:
    """Write the file whole or not at all."""
    slices = slices_of(database.game)
    compressor, blocks = zstandard.ZstdCompressor(level=level), list[bytes]()
    for part in database.slices.values():
        blocks += [compressor.compress(part.data[at : at + BLOCK].tobytes()) for at in range(0, len(part.data), BLOCK)]
    table = [(code, slices.size(code), part.form) for code, part in database.slices.items()]
    tensors: dict[str, np.ndarray] = {
        "slices": np.array(table, np.int64).reshape(-1, 3),
        "blocks": np.array([len(block) for block in blocks], np.int64),
        "packed": np.frombuffer(b"".join(blocks), np.int8),
    }
    write_table(path, database.description, tensors)


def read_endings(
    path: str | Path, description: Description, tensors: dict[str, np.ndarray], game: Game | None
) -> EndingDatabase:
    """The database that these tensors hold. Raises InputError."""
    from deltaw.envs import games

    game = game or games.load(description.game)
    shapes = {name: (tensor.dtype.name, tensor.shape[1:]) for name, tensor in tensors.items()}
    if shapes != {"slices": ("int64", (3,)), "blocks": ("int64", ()), "packed": ("int8", ())}:
        raise InputError(f"{path} should hold slices, blocks and packed, but holds {', '.join(sorted(tensors))}")
    lengths = _check_slices(path, slices_of(game), tensors["slices"].tolist())
    check_memory(2 * sum(lengths), f"{path}, unpacked,")
    unpacked = _unpacked(path, lengths, tensors["blocks"].tolist(), tensors["packed"].tobytes())
    found = {
        code: Slice(form, data) for (code, _, form), data in zip(tensors["slices"].tolist(), unpacked, strict=True)
    }
    database = EndingDatabase(game, description, found, make_facts(slices_of(game), found))
    if description.units != OUTCOME or description.mark != numbering_mark(slices_of(game), found):
        raise InputError(f"{path} was made with other numbers than those {game.name} has now: build it again")
    return database


def _check_slices(path: str | Path, slices: Slices, table: list[list[int]]) -> list[int]:
    """Bytes of each slice. Raises InputError for slices that do not fit the game."""
    codes = [code for code, _, _ in table]
    if codes != sorted(set(codes)) or min(codes, default=0) < 0:
        raise InputError(f"{path} holds slices that are not ascending")
    for code, size, form in table:
        if size != slices.size(code) or form not in (VALUES, BYTES, WORDS):
            raise InputError(
                f"{path} holds {size} numbers of {form} bits for the slice {slices.name(code)}; "
                f"{slices.size(code)} of {VALUES}, {BYTES} or {WORDS} are right"
            )
    return [-(-size * form // 8) for _, size, form in table]


def _unpacked(path: str | Path, lengths: list[int], blocks: list[int], packed: bytes) -> list[np.ndarray]:
    """The bytes of each slice."""
    wanted = [min(BLOCK, length - at) for length in lengths for at in range(0, length, BLOCK)]
    if len(wanted) != len(blocks) or min(blocks, default=0) < 0 or sum(blocks) != len(packed):
        raise InputError(f"{path} holds {len(blocks)} blocks of {sum(blocks)} bytes; they do not fit its slices")
    decompressor, at, parts = zstandard.ZstdDecompressor(), 0, list[bytes]()
    for length, compressed in zip(wanted, blocks, strict=True):
        block = packed[at : at + compressed]
        at += compressed
        try:
            if zstandard.frame_content_size(block) != length:
                raise InputError(f"{path} holds a block that is not as long as its slice says")
            parts.append(decompressor.decompress(block))
        except zstandard.ZstdError as error:
            raise InputError(f"{path} holds a damaged block: {error}") from None
    joined = np.frombuffer(b"".join(parts), np.uint8)
    return np.split(joined, np.cumsum(lengths)[:-1]) if lengths else []


def find_endings(game: Game) -> EndingDatabase | None:
    """All that the databases which `find_databases` lists know about endings by slices; None where there are none.
    Raises InputError for a damaged file."""
    found = [database for database in load_databases(game) if isinstance(database, EndingDatabase)]
    if len(found) < 2:
        return found[0] if found else None
    slices: dict[int, Slice] = {}
    for database in found:  # of one slice the form that says most
        slices |= {c: part for c, part in database.slices.items() if c not in slices or part.form > slices[c].form}
    return make_endings(game, slices, covers=", ".join(database.description.covers for database in found))


def known_endings(game: Game) -> Known | None:
    """What `find_endings` finds, as the engine asks it."""
    found = find_endings(game)
    return None if found is None else as_known(found)


def as_known(database: EndingDatabase) -> Known:
    return Known(probe, database.facts, int(database.description.sha256[:15], 16))
