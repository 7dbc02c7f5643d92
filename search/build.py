"""Build a database of solved positions, or check one: `deltaw build`.

    deltaw build tic_tac_toe complete            every position of the game, solved backwards
    deltaw build nim endgame --from 3-4-5        every position that can be reached from these
    deltaw build connect_four book --plies 8     every position of the first plies, by the game's solver
    deltaw build chess book --plies 20 --from-games FILE.pgn    in Polyglot's format, what was played in these games
    deltaw build backgammon bearoff              how many rolls every home position needs
    deltaw build --check FILE                    is this file whole, and what is in it?

The file is written whole when all is done: Ctrl-C leaves nothing behind. (With --pieces it leaves the slices that are
solved, in a folder beside the file, and the same command goes on from there.) Without --out it goes to the data folder
(`$DELTAW_DATA`, or deltaw in the user's data folder), where players find it by itself.
"""

from __future__ import annotations

import contextlib
import hashlib
import shlex
import sys
from argparse import Namespace
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from deltaw.envs import games
from deltaw.envs.cli import Parser, guarded
from deltaw.envs.errors import InputError
from deltaw.envs.game import Game
from deltaw.envs.record import read_games
from deltaw.search.databases.bearoff import CHECKERS, build_bearoff, load_bearoff, save_bearoff
from deltaw.search.databases.bearoff_pairs import PAIR_CHECKERS, build_pairs
from deltaw.search.databases.book import make_book
from deltaw.search.databases.database import (
    BEAROFF,
    BOOK,
    ENDGAME,
    SLICES,
    SUFFIX,
    data_folder,
    load_database,
    read_table,
    save_database,
)
from deltaw.search.databases.endings import save_endings, slices_of
from deltaw.search.databases.polyglot import SUFFIX as POLYGLOT
from deltaw.search.databases.polyglot import book_of, load_polyglot
from deltaw.search.databases.retrograde import MOST_POSITIONS, Report, retrograde
from deltaw.search.databases.slices import build_endings, remove_parts
from deltaw.search.evaluators.evaluator import write_whole
from deltaw.search.players.threads import cores

COMPLETE = "complete"
KINDS = (COMPLETE, ENDGAME, BOOK, BEAROFF)


def parser() -> Parser:
    p = Parser(prog="deltaw build", description="Build a database of solved positions, or check one.")
    p.add_argument("game", nargs="?", help=f"one of {', '.join(games.names())}")
    p.add_argument("kind", nargs="?", choices=KINDS, help="what to build")
    p.add_argument("--out", metavar="FILE", help="where to (default: the data folder)")
    p.add_argument(
        "--from",
        dest="roots",
        action="append",
        metavar="POSITION",
        help="endgame, book: where to begin; may be repeated; write --from=POSITION for one that begins with a -",
    )
    p.add_argument(
        "--from-games",
        dest="played",
        action="append",
        metavar="FILE",
        help="book of chess: from the games of this file, in Polyglot's format; may be repeated",
    )
    p.add_argument(
        "--pieces", help="endgame: of which pieces; checkers: how many, such as 4; chess: such as KRK, or KPK,KBNK"
    )
    p.add_argument("--plies", type=int, help="book: how deep")
    p.add_argument("--no-symmetry", action="store_true", help="keep mirrored and turned positions apart")
    p.add_argument(
        "--limit", type=int, default=MOST_POSITIONS, help="give up at more positions than this (default %(default)s)"
    )
    p.add_argument(
        "--checkers", type=int, default=CHECKERS, help="bearoff: most checkers of a side (default %(default)s)"
    )
    p.add_argument(
        "--pairs",
        type=int,
        help=f"bearoff: up to so many checkers a side both sides are looked at; 0: never (default {PAIR_CHECKERS})",
    )
    p.add_argument("--check", metavar="FILE", help="check a file instead of building one")
    return p


@guarded
def main(argv: Sequence[str] | None = None) -> int:
    arguments = list(sys.argv[1:] if argv is None else argv)
    options = parser().parse_args(arguments)
    check_options(options)
    if options.check:
        path = Path(options.check)
    else:
        game = games.load(options.game)
        if options.pieces:
            slices_of(game).read(options.pieces)  # raises what is wrong before it becomes a file's name
        suffix = POLYGLOT if options.played else SUFFIX
        path = Path(options.out) if options.out else data_folder() / f"{game.name}_{file_name(options)}{suffix}"
        command = "deltaw build " + shlex.join(without_out(arguments))
        with progress_bar(BUILDING[options.kind]) as report:
            build(game, options, command, report)(path)
    show(path)
    return 0


def check_options(options: Namespace) -> None:
    """InputError for options that do not go together, or numbers out of range."""
    if options.check and (options.game or options.kind):
        raise InputError("--check looks at a file: name no game and no kind with it")
    if not options.check and not (options.game and options.kind):
        raise InputError(f"name a game and what to build, one of {', '.join(KINDS)}")
    if (options.kind == BOOK) != (options.plies is not None):
        raise InputError("a book needs --plies, and nothing else has plies")
    if options.kind == ENDGAME and bool(options.roots) == bool(options.pieces):
        raise InputError("an endgame database needs --from or --pieces, one of them")
    if options.pieces and options.kind != ENDGAME:
        raise InputError("--pieces is for endgame databases")
    if options.roots and options.kind not in (ENDGAME, BOOK):
        raise InputError("--from is for endgame databases and books")
    if options.played and (options.kind != BOOK or options.roots):
        raise InputError("--from-games is for books, and begins where the games do: leave out --from")
    if options.played and options.plies < 1:
        raise InputError(f"a book of games needs --plies of at least 1, not {options.plies}")
    if options.limit < 1:
        raise InputError(f"--limit must be at least 1, not {options.limit}")


def without_out(arguments: Sequence[str]) -> list[str]:
    """The arguments that decide what is in the file."""
    kept, skip = [], False
    for argument in arguments:
        if not skip and not argument.startswith("--out"):
            kept.append(argument)
        skip = argument == "--out"
    return kept


def file_name(options: Namespace) -> str:
    """NAME of GAME_NAME.table."""
    if options.pieces:
        return f"{ENDGAME}_{options.pieces.upper().replace(',', '_')}"
    return f"{BOOK}_{options.plies}" if options.kind == BOOK else options.kind


BUILDING = {COMPLETE: "positions", ENDGAME: "positions", BOOK: "positions solved", BEAROFF: "steps"}
"""what the progress bar counts"""


def build(game: Game, options: Namespace, command: str, report: Report) -> Callable[[Path], None]:
    """Computes what was asked for; returns what writes it to a path."""
    if options.played:
        played = [record for file in options.played for record in read_games(game, file)]
        book = book_of(game, played, options.plies)
        return lambda path: write_whole(path, book.records.tobytes())
    if options.kind == BEAROFF:
        table = build_bearoff(game, options.checkers, report)
        pairs = min(PAIR_CHECKERS, options.checkers) if options.pairs is None else options.pairs
        if pairs > options.checkers:
            raise InputError(f"--pairs {pairs} is more than --checkers {options.checkers}")
        if pairs:
            table = replace(table, pairs=build_pairs(game, pairs, report))
        return lambda path: save_bearoff(table, path, command)
    if options.pieces:
        return lambda path: build_slices(game, options.pieces, path, command, report)
    shared: dict[str, Any] = {
        "symmetric": not options.no_symmetry,
        "command": command,
        "limit": options.limit,
        "report": report,
    }
    roots = [game.read_position(text) for text in options.roots] if options.roots else None
    origin = ", ".join(options.roots or ["the start"])
    if options.kind == BOOK:
        covers = f"every position up to {options.plies} plies from {origin}"
        database = make_book(game, options.plies, roots, covers=covers, **shared)
    else:
        database = retrograde(game, roots, covers=f"every position that can be reached from {origin}", **shared)
    return lambda path: save_database(database, path)


def build_slices(game: Game, pieces: str, path: Path, command: str, report: Report) -> None:
    """Unlike the others it takes long enough to keep what is done on the way."""
    save_endings(build_endings(game, pieces, path, command=command, threads=cores(), report=report), path)
    remove_parts(path)


@contextlib.contextmanager
def progress_bar(what: str) -> Iterator[Report]:
    """A function (done, of so many) that shows how far the work is; silent when stderr is no terminal."""
    if not sys.stderr.isatty():
        yield lambda done, total: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (BarColumn(), MofNCompleteColumn(), TextColumn(what), TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("", total=None)
        yield lambda done, total: bar.update(task, completed=done, total=total)


def show(path: Path) -> None:
    """Checks the file and says what it holds."""
    if path.suffix == POLYGLOT:
        polyglot = load_polyglot(path, games.load("chess"))
        positions = len(np.unique(polyglot.records["key"]))
        lines = {"holds": f"chess, book: moves of {positions:,} positions", "values": "weights"}
        entries = len(polyglot)
    else:
        description, _ = read_table(path, (ENDGAME, BOOK, SLICES, BEAROFF))
        entries = len(load_bearoff(path)) if description.kind == BEAROFF else len(load_database(path))
        lines = {
            "holds": f"{description.game}, {description.kind}: {description.covers}",
            "values": f"{description.units}, one a symmetry class" if description.symmetric else description.units,
            "made by": description.made.get("command", ""),
        }
    data = path.read_bytes()
    lines = {
        "file": str(path),
        **lines,
        "entries": f"{entries:,}",
        "bytes": f"{len(data):,}",
        "sha256": hashlib.sha256(data).hexdigest(),
    }
    for name, text in lines.items():
        print(f"{name:8} {text}")


if __name__ == "__main__":
    raise SystemExit(main())
