"""Draw the strength curves of runs: `deltaw plot RUN RUN ... --by both --to strength.png`."""

from __future__ import annotations

from pathlib import Path

from deltaw.envs.cli import Parser, guarded
from deltaw.learn.watch.curves import AXES, draw, headline_opponent, read_curve, read_records


@guarded
def main(argv: list[str] | None = None) -> None:
    parser = Parser(prog="deltaw plot", description="Draw the strength curves of runs.")
    parser.add_argument("runs", nargs="+", type=Path, help="folders of runs, or their strength.jsonl")
    parser.add_argument("--to", type=Path, default=Path("strength.png"), help="picture to write (default %(default)s)")
    parser.add_argument(
        "--by", choices=(*AXES, "both"), default="games", help="what to compare at (default %(default)s)"
    )
    parser.add_argument("--log", action="store_true", help="logarithmic games and seconds")
    parser.add_argument("--opponent", help="against whom (default: the last of the first run's named opponents)")
    parser.add_argument(
        "--from-games", type=int, default=1, help="leave out what was measured earlier (default %(default)s)"
    )
    options = parser.parse_args(argv)
    opponent = options.opponent or headline_opponent(read_records(options.runs[0]))
    curves = [read_curve(path, opponent, options.from_games) for path in options.runs]
    draw(curves, opponent, tuple(AXES) if options.by == "both" else (options.by,), options.log, options.to)
    print(f"wrote {options.to}")


if __name__ == "__main__":
    raise SystemExit(main())
