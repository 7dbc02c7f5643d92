"""Play chess in any graphical program that knows UCI engines: `deltaw uci`.

    deltaw uci
    deltaw uci --evaluator mine.safetensors

docs/uci.md tells how to add the engine to such a program, and what it can set.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Sequence

from deltaw.envs import games
from deltaw.envs.cli import Parser, guarded
from deltaw.envs.errors import InputError
from deltaw.search.doors.lines import BLOCK
from deltaw.search.doors.uci import UciDoor, converse
from deltaw.search.evaluators.named import default_name


def parser() -> Parser:
    parse = Parser("deltaw uci", description="Play chess in a program that speaks UCI (docs/uci.md).")
    parse.add_argument(
        "--evaluator", help="a name or a file (default: the shipped network, or the game's first baseline)"
    )
    return parse


@guarded
def main(argv: Sequence[str] | None = None) -> int:
    options = parser().parse_args(argv)
    lock = threading.Lock()

    def write(line: str) -> None:
        with lock:
            sys.stdout.write(line + "\n")
            sys.stdout.flush()

    door = UciDoor(options.evaluator or default_name(games.load("chess")), write)
    if sys.stdin is None:
        raise InputError("there is no standard input to read commands from")
    # Raw and unbuffered: a thread that still reads when the program ends holds no lock of Python's.
    with open(sys.stdin.fileno(), "rb", buffering=0, closefd=False) as source:
        converse(door, lambda: source.read(BLOCK) or b"")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
