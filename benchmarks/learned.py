"""Train the presets that the README's table shows, measure what they learned, and write the results down.

    python -m benchmarks.learned                               every row, every seed: hours
    python -m benchmarks.learned --only othello_ntuple --seeds 1
    python -m benchmarks.learned --table                       the tables of README.md and docs/learning.md, no training

A row is a preset of conf/experiment/ and the checks that follow its training. Each seed is trained in
outputs/learned/ROW_SEED by the ordinary command; a run that was finished before is only measured again, one that was
interrupted goes on. Results replace those of the same row, seed and check.
"""

from __future__ import annotations

import json
import math
import re
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any, NamedTuple

from deltaw.envs import games
from deltaw.envs.cli import Parser, guarded
from deltaw.envs.errors import InputError
from deltaw.learn.run.checkpoint import load_checkpoint
from deltaw.search.evaluators.evaluator import load_evaluator, write_whole
from deltaw.search.evaluators.named import shipped

ROOT = Path(__file__).parent.parent
RESULTS = ROOT / "docs" / "learned.json"
RUNS = Path("outputs") / "learned"


class Check(NamedTuple):
    """One measurement of a trained evaluator."""

    what: str
    """as the table calls it"""
    command: str
    """of `deltaw`, with its arguments; RUN is the run's folder, SEED its seed"""
    quantity: str
    """what to take from its JSON: points, wins, score, elo, losses"""


class Row(NamedTuple):
    """One line of the table."""

    experiment: str
    """a preset, and perhaps settings that differ from it; empty: the default run"""
    seeds: tuple[int, ...]
    checks: tuple[Check, ...]
    shipped: str = ""
    """the evaluator that came of it and is shipped: nothing is trained"""

    @property
    def label(self) -> str:
        """What the results call it."""
        return f"{self.experiment} (shipped)" if self.shipped else self.experiment or "make train"

    @property
    def name(self) -> str:
        """What its folders are called."""
        return re.sub(r"[ =()]+", "_", self.label).strip("_")


OWN = ("own start", "of that seed", "itself")
"""words that say that a run was measured against itself or another run"""
THREE = (1, 2, 3)
FILE = "RUN/evaluator.safetensors"
OTHER = "RUNS/{}_SEED/evaluator.safetensors"
BEST = "RUN/best.safetensors"
PERFECT = f"arena connect_four {BEST}@{{}} perfect --first-only --games 300 --json"
OPENINGS = "--opening-plies 6 --json"
DEEP = f"arena {{0}} {FILE}@depth=4 {OTHER.format('{0}_td')}@depth=4 --games 2000 {OPENINGS}"
PUBEVAL = f"arena backgammon {FILE} pubeval --games 20000 --seed 7 --json"
GNUBG = f"arena backgammon {FILE} gnubg --json"
POSITIONAL = "arena othello {} positional --noise 0.1 --games {} --seed 5 --json"
UNTAUGHT = f"arena {{}} {FILE} RUN/past/games_000000000.safetensors --games 4000 {OPENINGS}"

ROWS = (
    Row("", (1,), (
        Check("pubeval: points a game", PUBEVAL, "points"),
        Check(
            "itself, a ply deeper: points a game",
            f"arena backgammon {FILE} {FILE} --plies 2 --games 600 --json",
            "points",
        ),
    )),
    Row("backgammon_network", (1,), (
        Check("pubeval: points a game", PUBEVAL, "points"),
        Check("gnubg 0-ply, at 1 ply: points a game", f"{GNUBG} --games 1000", "points"),
        Check("gnubg 0-ply, at 2 plies: points a game", f"{GNUBG} --plies 2 --games 500", "points"),
    ), shipped="network"),
    Row("td_gammon", (1,), (Check("pubeval: points a game", PUBEVAL, "points"),)),
    Row("backgammon_linear", (1,), (Check("pubeval: points a game", PUBEVAL, "points"),), shipped="linear"),
    Row("tic_tac_toe", THREE, (
        Check("all replies of the opponent: lines lost", f"exhaustive tic_tac_toe {FILE} --json", "losses"),
    )),
    Row("connect_four_ntuple", THREE, (
        Check("first against `perfect`, 1 ply: won", PERFECT.format("ties=random"), "wins"),
        Check("first against `perfect`, depth 8: won", PERFECT.format("depth=8,ties=random"), "wins"),
    )),
    Row("othello_ntuple", THREE, (
        Check("`positional`, 10 % random moves: score", POSITIONAL.format(FILE, 4000), "score"),
        Check("the same at depth 2: score", POSITIONAL.format(f"{FILE}@depth=2", 1000), "score"),
    )),
    Row("othello_sparring", THREE, (
        Check("`positional`, 10 % random moves: score", POSITIONAL.format(FILE, 4000), "score"),
        Check(
            "`othello_ntuple` of that seed, 10 % random moves: score",
            f"arena othello {FILE} {OTHER.format('othello_ntuple')} --noise 0.1 --games 4000 --seed 5 --json",
            "score",
        ),
    )),
    Row("connect_four_td", THREE, ()),
    Row("connect_four_treestrap", THREE, (
        Check("`connect_four_td` of that seed, both at depth 4: Elo", DEEP.format("connect_four"), "elo"),
    )),
    Row("backgammon_ga", THREE, (Check("pubeval: points a game", PUBEVAL, "points"),)),
    Row("backgammon_linear games=100000", THREE, (Check("pubeval: points a game", PUBEVAL, "points"),)),
    Row("connect_four_ga", THREE, (
        Check("`points_2`: score", f"arena connect_four {FILE} points_2 --games 4000 {OPENINGS}", "score"),
    )),
    Row("connect_four_automata", THREE, (
        Check("its own start: points a game", UNTAUGHT.format("connect_four"), "points"),
    )),
    Row("connect_four_levels", THREE, (
        Check("its own start: points a game", UNTAUGHT.format("connect_four"), "points"),
    )),
    Row("othello_automata", THREE, (Check("its own start: points a game", UNTAUGHT.format("othello"), "points"),)),
)  # fmt: skip


class Result(NamedTuple):
    """A measured number; the fields of docs/learned.json."""

    row: str
    seed: int
    what: str
    value: float
    error: float | None
    """one standard error; None: exact"""
    unit: str
    games: int
    """of training"""
    minutes: float
    """of training, measurements not counted"""
    command: str
    """of the measurement"""


@guarded
def main(argv: list[str] | None = None) -> int:
    options = parser().parse_args(argv)
    if options.table:
        print(table(read_results(), peers_only=True), table(read_results()), sep="\n\n")
        return 0
    for row in chosen(options.only):
        for seed in options.seeds or row.seeds:
            folder = RUNS / f"{row.name}_{seed}"
            if not row.shipped:
                train(row, seed, folder, options.override)
            for check in row.checks:
                keep(measured(row, seed, folder, check))
    return 0


def parser() -> Parser:
    p = Parser(prog="python -m benchmarks.learned", description="Train and measure the rows of the README's table.")
    p.add_argument("--only", nargs="+", metavar="ROW", default=[], help=", ".join(row.name for row in ROWS))
    p.add_argument("--seeds", nargs="+", type=int, default=[], help="instead of each row's own")
    p.add_argument(
        "--override", nargs="+", default=[], metavar="KEY=VALUE", help="settings that change no result: workers=1"
    )
    p.add_argument("--table", action="store_true", help="print the tables from docs/learned.json")
    return p


def chosen(names: list[str]) -> list[Row]:
    known = {row.name: row for row in ROWS}
    unknown = [name for name in names if name not in known]
    if unknown:
        raise InputError(f"no row {unknown[0]!r}; rows: {', '.join(known)}")
    return [known[name] for name in names] if names else list(ROWS)


# --- running ------------------------------------------------------------------------------------------------------


def train(row: Row, seed: int, folder: Path, extra: list[str]) -> None:
    """Train into `folder`, unless that was done before."""
    if (folder / "finished").exists():
        return
    preset = shlex.split(f"experiment={row.experiment}") if row.experiment else []
    run(["train", *preset, f"seed={seed}", f"hydra.run.dir={folder}", *extra])
    (folder / "finished").touch()


def run(words: list[str], capture: bool = False) -> str:
    """`deltaw WORDS`; its standard output if captured. Raises InputError where it fails."""
    print("deltaw", shlex.join(words), file=sys.stderr)
    done = subprocess.run(
        [sys.executable, "-m", "deltaw", *words], stdout=subprocess.PIPE if capture else None, text=True
    )
    if done.returncode:
        raise InputError(f"deltaw {shlex.join(words)} ended with status {done.returncode}")
    return done.stdout or ""


def measured(row: Row, seed: int, folder: Path, check: Check) -> Result:
    text = check.command.replace(FILE, row.shipped) if row.shipped else check.command
    text = text.replace("RUNS", str(RUNS)).replace("RUN", str(folder)).replace("SEED", str(seed))
    words = shlex.split(text)
    value, error, unit = extract(json.loads(run(words, capture=True)), check.quantity)
    played, minutes = trained(row, folder)
    command = "deltaw " + shlex.join(word for word in words if word != "--json")
    return Result(row.label, seed, check.what, value, error, unit, played, round(minutes, 2), command)


def trained(row: Row, folder: Path) -> tuple[int, float]:
    """(games, minutes) of training."""
    if row.shipped:
        notes = load_evaluator(shipped(games.load("backgammon"))[row.shipped]).description.trained
        return notes["games"], notes["minutes"]
    notes = load_evaluator(folder / "evaluator.safetensors").description.trained
    return notes["games"], load_checkpoint(folder / "checkpoint.pt")["seconds"] / 60


def extract(found: dict[str, Any], quantity: str) -> tuple[float, float | None, str]:
    """(value, standard error, unit) of one quantity of a command's JSON."""
    if quantity == "losses":
        return found["first"]["lost"] + found["second"]["lost"], None, "lines"
    number, outcomes = found["games"], {int(value): n for value, n in found["outcomes"].items()}
    if quantity == "points":
        luckless = found.get("adjusted_mean") is not None  # the same expectation, less spread
        names = ("adjusted_mean", "adjusted_error") if luckless else ("mean", "standard_error")
        return found[names[0]], found[names[1]], "points a game"
    if quantity == "wins":
        share = sum(n for value, n in outcomes.items() if value > 0) / number
        return 100 * share, 100 * math.sqrt(share * (1 - share) / number), "%"
    if quantity == "score":  # a draw counts half: the mean of -1, 0, 1 from another zero
        return 50 * (1 + found["mean"]), 50 * found["standard_error"], "%"
    return found["elo"]["difference"], found["elo"]["error"], "Elo"


# --- the results --------------------------------------------------------------------------------------------------


def read_results() -> list[Result]:
    return [Result(**entry) for entry in json.loads(RESULTS.read_text())] if RESULTS.exists() else []


def keep(result: Result) -> None:
    """Into docs/learned.json, in the order of the rows."""
    same = {result[:3]}
    order = {row.label: i for i, row in enumerate(ROWS)}
    results = [r for r in read_results() if r[:3] not in same] + [result]
    results.sort(key=lambda r: (order.get(r.row, len(order)), r.row, r.what, r.seed))
    lines = ",\n".join(json.dumps(r._asdict()) for r in results)
    write_whole(RESULTS, f"[\n{lines}\n]\n".encode())
    print(f"{result.row} seed {result.seed}: {result.what}: {number(result)}", file=sys.stderr)


def number(result: Result) -> str:
    if result.error is None:
        return f"{result.value:g} {result.unit}"
    digits = 3 if "points" in result.unit else 1 if result.unit == "%" else 0
    sign = "" if result.unit == "%" else "+"
    return f"{result.value:{sign}.{digits}f} ± {result.error:.{digits}f} {result.unit}".removesuffix(" points a game")


def table(results: list[Result], *, peers_only: bool = False) -> str:
    """One line a row and check, the seeds side by side: for docs/learning.md all of them, for the README those against
    players that exist outside of the run."""
    lines = [
        "| `experiment=` | games | minutes | measured | seeds 1, 2, 3 |",
        "|---|---:|---:|---|---|",
    ]
    groups: dict[tuple[str, str], list[Result]] = {}
    for result in results:
        if peers_only and any(word in result.what for word in OWN):
            continue
        groups.setdefault((result.row, result.what), []).append(result)
    for (row, what), group in groups.items():
        minutes = [r.minutes for r in group]
        shortest, longest = f"{min(minutes):.2g}", f"{max(minutes):.2g}"
        span = shortest if shortest == longest else f"{shortest}-{longest}"
        values = "; ".join(number(r) for r in group)
        most = f"{round(max(r.games for r in group), -3):,}"
        lines.append(f"| `{row}` | {most} | {span} | {what} | {values} |")
    return "\n".join(lines)


if __name__ == "__main__":
    raise SystemExit(main())
