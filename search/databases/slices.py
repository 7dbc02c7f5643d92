"""Retrograde analysis by slices: every position with few pieces of a large game (`search/databases/endings.py`).

`search/databases/retrograde.py` follows the moves from roots, and keeps the positions that it finds. Here the positions
are numbers from the beginning, and nothing of a position is kept but what is known of it. Two slices whose positions
lead to each other, a group, are solved together, after all slices to which captures and promotions lead.

    1  explore     the moves of every position of the group, once. Of moves that leave the group the values are known:
                   the soonest win, the latest loss, whether there is a draw. The other moves are counted
    2  reverse     they become lists of predecessors
    3  settle      level by level, level d being the positions won or lost in d plies: a position is won one level after
                   the first of its moves that wins, and lost one level after the last of its moves that loses
    4  the rest    are draws

A finished group is written to a file of its own, so that a build which was stopped goes on from there.

Distances are kept of a slice with at most `MOST_WITH_DISTANCES` numbers, as long as all slices to which it leads have
them; of others only the value, in two bits. Memory: about 30 bytes a number and 8 bytes a move that stays in the group.

Letters: N numbers in a group, E moves in it.

Sources: K. Thompson, "Retrograde analysis of certain endgames", ICCA Journal 9 (1986); R. Lake, J. Schaeffer, P. Lu,
"Solving large retrograde analysis problems using a network of workstations" (1994).
"""

from __future__ import annotations

import contextlib
import shutil
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from graphlib import TopologicalSorter
from pathlib import Path
from typing import NamedTuple

import numpy as np
from filelock import FileLock, Timeout

from deltaw.envs.errors import InputError
from deltaw.envs.game import Game, Slices
from deltaw.envs.kernel import kernel
from deltaw.envs.memory import check_memory
from deltaw.search.databases.database import load_database
from deltaw.search.databases.endings import (
    ABSENT,
    QUICK_LEVEL,
    VALUES,
    EndingDatabase,
    Facts,
    Slice,
    find_endings,
    make_endings,
    make_facts,
    packed_slice,
    probe,
    save_endings,
    slices_of,
)
from deltaw.search.databases.retrograde import Report

MOST_WITH_DISTANCES = 1 << 25
CHUNK = 1 << 14
"""positions explored in one call of a kernel: some hundredths of a second"""
BYTES_A_NUMBER, BYTES_A_MOVE, USUAL_MOVES = 30, 8, 8
PARTS, LOCK = ".parts", ".lock"
"""what the name of the folder of finished groups ends with, and the file there that one process locks"""

Group = tuple[int, ...]
"""the codes of one slice that leads to itself, or of two that lead to each other"""


class Board(NamedTuple):
    """What is known of the positions of a group."""

    entries: np.ndarray
    """int16 [N]: as `search/databases/endings.py` stores them in 16 bits; 0: undecided, or a draw"""
    due: np.ndarray
    """int16 [N]: moves that leave the group win in so many plies, below 0: lose so late; 0: neither"""
    undecided: np.ndarray
    """int16 [N]: moves not known to lose; one more where a move that leaves the group does not"""
    degrees: np.ndarray
    """int16 [N]: moves that stay in the group"""


# --- 1: explore -------------------------------------------------------------------------------------------------------


@kernel
def explore(rules, position, facts, codes, begins, board, begin, end, moves, rows, children):
    """Fills in the positions begin .. end - 1, and writes the numbers to which their moves in the group lead to
    `children`; returns how many there are, or -1 - p where position p leads to one that nobody knows.

    Slice codes[i] has the numbers begins[i] .. begins[i + 1] - 1.
    """
    count, place = np.int64(0), 0
    for p in range(begin, end):
        while p >= begins[place + 1]:
            place += 1
        exists, state = position(codes[place], p - begins[place])
        if not exists:
            board.entries[p] = ABSENT
            continue
        over, result = rules.outcome(state)
        if over:
            board.entries[p] = np.sign(result)
            continue
        first, wins, loses, draws = count, np.int64(0), np.int64(0), False
        for i in range(rules.expand(state, moves, rows)):
            child = rules.load(rows[i])
            code = facts.slice_of(child)
            if code == codes[0] or code == codes[len(codes) - 1]:
                children[count] = begins[0 if code == codes[0] else 1] + facts.index(child)
                count += 1
                continue
            known, value, distance = probe(facts, child)
            if not known:
                known, value = rules.outcome(child)
                distance = np.int64(0)
            if not known:
                return -1 - p
            plies = max(distance, 0) + 1
            if value < 0:
                wins = min(wins, plies) if wins else plies
            elif value > 0:
                loses = max(loses, plies)
            else:
                draws = True
        board.degrees[p] = count - first
        board.undecided[p] = count - first + (1 if draws or wins else 0)
        board.due[p] = wins if wins else -loses
    return count


def _explore(game: Game, facts: Facts, group: Group, board: Board, threads: int, report: Report) -> list[np.ndarray]:
    """The children of all positions, chunk by chunk."""
    slices = slices_of(game)
    codes, begins = np.array(group, np.int64), _begins(slices, group)
    total, most = int(begins[-1]), game.rules.max_moves

    def run(begin: int) -> np.ndarray:
        end, children = min(begin + CHUNK, total), np.empty(CHUNK * most, np.int32)
        count = explore(game.rules, slices.position, facts, codes, begins, board, begin, end, *game.buffers(), children)
        if count < 0:
            raise ValueError(
                f"{game.name}: number {-1 - count} of {_names(slices, group)} leads to an unknown position"
            )
        return children[:count].copy()

    found = []
    pool = ThreadPoolExecutor(threads)
    try:
        for i, children in enumerate(pool.map(run, range(0, total, CHUNK))):
            found.append(children)
            report(min((i + 1) * CHUNK, total), total)
    finally:
        pool.shutdown(cancel_futures=True)
    return found


def _begins(slices: Slices, group: Group) -> np.ndarray:
    return np.cumsum([0, *(slices.size(code) for code in group)], dtype=np.int64)


# --- 2: reverse -------------------------------------------------------------------------------------------------------


@kernel
def count_parents(children, ends):
    for i in range(len(children)):
        ends[children[i]] += 1


@kernel
def enter_parents(children, degrees, begin, end, ends, parents):
    """Enters the positions begin .. end - 1, whose moves lead to `children`, among the predecessors; ends[c] goes down
    to where those of c begin."""
    i = 0
    for p in range(begin, end):
        for _ in range(degrees[p]):
            ends[children[i]] -= 1
            parents[ends[children[i]]] = p
            i += 1


def _reverse(found: list[np.ndarray], degrees: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(begins int64 [N + 1], parents int32 [E]): the predecessors of p are parents[begins[p] : begins[p + 1]]."""
    ends = np.zeros(len(degrees) + 1, np.int64)
    for children in found:
        count_parents(children, ends)
    np.cumsum(ends, out=ends)
    parents = np.empty(int(ends[-1]), np.int32)
    for i, children in enumerate(found):
        begin = i * CHUNK
        enter_parents(children, degrees, begin, min(begin + CHUNK, len(degrees)), ends, parents)
    return ends, parents


# --- 3: settle --------------------------------------------------------------------------------------------------------


@kernel
def settle_level(level, scheduled, board, begins, parents, queue, first, end):
    """Decides the positions won or lost in `level` plies; returns the new end of the queue. queue[first:end] are those
    of the level before, `scheduled` those whose moves out of the group win or lose on this level."""
    entries, due, undecided = board.entries, board.due, board.undecided
    filled = end
    for i in range(first, end):
        child = queue[i]
        for edge in range(begins[child], begins[child + 1]):
            p = parents[edge]
            if entries[p] != 0:
                continue
            if entries[child] < 0:
                entries[p] = level + 1
            else:
                undecided[p] -= 1
                if undecided[p] == 0 and -due[p] <= level:
                    entries[p] = -(level + 1)
            if entries[p] != 0:
                queue[filled] = p
                filled += 1
    for i in range(len(scheduled)):
        p = scheduled[i]
        if entries[p] == 0 and (due[p] > 0 or undecided[p] == 0):
            entries[p] = level + 1 if due[p] > 0 else -(level + 1)
            queue[filled] = p
            filled += 1
    return filled


def _settle(board: Board, begins: np.ndarray, parents: np.ndarray) -> None:
    scheduled = np.flatnonzero(board.due).astype(np.int32)
    levels = np.abs(board.due[scheduled])
    order = np.argsort(levels, kind="stable")
    scheduled, levels = scheduled[order], levels[order]
    last, at = int(levels[-1]) if len(levels) else 0, 0
    decided = np.flatnonzero((board.entries != 0) & (board.entries != ABSENT))
    queue = np.empty(len(board.entries), np.int32)
    queue[: len(decided)] = decided
    first, end, level = 0, len(decided), 0
    while first < end or level < last:
        level += 1
        until = int(np.searchsorted(levels, level, side="right"))
        first, end = end, int(settle_level(level, scheduled[at:until], board, begins, parents, queue, first, end))
        at = until


# --- a group, and all of them -----------------------------------------------------------------------------------------


def solve_group(
    game: Game, group: Group, known: Mapping[int, Slice], threads: int = 1, report: Report = lambda done, total: None
) -> dict[int, Slice]:
    """The slices of a group. Precondition: `known` has all others to which they lead."""
    slices = slices_of(game)
    needed = _following(slices, group)
    begins = _begins(slices, group)
    board = Board(*(np.zeros(int(begins[-1]), np.int16) for _ in Board._fields))
    facts = make_facts(slices, {code: known[code] for code in needed})
    found = _explore(game, facts, group, board, threads, report)
    parents = _reverse(found, board.degrees)
    del found
    _settle(board, *parents)
    with_distances = all(known[code].form != VALUES for code in needed)
    return {
        code: packed_slice(board.entries[low:high], with_distances and high - low <= MOST_WITH_DISTANCES)
        for code, low, high in zip(group, begins[:-1], begins[1:], strict=True)
    }


def _check_room(slices: Slices, group: Group) -> None:
    """InputError for a group that is too large to be solved."""
    total, name = int(_begins(slices, group)[-1]), _names(slices, group)
    if total > np.iinfo(np.int32).max:
        raise InputError(f"{name}: {total:,} positions; fewer than 2^31 can be solved at once")
    check_memory(total * (BYTES_A_NUMBER + BYTES_A_MOVE * USUAL_MOVES), f"solving {total:,} positions of {name}")


def groups_of(slices: Slices, wanted: Sequence[int]) -> list[Group]:
    """The groups of the slices `wanted` and of all to which they lead, each after those to which it leads itself."""
    graph: dict[Group, set[Group]] = {}
    waiting = [_group(slices, code) for code in wanted]
    while waiting:
        group = waiting.pop()
        if group not in graph:
            graph[group] = {_group(slices, code) for code in _following(slices, group)}
            waiting += graph[group]
    return list(TopologicalSorter({group: sorted(graph[group]) for group in sorted(graph)}).static_order())


def _group(slices: Slices, code: int) -> Group:
    """The slice with the one to which it leads and which leads back."""
    return tuple(sorted({code, *(other for other in slices.following(code) if code in slices.following(other))}))


def _following(slices: Slices, group: Group) -> list[int]:
    """The slices outside to which a group leads."""
    return sorted({other for code in group for other in slices.following(code)} - set(group))


def _names(slices: Slices, group: Group) -> str:
    return " and ".join(map(slices.name, group))


def build_endings(
    game: Game,
    pieces: str,
    path: Path,
    *,
    command: str = "",
    threads: int = 1,
    report: Report = lambda done, total: None,
) -> EndingDatabase:
    """The database of the slices that `pieces` names, and of all to which they lead. Slices of databases that
    `find_databases` lists are taken over. Finished groups are kept in `parts_folder(path)` until `remove_parts`.

    Raises InputError for a game that has no slices, for other pieces than it has, where the memory does not suffice,
    and while another process builds the same file."""
    slices = slices_of(game)
    groups = groups_of(slices, slices.read(pieces))
    sizes = {group: int(_begins(slices, group)[-1]) for group in groups}
    found = find_endings(game)
    known, done, total = dict(found.slices) if found else {}, 0, sum(sizes.values())

    for group in groups:
        if not known.keys() >= set(group):
            _check_room(slices, group)

    def report_group(now: int, of: int) -> None:
        report(done + now, total)

    with _locked(parts_folder(path)) as folder:
        for group in groups:
            if not known.keys() >= set(group):
                file = folder / f"{slices.name(group[0])}.table"
                known |= _kept(file, game, group) or _solved(file, game, group, known, threads, report_group)
            done += sizes[group]
    wanted = {code: known[code] for group in groups for code in group}
    return make_endings(
        game, wanted, covers=f"endings of the pieces {pieces}, and all to which they lead", command=command
    )


def _kept(file: Path, game: Game, group: Group) -> dict[int, Slice]:
    """The slices of a group from its file; nothing where there is no sound one."""
    with contextlib.suppress(InputError):
        found = load_database(file, game)
        if isinstance(found, EndingDatabase) and found.slices.keys() == set(group):
            return found.slices
    return {}


def _solved(
    file: Path, game: Game, group: Group, known: Mapping[int, Slice], threads: int, report: Report
) -> dict[int, Slice]:
    """The slices of a group, solved and written to its file."""
    slices = solve_group(game, group, known, threads, report)
    save_endings(make_endings(game, slices, covers=_names(slices_of(game), group)), file, QUICK_LEVEL)
    return slices


def parts_folder(path: Path) -> Path:
    """Where the finished groups of a build of `path` are kept."""
    return path.with_name(path.name + PARTS)


def remove_parts(path: Path) -> None:
    """What a finished build no longer needs."""
    shutil.rmtree(parts_folder(path), ignore_errors=True)


@contextlib.contextmanager
def _locked(folder: Path) -> Iterator[Path]:
    """The folder, made where it is missing, for this process alone."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with FileLock(folder / LOCK, blocking=False):
            yield folder
    except Timeout:
        raise InputError(f"{folder} is in use by another process: it builds the same database") from None
    except OSError as error:
        raise InputError(f"cannot write to {folder}: {error.strerror or error}") from None
