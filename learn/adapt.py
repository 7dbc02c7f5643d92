"""Adapt an evaluator to one opponent during play, and measure what that gains: `deltaw adapt`.

    deltaw adapt connect_four START.safetensors points_1 --games 3000 --seeds 1 2 3

`learn/selfplay/adapt.py` explains the method.
"""

from __future__ import annotations

from typing import Any

from rich.console import Console
from rich.table import Table

from deltaw.envs import games as game_files
from deltaw.envs.cli import Parser, guarded
from deltaw.envs.errors import InputError
from deltaw.learn.knobs import Range
from deltaw.learn.selfplay.adapt import POSITIONS, Settings, play_and_adapt
from deltaw.learn.selfplay.opponent_model import NoisyPlayer, OpponentModel
from deltaw.search.evaluators.evaluator import Evaluator
from deltaw.search.evaluators.named import compiled, find_evaluator
from deltaw.search.matches.match import check_two_players
from deltaw.search.players.find import find_player


def parser() -> Parser:
    p = Parser(
        prog="deltaw adapt",
        description="Adapt to one opponent during play, and show what that gains.",
    )
    p.add_argument("game", help=f"one of {', '.join(game_files.names())}")
    p.add_argument("start", help="a linear evaluator or n-tuple network: a shipped one, or a file")
    p.add_argument("opponent", help="a baseline, a shipped evaluator, a file, random")
    p.add_argument("--games", type=int, default=3000, help="even: pairs with seats swapped (default %(default)s)")
    p.add_argument("--seeds", type=int, nargs="+", default=[1, 2, 3], help="one series each (default 1 2 3)")
    p.add_argument(
        "--noise", type=float, default=0.1, help="chance of a random move of the opponent (default %(default)s)"
    )
    p.add_argument("--step-size", type=float, default=0.005, help="c (default %(default)s)")
    p.add_argument("--trace", type=float, default=0.7, help="lambda (default %(default)s)")
    p.add_argument(
        "--explore", type=float, default=0.0, help="chance of a random move of one's own (default %(default)s)"
    )
    p.add_argument("--positions", choices=POSITIONS, default="own", help="to learn from (default %(default)s)")
    p.add_argument(
        "--opening-plies", type=int, default=4, help="random moves at the start, without dice (default %(default)s)"
    )
    p.add_argument(
        "--criteria", help="feature set by which the opponent's habits are counted (default: the game's default)"
    )
    return p


@guarded
def main(argv: list[str] | None = None) -> None:
    options = parser().parse_args(argv)
    check_options(options)
    game = game_files.load(options.game)
    check_two_players(game, "dynamic evaluation")
    start = compiled(find_evaluator(game, options.start))
    if not isinstance(start, Evaluator):
        raise InputError(f"{options.start}: a handmade player has no weights that could change")
    opponent = NoisyPlayer(game, find_player(game, options.opponent, threads=1), options.noise)
    settings = Settings(
        options.step_size, options.trace, options.explore, options.positions == "own", options.opening_plies, 0
    )
    criteria = options.criteria or game.default_features
    table = Table(
        "seed", "frozen", "adapting", "gain", "gain, second half", title=f"{game.title}: against {opponent.name}"
    )
    for seed in options.seeds:
        series = play_and_adapt(start, opponent, options.games, settings._replace(seed=seed), criteria=criteria)
        half = options.games // 4 * 2
        later = series._replace(results=series.results[half:], frozen=series.frozen[half:])
        means = f"{series.frozen.mean():+.3f}", f"{series.results.mean():+.3f}"
        table.add_row(str(seed), *means, *(f"{mean:+.3f} ± {error:.3f}" for mean, error in (series.gain, later.gain)))
    table.caption = f"points a game over the same {options.games} games each; ± is one standard error, from pairs"
    console = Console()
    console.print(table)
    assert series.model is not None
    console.print(habit_table(series.model))


def check_options(options: Any) -> None:
    """InputError for numbers out of range."""
    if options.games < 4 or options.games % 2:
        raise InputError(
            f"games come in pairs with seats swapped: --games must be even and at least 4, not {options.games}"
        )
    for name in ("noise", "trace", "explore"):
        Range(0.0, 1.0).check(f"--{name}", getattr(options, name))
    for seed in options.seeds:
        Range(0, 2**63 - 1).check("--seeds", seed)
    Range(0.0, above=True).check("--step-size", options.step_size)
    Range(0).check("--opening-plies", options.opening_plies)


def habit_table(model: OpponentModel, most: int = 10) -> Table:
    """The opponent's surest habits."""
    table = Table("the opponent makes", "", "choices", "share", "by chance", title="its habits")
    for habit in model.habits()[:most]:
        shares = f"{habit.share:.0%}", f"{habit.by_chance:.0%}"
        table.add_row(habit.criterion, habit.direction, str(habit.decisions), *shares)
    return table


if __name__ == "__main__":
    raise SystemExit(main())
