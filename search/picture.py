"""Draw a position, or what a search of it looked at, proved and cut off: `deltaw picture`.

    deltaw picture chess "r1bqkbnr/pppp1ppp/2n5/4p3/4P3/5N2/PPPP1PPP/RNBQKB1R w KQkq - 2 3" --out board.svg
    deltaw picture trees A --depth 2 --algorithm alphabeta --out tree.svg
    deltaw picture tic_tac_toe XO-XO---- --depth 3 --algorithm negascout --out tree.svg

`search/analysis/tree_picture.py` explains how to read the picture.
"""

from __future__ import annotations

import io
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from deltaw.envs import games
from deltaw.envs.cli import Parser, guarded
from deltaw.envs.errors import InputError, short
from deltaw.envs.game import Game
from deltaw.search.analysis.batch import read_position, shielded
from deltaw.search.analysis.tree_picture import draw_tree
from deltaw.search.evaluators.evaluator import write_whole
from deltaw.search.evaluators.named import compiled, default_evaluator, find_evaluator
from deltaw.search.tree.algorithm import Algorithm, find_algorithm


def parser() -> Parser:
    parse = Parser("deltaw picture", description="Draws a position, or with --depth a searched tree as SVG.")
    parse.add_argument("game", help="a game, such as trees")
    parse.add_argument("position", nargs="?", default="start", help="in the game's notation (default: start)")
    parse.add_argument("--depth", type=int, help="moves to search (default: the position is drawn, without a search)")
    parse.add_argument("--algorithm", default="alphabeta", help="a search algorithm (default: alphabeta)")
    parse.add_argument("--evaluator", help="a name or a file (default: the shipped one, or the game's own)")
    parse.add_argument(
        "--set",
        action="append",
        default=[],
        metavar="KNOB=NUMBER",
        help="a knob of the algorithm, such as quiet_plies=2; as often as needed",
    )
    parse.add_argument(
        "--out",
        metavar="FILE",
        help="where to write the picture: a tree as .svg (default: standard output), a position as .svg or .png",
    )
    return parse


def read_options(algorithm: Algorithm, settings: Sequence[str]) -> Any:
    """The algorithm's options with some of them changed: `quiet_plies=2`. Raises InputError."""
    options = algorithm.options
    for setting in settings:
        name, _, text = setting.partition("=")
        if name not in getattr(options, "_fields", ()):
            known = ", ".join(getattr(options, "_fields", ())) or "none"
            raise InputError(f"{algorithm.name} has no knob {name!r}; it has: {known}")
        try:
            options = options._replace(**{name: type(getattr(options, name))(text)})
        except ValueError:
            raise InputError(f"{setting!r}: {name} takes a number, such as {getattr(options, name)}") from None
    return options


def write_board(game: Game, state: Any, path: str | None) -> None:
    """The position as SVG or PNG, by the ending of the file's name. Raises InputError."""
    ending = Path(path or "").suffix.lower()
    if path is None or ending not in (".png", ".svg"):
        raise InputError(f"--out {short(path or '')}: a position goes to a file that ends with .svg or .png")
    if ending == ".png":
        data = io.BytesIO()
        game.draw(state).save(data, "PNG")
        write_whole(path, data.getvalue())
    elif game.svg is not None:
        write_whole(path, game.svg(state).encode())
    else:
        raise InputError(f"{game.name} is not drawn as SVG: name a file that ends with .png")


@guarded
def main(argv: Sequence[str] | None = None) -> int:
    given = parser().parse_intermixed_args(shielded(argv))
    game = games.load(given.game)
    state = read_position(game, given.position.strip(), None)
    if given.depth is None:
        write_board(game, state, given.out)
        print(f"wrote {given.out}")
        return 0
    algorithm = find_algorithm(given.algorithm)
    evaluator = compiled(find_evaluator(game, given.evaluator)) if given.evaluator else default_evaluator(game)
    options = read_options(algorithm, given.set)
    text = draw_tree(game, evaluator, state, given.depth, algorithm, given.out, options=options)
    if given.out is None:
        print(text, end="")
    else:
        print(f"wrote {given.out}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
