"""A training run as one HTML file: `deltaw report outputs/connect_four/RUN --to report.html`.

The page shows what was trained and how, the strength curve with its interval, the learned weights drawn on the board
(`learn/watch/report_weights.py`), calibration, the values of the game's probe positions, and a sample game with boards
and values. It needs no network and no other file. The report of a run that is still going on shows its last checkpoint.

The command reads evaluator.safetensors, strength.jsonl and .hydra/ in the run's folder; only the first must be there.
The page itself is the template `learn/watch/report.html.jinja`.
"""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import yaml

from deltaw.envs.cli import Parser, guarded
from deltaw.envs.errors import InputError
from deltaw.envs.game import Game
from deltaw.envs.turn import roll
from deltaw.learn.selfplay.sample import SAMPLE_SEED, Sample, outcome_values, play_sample, reliability, scores, typical
from deltaw.learn.watch.charts import error_chart, reliability_chart, strength_chart, value_chart
from deltaw.learn.watch.curves import AXES, Curve, headline_opponent, read_records, read_yaml
from deltaw.learn.watch.pictures import (
    FAINT,
    INK,
    PAPER,
    SOFT,
    Picture,
    embedded_chart,
    embedded_image,
    outcome_color,
    two_sided,
)
from deltaw.learn.watch.report_board import ink, shade
from deltaw.learn.watch.report_weights import feature_weights, table_weights
from deltaw.search.analysis.template import template
from deltaw.search.evaluators.evaluator import Evaluator, Opinion, load_evaluator, write_whole

BOARDS = 80
"""of a sample game, at most: of a longer one every second, third ... position"""
BOARD_WIDTH, UNIT_WIDTH = 250, 270
"""pixels, at most: of a board in the report, of the weights of a unit"""
RECORD = {"games", "seconds", "opponent", "ppg", "standard_error", "match_games"}
"""what a measurement says (learn/run/strength.py)"""


class Run(NamedTuple):
    """What is in a run's folder."""

    folder: Path
    evaluator: Evaluator
    settings: dict[str, Any]
    """the configuration; empty where there is none"""
    command: str
    records: list[dict[str, Any]]
    """measurements, in order"""

    @property
    def game(self) -> Game:
        return self.evaluator.game

    @property
    def games(self) -> int:
        """Games of training that the evaluator has seen."""
        measured = max((int(r["games"]) for r in self.records), default=0)
        known = self.evaluator.description.trained.get("games")
        return known if isinstance(known, int) else measured

    @property
    def opponents(self) -> list[str]:
        return list(dict.fromkeys(str(r["opponent"]) for r in self.records))

    def against(self, opponent: str) -> list[dict[str, Any]]:
        """The measurements, in order."""
        return [r for r in self.records if r["opponent"] == opponent]

    @property
    def seconds(self) -> float:
        """Of training, at the last measurement."""
        return max((float(r["seconds"]) for r in self.records), default=0.0)


def parser() -> Parser:
    parse = Parser("deltaw report", description="Write a report of a training run: one HTML file.")
    parse.add_argument("run", type=Path, help="the run's folder, such as outputs/backgammon/2026-01-31_12-00-00")
    parse.add_argument("--to", type=Path, default=Path("report.html"), help="file to write (default %(default)s)")
    return parse


@guarded
def main(argv: list[str] | None = None) -> None:
    options = parser().parse_args(argv)
    write_whole(options.to, report(read_run(options.run)).encode())
    print(f"wrote {options.to} ({options.to.stat().st_size / 1e6:.1f} MB)")


def read_run(folder: Path) -> Run:
    """Raises InputError where there is no run, or no evaluator yet."""
    file = folder / "evaluator.safetensors"
    if not folder.is_dir():
        raise InputError(f"there is no folder {folder}; name a run's, such as outputs/backgammon/2026-01-31_12-00-00")
    if not file.exists():
        raise InputError(f"{folder} has no evaluator.safetensors: no run, or one that has not measured anything yet")
    curve = folder / "strength.jsonl"
    records = read_records(folder) if curve.exists() and curve.stat().st_size else []
    if not all(isinstance(r, dict) and r.keys() >= RECORD for r in records):
        raise InputError(f"{curve} is no strength curve: each line needs {', '.join(sorted(RECORD))}")
    overrides = read_yaml(folder / ".hydra" / "overrides.yaml", list)
    command = shlex.join(["deltaw", "train", *map(str, overrides)]) if overrides is not None else ""
    return Run(folder, load_evaluator(file), read_yaml(folder / ".hydra" / "config.yaml", dict) or {}, command, records)


def report(run: Run) -> str:
    """The page."""
    game, evaluator = run.game, run.evaluator
    sample = play_sample(evaluator) if game.rules.num_players == 2 else None
    rows = sample.rows if sample is not None else np.empty((0, game.rules.width), np.int64)
    played = sample if len(rows) else None
    return template(Path(__file__).with_name("watch") / "report.html.jinja").render(
        run=run,
        evaluator=evaluator,
        title=f"{game.title}: {kind_text(evaluator)}",
        headline=headline(run),
        facts=_facts(run),
        settings=yaml.safe_dump(run.settings, sort_keys=False, allow_unicode=True) if run.settings else "",
        strength=_strength(run) if run.records else None,
        features=feature_weights(evaluator, rows),
        tables=table_weights(evaluator, rows),
        calibration=_calibration(evaluator, played) if played else None,
        probes=[_probe(evaluator, label, position) for label, position in game.probes],
        played=_played(evaluator, played) if played else None,
        colors={"paper": PAPER, "ink": INK, "soft": SOFT, "faint": FAINT, "good": shade(0.8, 1), "bad": shade(-0.8, 1)},
        shade=shade,
        ink=ink,
        board_width=BOARD_WIDTH,
        unit_width=UNIT_WIDTH,
    )


# --- what was trained ---------------------------------------------------------------------------------------------


def kind_text(evaluator: Evaluator) -> str:
    """What sort of evaluator it is, in words."""
    description = evaluator.description
    if description.kind == "ntuple":
        return f"n-tuple network of {description.spec[3]} tables"
    if description.kind == "linear":
        return f"linear evaluator of {description.sizes[0]} features"
    hidden = " and ".join(str(size) for size in description.sizes[1:-1])
    return f"network of {hidden} {description.activation} units over {description.sizes[0]} features"


def headline(run: Run) -> str:
    """The run in one line: learner, games, minutes, and the last measurement against its headline's opponent."""
    parts = [learner_name(run), f"{run.games:,} games"]
    if run.records:
        measure = run.settings.get("measure")
        against = measure.get("against") if isinstance(measure, dict) else None
        last = run.against(headline_opponent(run.records, against))[-1]
        parts[1] += f" in {f'{run.seconds / 60:.1f} minutes' if run.seconds >= 100 else f'{run.seconds:.1f} seconds'}"
        parts.append(f"{last['ppg']:+.3f} ± {last['standard_error']:.3f} points a game against {last['opponent']}")
    return ", ".join(part for part in parts if part)


def learner_name(run: Run) -> str:
    learner = run.settings.get("learner")
    named = learner.get("name") if isinstance(learner, dict) else None
    return str(named or run.evaluator.description.trained.get("method", ""))


def _facts(run: Run) -> list[tuple[str, str]]:
    description = run.evaluator.description
    heads = {
        "classes": f"a chance for each outcome ({', '.join(f'{o:+d}' for o in description.outcomes)})",
        "tanh": f"one value between ±{max(run.game.rules.outcomes)}",
        "identity": "one sum",
    }
    lines = [
        ("game", run.game.title),
        ("learner", learner_name(run) or "unknown"),
        ("evaluator", kind_text(run.evaluator)),
        ("features", description.features),
        ("head", heads[description.head]),
        ("command", run.command or "unknown"),
        ("seed", str(run.settings.get("seed", description.trained.get("seed", "unknown")))),
        ("games", f"{run.games:,}{_budget(run)}"),
        ("minutes of training", f"{run.seconds / 60:.2f}" if run.records else "unknown"),
        ("folder", run.folder.name),
    ]
    return [(name, text) for name, text in lines if text != "unknown"]


def _budget(run: Run) -> str:
    """Whether the run has reached its end."""
    budget, minutes = run.settings.get("games"), run.settings.get("minutes")
    if not isinstance(budget, int):
        return ""
    if run.games >= budget:
        return " (finished)"
    late = isinstance(minutes, (int, float)) and run.seconds >= 60 * minutes
    return f" of {budget:,} ({f'stopped after {minutes:g} minutes, as asked' if late else 'going on, or stopped'})"


# --- strength -----------------------------------------------------------------------------------------------------

HEAD = ("against", "games of training", "seconds", "points a game", "± one standard error", "games measured")


def _strength(run: Run) -> dict[str, Any]:
    curves = [Curve(opponent, "", run.against(opponent)) for opponent in run.opponents]
    return {
        "charts": [embedded_chart(strength_chart(curves, by), f"points a game by {by}") for by in AXES],
        "conditions": _conditions(run.settings.get("measure")),
        "last": [HEAD, *(_line(curve.records[-1]) for curve in curves)],
        "all": [HEAD, *map(_line, run.records)],
    }


def _conditions(measured: Any) -> str:
    """What is special about the measurements."""
    measured = measured if isinstance(measured, dict) else {}
    searches = measured.get("searches")
    parts = []
    if measured.get("noise"):
        parts.append(f"Both players' moves are random with probability {measured['noise']}.")
    if measured.get("first_only"):
        parts.append("The evaluator always begins.")
    if searches and isinstance(searches, list):
        named = ", ".join(map(str, searches))
        parts.append(f"It plays at 1 ply, and where a search follows the opponent's name with that: {named}.")
    return " ".join(parts)


def _line(r: dict[str, Any]) -> tuple[str, ...]:
    counts = f"{r['games']:,}", f"{r['seconds']:,.1f}"
    return str(r["opponent"]), *counts, f"{r['ppg']:+.3f}", f"{r['standard_error']:.3f}", f"{r['match_games']:,}"


# --- predictions --------------------------------------------------------------------------------------------------


def _calibration(evaluator: Evaluator, sample: Sample) -> dict[str, Any]:
    found = reliability(*scores(evaluator, sample))
    bins = [(f"{p:.3f}", f"{s:.3f}", f"{n:,}") for p, s, n in zip(*found, strict=True)]
    return {
        "games": len(np.unique(sample.game)),
        "positions": len(sample.rows),
        "error": found.error,
        "jump": float(np.sqrt(np.mean(sample.errors**2))),
        "circles": embedded_chart(reliability_chart(found), "score that came true by predicted score"),
        "errors": embedded_chart(error_chart(sample.errors), "shares of TD errors"),
        "bins": [("predicted", "came true", "positions"), *bins],
    }


# --- positions ----------------------------------------------------------------------------------------------------


class Board(NamedTuple):
    picture: Picture
    caption: str
    bar: Sequence[tuple[str, float, str]] = ()
    """text, share and colour of each of its parts"""


def _probe(evaluator: Evaluator, label: str, position: str) -> Board:
    game = evaluator.game
    state = game.parse(position)
    opinion = evaluator.opinion(state)
    picture = embedded_image(game.draw(state), BOARD_WIDTH, f"{label}: {position}")
    return Board(picture, f"{label}: {opinion.value:+.3f} for the side to move", chances_bar(game, opinion))


def chances_bar(game: Game, opinion: Opinion) -> list[tuple[str, float, str]]:
    """The chance of every outcome, best first."""
    outcomes = game.rules.outcomes if opinion.chances else (-1, 1)
    chances = opinion.chances or two_sided(opinion.value, max(game.rules.outcomes))
    parts = [(f"{o:+d}: {p:.1%}", p, outcome_color(o, max(outcomes))) for o, p in zip(outcomes, chances, strict=True)]
    return parts[::-1]


def _played(evaluator: Evaluator, sample: Sample) -> dict[str, Any]:
    """The sample game of median length."""
    game, index = evaluator.game, np.flatnonzero(sample.game == typical(sample))
    sides = np.array([1 if game.rules.seat(game.unrow(sample.rows[n])) == 0 else -1 for n in index])
    values = sides * (sample.outputs[index].astype(float) @ outcome_values(evaluator))
    chart = value_chart(sample.ply[index], values, float(max(game.rules.outcomes)))
    step = -(-len(index) // BOARDS)
    return {
        "plies": len(index),
        "result": int(sides[-1] * sample.results[index[-1]]),
        "step": step,
        "curve": embedded_chart(chart, "value for the first player by ply"),
        "boards": [*(_board(evaluator, sample, int(n)) for n in index[::step]), _end(game, sample, int(index[-1]))],
    }


def _board(evaluator: Evaluator, sample: Sample, n: int) -> Board:
    """One position of a sample game: the board, the value, and the move that was made."""
    game = evaluator.game
    state = _rolled(game, sample, n)
    value = float(sample.outputs[n] @ outcome_values(evaluator))
    text = game.move_text(state, int(sample.moves[n]))
    seat = game.rules.seat(state)
    picture = embedded_image(game.draw(state), BOARD_WIDTH, game.format(state))
    return Board(picture, f"{sample.ply[n]}. {('first', 'second')[seat]}, {value:+.3f}: {text}")


def _rolled(game: Game, sample: Sample, n: int) -> Any:
    """The decision at position n of a sample, after the dice."""
    ply = np.int64(sample.ply[n])
    state = roll(game.rules, game.unrow(sample.rows[n]), np.int64(SAMPLE_SEED), np.int64(sample.game[n]), ply)
    return game.state(*(int(field) for field in state))


def _end(game: Game, sample: Sample, n: int) -> Board:
    state = game.rules.play(_rolled(game, sample, n), int(sample.moves[n]))
    end = game.state(*(int(field) for field in state))
    return Board(embedded_image(game.draw(end), BOARD_WIDTH, game.format(end)), "the end")


if __name__ == "__main__":
    raise SystemExit(main())
