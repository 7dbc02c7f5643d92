"""A training run as one HTML file: `deltaw report outputs/connect_four/RUN --to report.html`.

What was trained and how, the strength curve with its interval, the learned weights drawn on the board
(`learn/watch/report_weights.py`), calibration, what the evaluator thinks of the game's probe positions, and a sample
game with boards and values. The file needs no network and no other file. A run that is still going on has a report as
well: of its last checkpoint.

From the run's folder it reads evaluator.safetensors, strength.jsonl and .hydra/; only the first must be there.
"""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import yaml

from deltaw.envs.cli import Parser, guarded
from deltaw.envs.errors import InputError
from deltaw.envs.game import Game
from deltaw.envs.turn import roll
from deltaw.learn.run.strength import INTERVAL
from deltaw.learn.selfplay.sample import SAMPLE_SEED, Sample, outcome_values, play_sample, reliability, scores, typical
from deltaw.learn.watch.curves import read_records, read_yaml
from deltaw.learn.watch.pictures import outcome_color, two_sided
from deltaw.learn.watch.report_page import (
    Series,
    curves,
    details,
    element,
    figure,
    heading,
    histogram,
    page,
    paragraph,
    picture,
    reliability_chart,
    row,
    table,
)
from deltaw.learn.watch.report_weights import weights_part
from deltaw.search.evaluators.evaluator import Evaluator, Opinion, load_evaluator, write_whole

BOARDS = 80
"""of a sample game, at most: of a longer one every second, third ... position"""
BOARD_WIDTH = 250
"""pixels of a board in the report, at most"""
RECORD = {"games", "seconds", "opponent", "ppg", "standard_error", "match_games"}
"""what a measurement says (learn/run/strength.py)"""


class Run(NamedTuple):
    """What a run's folder tells."""

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
    overrides = read_overrides(folder / ".hydra" / "overrides.yaml")
    command = shlex.join(["deltaw", "train", *overrides]) if overrides is not None else ""
    return Run(folder, load_evaluator(file), read_yaml(folder / ".hydra" / "config.yaml"), command, records)


def read_overrides(file: Path) -> list[str] | None:
    """The words of the command line, as Hydra noted them; None where it did not."""
    try:
        words = yaml.safe_load(file.read_text())
    except (OSError, yaml.YAMLError):
        return None
    return [str(word) for word in words] if isinstance(words, list) else None


def report(run: Run) -> str:
    """The page."""
    sample = play_sample(run.evaluator) if run.game.rules.num_players == 2 else None
    rows = sample.rows if sample is not None else np.empty((0, run.game.rules.width), np.int64)
    title = f"{run.game.title}: {kind_text(run.evaluator)}"
    body = [heading(title, 1), paragraph(headline(run), "headline"), *_facts(run), heading("Strength"), *_strength(run)]
    body += [heading("What was learned"), *weights_part(run.evaluator, rows)]
    if sample is not None and len(rows):
        body += [heading("Do its predictions come true?"), *_calibration(run.evaluator, sample)]
    if run.game.probes:
        body += [heading("Positions to watch"), _probes(run.evaluator)]
    if sample is not None and len(rows):
        body += [heading("A game against itself"), *_game(run.evaluator, sample)]
    return page(title, body)


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
    """The run in one line: learner, games, minutes, and the last measurement against its first opponent."""
    parts = [learner_name(run), f"{run.games:,} games"]
    if run.records:
        first = str(run.records[0]["opponent"])
        last = [r for r in run.records if r["opponent"] == first][-1]
        parts[1] += f" in {f'{run.seconds / 60:.1f} minutes' if run.seconds >= 100 else f'{run.seconds:.1f} seconds'}"
        parts.append(f"{last['ppg']:+.3f} ± {last['standard_error']:.3f} points a game against {first}")
    return ", ".join(part for part in parts if part)


def learner_name(run: Run) -> str:
    learner = run.settings.get("learner")
    named = learner.get("name") if isinstance(learner, dict) else None
    return str(named or run.evaluator.description.trained.get("method", ""))


def _facts(run: Run) -> list[str]:
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
    facts = table((), [(name, text) for name, text in lines if text != "unknown"])
    if not run.settings:
        return [facts]
    text = yaml.safe_dump(run.settings, sort_keys=False, allow_unicode=True)
    return [facts, details("all settings", element("pre", text))]


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


def _strength(run: Run) -> list[str]:
    if not run.records:
        return [paragraph("Nothing has been measured yet.")]
    opponents = list(dict.fromkeys(str(r["opponent"]) for r in run.records))
    minutes = run.seconds > 180
    charts = []
    for key, factor, label in (
        ("games", 1.0, "games of training"),
        ("seconds", 1 / 60 if minutes else 1.0, f"{'minutes' if minutes else 'seconds'} of training"),
    ):
        lines = [_series(run.records, opponent, key, factor) for opponent in opponents]
        charts.append(figure(curves(lines, label, "points a game"), ""))
    last = [[r for r in run.records if r["opponent"] == opponent][-1] for opponent in opponents]
    note = (
        f"The bands are 95 % intervals; points a game are wins minus losses where a win counts one.{_how(run.settings)}"
    )
    if any(name.startswith("past_") for name in opponents):
        note += " past_1_2 is the run itself after half of the games."
    numbers = table(HEAD, [_line(r) for r in last], numbers=range(1, len(HEAD)))
    everything = table(HEAD, [_line(r) for r in run.records], numbers=range(1, len(HEAD)))
    return [row(charts), paragraph(note, "note"), numbers, details("all measurements", everything)]


def _how(settings: dict[str, Any]) -> str:
    """What is special about the measurements."""
    measured = settings.get("measure")
    measured = measured if isinstance(measured, dict) else {}
    text = f" Both players' moves are random with probability {measured['noise']}." if measured.get("noise") else ""
    text += " The evaluator always begins." if measured.get("first_only") else ""
    searches = measured.get("searches")
    named = ", ".join(map(str, searches)) if isinstance(searches, list) else ""
    return text + (
        f" It plays at 1 ply, and where a search follows the opponent's name with that: {named}." if named else ""
    )


HEAD = ("against", "games of training", "seconds", "points a game", "± one standard error", "games measured")


def _line(r: dict[str, Any]) -> list[str]:
    return [
        str(r["opponent"]),
        f"{r['games']:,}",
        f"{r['seconds']:,.1f}",
        f"{r['ppg']:+.3f}",
        f"{r['standard_error']:.3f}",
        f"{r['match_games']:,}",
    ]


def _series(records: list[dict[str, Any]], opponent: str, key: str, factor: float) -> Series:
    mine = [r for r in records if r["opponent"] == opponent]
    x, y, error = (np.array([float(r[name]) for r in mine]) for name in (key, "ppg", "standard_error"))
    return Series(opponent, x * factor, y, INTERVAL * np.nan_to_num(error))  # one pair of games has no error


# --- predictions --------------------------------------------------------------------------------------------------


def _calibration(evaluator: Evaluator, sample: Sample) -> list[str]:
    found = reliability(*scores(evaluator, sample))
    games = len(np.unique(sample.game))
    spread = float(np.sqrt(np.mean(sample.errors**2)))
    what = "chance to win, a draw counting half" if evaluator.gives_chances else "value, scaled to 0 .. 1"
    text = (
        f"{games} games against itself, {len(sample.rows):,} positions. Predicted score ({what}) and the score "
        f"that came true differ by {found.error:.3f} on average (expected calibration error). From one position to the "
        f"next the value jumps by {spread:.3f} (root mean square of the TD error)."
    )
    circle = figure(reliability_chart(found), "a circle for each tenth of the scores, its area the share of positions")
    largest = float(np.abs(sample.errors).max()) or 1.0
    counts, edges = np.histogram(sample.errors, bins=40, range=(-largest, largest))
    errors = figure(histogram(counts, edges, "TD error"), "how far values jump from one position to the next")
    return [paragraph(text), row([circle, errors])]


# --- positions ----------------------------------------------------------------------------------------------------


def _probes(evaluator: Evaluator) -> str:
    game = evaluator.game
    figures = []
    for label, position in game.probes:
        state = game.parse(position)
        opinion = evaluator.opinion(state)
        board = picture(game.draw(state), BOARD_WIDTH, f"{label}: {position}")
        caption = f"{label}: {opinion.value:+.3f} for the side to move"
        figures.append(figure(board + chances_bar(game, opinion), caption, BOARD_WIDTH))
    return row(figures)


def chances_bar(game: Game, opinion: Opinion) -> str:
    """The chance of every outcome, best first, as parts of a bar."""
    outcomes = game.rules.outcomes if opinion.chances else (-1, 1)
    chances = opinion.chances or two_sided(opinion.value, max(game.rules.outcomes))
    parts = [
        element(
            "span", title=f"{o:+d}: {p:.1%}", style=f"width:{100 * p:.1f}%;background:{outcome_color(o, max(outcomes))}"
        )
        for o, p in reversed(list(zip(outcomes, chances, strict=True)))
    ]
    return element("div", "".join(parts), class_="bar", raw=True)


def _game(evaluator: Evaluator, sample: Sample) -> list[str]:
    """The sample game of median length: its value curve, and its boards."""
    game, number = evaluator.game, typical(sample)
    index = np.flatnonzero(sample.game == number)
    seats = [game.rules.seat(game.unrow(sample.rows[n])) for n in index]
    values = sample.outputs[index].astype(float) @ outcome_values(evaluator)
    for_first = np.where(np.array(seats) == 0, values, -values)
    line = Series("", sample.ply[index].astype(float), for_first, np.zeros(len(index)))
    most = float(max(game.rules.outcomes))
    chart = curves([line], "ply", "value for the first player", (-1.05 * most, 1.05 * most))
    result = int(sample.results[index[-1]]) * (1 if seats[-1] == 0 else -1)
    step = -(-len(index) // BOARDS)
    shown = f"Every {step}th position is shown. " if step > 1 else ""
    begun = "" if game.rules.max_chance else "It begins with a few random moves. "
    text = (
        f"{len(index)} moves at 1 ply, the game of median length of the sample; it ends {result:+d} for the first "
        f"player. {begun}{shown}Values are for the side to move, before the dice where there are any."
    )
    boards = [_board(evaluator, sample, int(n)) for n in index[::step]]
    return [paragraph(text), chart, row([*boards, _end(game, sample, int(index[-1]))])]


def _board(evaluator: Evaluator, sample: Sample, n: int) -> str:
    """One position of a sample game: the board, the value, and the move that was made."""
    game = evaluator.game
    state = _rolled(game, sample, n)
    value = float(sample.outputs[n] @ outcome_values(evaluator))
    text = game.move_text(state, int(sample.moves[n]))
    seat = game.rules.seat(state)
    board = picture(game.draw(state), BOARD_WIDTH, game.format(state))
    return figure(board, f"{sample.ply[n]}. {('first', 'second')[seat]}, {value:+.3f}: {text}", BOARD_WIDTH)


def _rolled(game: Game, sample: Sample, n: int) -> Any:
    """The decision at position n of a sample, after the dice."""
    ply = np.int64(sample.ply[n])
    state = roll(game.rules, game.unrow(sample.rows[n]), np.int64(SAMPLE_SEED), np.int64(sample.game[n]), ply)
    return game.state(*(int(field) for field in state))


def _end(game: Game, sample: Sample, n: int) -> str:
    state = game.rules.play(_rolled(game, sample, n), int(sample.moves[n]))
    end = game.state(*(int(field) for field in state))
    return figure(picture(game.draw(end), BOARD_WIDTH, game.format(end)), "the end", BOARD_WIDTH)


if __name__ == "__main__":
    raise SystemExit(main())
