"""A picture of strength curves: `python -m learn.plot outputs/backgammon/RUN ... --to strength.png` (extra `plot`)."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from envs.cli import Parser, guarded
from envs.errors import InputError
from learn.strength import INTERVAL


@guarded
def main(argv: list[str] | None = None) -> None:
    parser = Parser(prog="python -m learn.plot", description="Draw the strength curves of runs.")
    parser.add_argument("runs", nargs="+", type=Path, help="folders of runs, or their strength.jsonl")
    parser.add_argument("--to", type=Path, default=Path("strength.png"), help="picture to write (default %(default)s)")
    parser.add_argument("--opponent", default=None, help="against whom (default: the first opponent of the first run)")
    parser.add_argument(
        "--from-games", type=int, default=1, help="leave out what was measured earlier (default %(default)s)"
    )
    options = parser.parse_args(argv)
    curves = {path: read_curve(path, options.opponent, options.from_games) for path in options.runs}
    draw(curves, options.to)
    print(f"wrote {options.to}")


def read_curve(path: Path, opponent: str | None, from_games: int) -> list[dict[str, Any]]:
    """The measurements of one run against one opponent, in order; raises InputError."""
    file = path if path.suffix == ".jsonl" else path / "strength.jsonl"
    try:
        records = [json.loads(line) for line in file.read_text().splitlines()]
    except (OSError, json.JSONDecodeError) as error:
        raise InputError(f"{file} is no strength curve: {error}") from None
    wanted = opponent or (records[0]["opponent"] if records else None)
    curve = [r for r in records if r["opponent"] == wanted and r["games"] >= from_games]
    if not curve:
        raise InputError(f"{file} has no measurement against {wanted!r} after {from_games} games")
    return curve


def draw(curves: dict[Path, list[dict[str, Any]]], target: Path) -> None:
    try:
        import matplotlib

        matplotlib.use("agg")
        from matplotlib import pyplot
    except ImportError:
        raise InputError('drawing needs matplotlib: pip install "deltaw[plot]"') from None
    figure, axes = pyplot.subplots(figsize=(8, 4.2), layout="constrained")
    for path, curve in curves.items():
        games = [r["games"] / 1000 for r in curve]
        ppg = [r["ppg"] for r in curve]
        reach = [INTERVAL * r["standard_error"] for r in curve]
        (line,) = axes.plot(
            games, ppg, marker="o", markersize=3, label=f"{path.name}, {curve[-1]['seconds'] / 60:.0f} min"
        )
        low, high = [p - r for p, r in zip(ppg, reach, strict=True)], [p + r for p, r in zip(ppg, reach, strict=True)]
        axes.fill_between(games, low, high, alpha=0.2, color=line.get_color())
    axes.axhline(0, color="grey", linewidth=0.8)
    axes.set(
        xlabel="thousand games of self-play",
        ylabel=f"points per game against {next(iter(curves.values()))[0]['opponent']} (95 %)",
    )
    axes.grid(alpha=0.3)
    axes.legend()
    target.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(target, dpi=120)


if __name__ == "__main__":
    raise SystemExit(main())
