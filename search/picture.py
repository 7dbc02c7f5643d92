"""Draw what a search looked at, proved and cut off: `deltaw picture`.

    deltaw picture trees A --depth 2 --algorithm alphabeta --out tree.svg
    deltaw picture tic_tac_toe XO-XO---- --depth 3 --algorithm negascout --out tree.svg

`search/analysis/tree_picture.py` explains how to read the picture.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from deltaw.envs import games
from deltaw.envs.cli import Parser, guarded
from deltaw.envs.errors import InputError
from deltaw.search.analysis.batch import read_position, shielded
from deltaw.search.analysis.tree_picture import draw_tree
from deltaw.search.evaluators.named import compiled, default_evaluator, find_evaluator
from deltaw.search.tree.algorithm import Algorithm, find_algorithm


def parser() -> Parser:
    parse = Parser("deltaw picture", description="Draws a searched tree as SVG.")
    parse.add_argument("game", help="a game, such as trees")
    parse.add_argument("position", nargs="?", default="start", help="in the game's notation (default: start)")
    parse.add_argument("--depth", type=int, required=True, help="moves to search")
    parse.add_argument("--algorithm", default="alphabeta", help="a search algorithm (default: alphabeta)")
    parse.add_argument("--evaluator", help="a name or a file (default: the shipped one, or the game's own)")
    parse.add_argument(
        "--set",
        action="append",
        default=[],
        metavar="KNOB=NUMBER",
        help="a knob of the algorithm, such as plies=2; as often as needed",
    )
    parse.add_argument("--out", metavar="FILE", help="where to write the picture (default: standard output)")
    return parse


def read_options(algorithm: Algorithm, settings: Sequence[str]) -> Any:
    """The algorithm's options with some of them changed: `plies=2`. Raises InputError."""
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


@guarded
def main(argv: Sequence[str] | None = None) -> int:
    given = parser().parse_intermixed_args(shielded(argv))
    game = games.load(given.game)
    state = read_position(game, given.position.strip(), None)
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
