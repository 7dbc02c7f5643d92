"""How near is a backgammon evaluator to a stronger judge: `python -m benchmarks.accuracy --evaluator network`.

Two measures, both on positions that other programs judged (tests/data/README.md) and that no training here ever sees:

    loss     mean over decisions of (best candidate's equity - chosen candidate's), x 1000; the judge is gnubg two
             plies deeper
    error    mean absolute difference of the equity before the roll from gnubg's 2-ply column, x 1000
"""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import numpy as np

from deltaw.envs import games
from deltaw.envs.cli import Parser, guarded
from deltaw.search.evaluators.named import DEFAULT, find_evaluator
from deltaw.search.players.agent import Agent

DATA = Path(__file__).parent.parent / "tests" / "data"


def records(name: str) -> list[dict[str, Any]]:
    with gzip.open(DATA / name, "rt") as file:
        return [json.loads(line) for line in file]


def losses(agent: Agent) -> np.ndarray:
    """Equity lost in each decision [n]."""
    game, lost = agent.game, []
    for record in records("decisions.jsonl.gz"):
        state = game.parse(record["id"])
        dice = "".join(map(str, record["dice"]))
        state, _ = game.rules.chance(state, game.find_chance(state, dice))
        equity = {result: values[2] if len(values) > 2 else values[1] for result, *values in record["cand"]}
        chosen = game.format(game.rules.play(state, agent.choose(state)))
        lost.append(max(equity.values()) - equity[chosen])
    return np.array(lost)


def errors(agent: Agent) -> np.ndarray:
    """Absolute differences of equity before the roll [n]."""
    found = [(agent.value(agent.game.parse(r["id"])).value, r["g2"]["eq"]) for r in records("evals.jsonl.gz")]
    return np.abs(np.array(found) @ np.array([1.0, -1.0]))


def report(values: np.ndarray) -> str:
    return f"{1000 * values.mean():.1f} ± {1000 * values.std(ddof=1) / np.sqrt(len(values)):.1f}"


@guarded
def main(argv: list[str] | None = None) -> None:
    parser = Parser(
        prog="python -m benchmarks.accuracy", description="Compare a backgammon evaluator with gnubg's judgement."
    )
    parser.add_argument("--evaluator", default=DEFAULT, help="a name or a file (default %(default)s)")
    parser.add_argument("--plies", type=int, nargs="+", choices=(1, 2), default=[1, 2])
    options = parser.parse_args(argv)
    game = games.load("backgammon")
    evaluator = find_evaluator(game, options.evaluator)
    print("x 1000; ± is one standard error")
    for plies in options.plies:
        line = (
            f"{options.evaluator}, {plies} ply: loss a decision {report(losses(Agent(game, evaluator, plies=plies)))}"
        )
        if getattr(evaluator, "kind", "") != "rank":
            line += f", equity error {report(errors(Agent(game, evaluator, plies=plies, candidates=0)))}"
        print(line)


if __name__ == "__main__":
    raise SystemExit(main())
