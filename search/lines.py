"""Answer requests in JSON lines from another program: `deltaw lines`.

    deltaw lines backgammon
    deltaw lines connect_four othello --player linear mine.safetensors

docs/protocol.md has the requests and their answers.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence

from deltaw.envs.cli import Parser, guarded
from deltaw.envs.errors import InputError
from deltaw.search.doors.lines import BLOCK, add_player_options, converse, pace_of
from deltaw.search.doors.offer import make_offer
from deltaw.search.doors.protocol import (
    Protocol,
)


def parser() -> Parser:
    parse = Parser("deltaw lines", description="Answer JSON lines from standard input (docs/protocol.md).")
    parse.add_argument("games", nargs="+", metavar="GAME", help="a game, such as backgammon")
    add_player_options(parse)
    return parse


@guarded
def main(argv: Sequence[str] | None = None) -> int:
    options = parser().parse_intermixed_args(argv)
    protocol = Protocol(make_offer(options.games, options.player), pace_of(options.seconds, options.longest))
    if sys.stdin is None:
        raise InputError("there is no standard input to read requests from")
    # Raw and unbuffered: a thread that still reads when the program ends holds no lock of Python's.
    with open(sys.stdin.fileno(), "rb", buffering=0, closefd=False) as source:
        converse(protocol, lambda: source.read(BLOCK) or b"", _write)
    return 0


def _write(line: bytes) -> None:
    sys.stdout.buffer.write(line)
    sys.stdout.buffer.flush()


if __name__ == "__main__":
    raise SystemExit(main())
