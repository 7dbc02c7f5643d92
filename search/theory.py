"""Explain a game in normal form, its dominance and its equilibria: `deltaw theory`.

    deltaw theory docs/examples/dilemma.csv
    deltaw theory docs/examples/chicken.nfg --json
    deltaw theory docs/examples/dilemma.csv --to dilemma.nfg     in the other format

The formats, CSV for two players and Gambit's .nfg, are described in docs/theory.md.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from deltaw.envs.cli import Parser, guarded
from deltaw.search.equilibria.normal_form import (
    MOST_STRATEGIES,
    PRECISION,
    Dominance,
    NormalForm,
    Profile,
    best_replies,
    correlated_equilibrium,
    dominated,
    eliminate,
    mixed_equilibria,
    pareto_optima,
    patience,
    price_of_anarchy,
    pure_equilibria,
)
from deltaw.search.equilibria.normal_form_files import normal_form_text, read_normal_form
from deltaw.search.evaluators.evaluator import write_whole
from deltaw.search.terminal.tables import empty_table

DIGITS = 6


def parser() -> Parser:
    p = Parser(prog="deltaw theory", description="Explain a game in normal form: dominance, equilibria, welfare.")
    p.add_argument("file", help="a table of payoffs: .csv (two players) or .nfg")
    p.add_argument("--to", metavar="FILE", help="write the game to this .csv or .nfg, and explain nothing")
    p.add_argument("--json", action="store_true", help="one JSON object on stdout instead of a table")
    return p


@guarded
def main(argv: list[str] | None = None) -> int:
    options = parser().parse_args(argv)
    game = read_normal_form(options.file)
    if options.to is not None:
        write_whole(options.to, normal_form_text(game, options.to).encode())
        print(f"wrote {options.to}")
        return 0
    found = analyse(game)
    if options.json:
        print(json.dumps(found))
    else:
        _report(game, found)
    return 0


def analyse(game: NormalForm) -> dict[str, Any]:
    """All answers, as plain data. Raises InputError without the extra."""
    pure, welfare = pure_equilibria(game), game.payoffs.sum(axis=0)
    solved = len(game.players) == 2 and max(game.shape) <= MOST_STRATEGIES
    mixed, degenerate = mixed_equilibria(game) if solved else ([], False)
    worths = [one.payoffs for one in mixed] if solved else [game.at(profile) for profile in pure]
    correlated = correlated_equilibrium(game)
    optima = pareto_optima(game)
    return {
        "title": game.title,
        "players": game.players,
        "strategies": game.strategies,
        "dominated": [_dominance(game, one) for one in dominated(game)],
        "eliminated": [_dominance(game, one) for one in eliminate(game)],
        "pure_equilibria": [_profile(game, profile) for profile in pure],
        "mixed_equilibria": [
            {"mixtures": [_rounded(row) for row in one.mixtures], "payoffs": _rounded(one.payoffs)} for one in mixed
        ]
        if solved
        else None,
        "degenerate": degenerate,
        "pareto_optima": [_profile(game, profile) for profile in optima],
        "best_welfare": float(welfare.max()),
        "price_of_anarchy": price_of_anarchy(game, worths),
        "correlated": [
            _profile(game, profile) | {"chance": round(float(correlated[profile]), DIGITS)}
            for profile in game.profiles
            if correlated[profile] > PRECISION
        ],
        "correlated_welfare": round(float((correlated * welfare).sum()), DIGITS),
        "repeated": list(_agreements(game, optima, pure)),
    }


def _agreements(game: NormalForm, optima: Sequence[Profile], pure: Sequence[Profile]) -> Iterator[dict[str, Any]]:
    """Optima that everybody likes better than a pure equilibrium, and the patience that keeps them."""
    for agreed in optima:
        for threat in pure:
            if (game.at(agreed) > game.at(threat) + game.tolerance).all():
                needed = patience(game, agreed, threat)
                agreement = {"profile": _profile(game, agreed), "threat": _profile(game, threat)}
                yield agreement | {"discount": needed}


def _dominance(game: NormalForm, found: Dominance) -> dict[str, Any]:
    names = game.strategies[found.player]
    return {
        "player": game.players[found.player],
        "strategy": names[found.strategy],
        "by": {name: round(chance, DIGITS) for name, chance in zip(names, found.by, strict=True) if chance > PRECISION},
        "strict": found.strict,
    }


def _profile(game: NormalForm, profile: Profile) -> dict[str, Any]:
    names = [all_names[i] for all_names, i in zip(game.strategies, profile, strict=True)]
    return {"strategies": names, "payoffs": game.at(profile).tolist()}


def _rounded(numbers: np.ndarray) -> list[float]:
    return [round(float(number), DIGITS) + 0.0 for number in numbers]


# --- for people -------------------------------------------------------------------------------------------------------


def _report(game: NormalForm, found: dict[str, Any]) -> None:
    from rich.console import Console
    from rich.markup import escape

    console = Console(highlight=False)
    if len(game.players) == 2:
        console.print(_table(game))
        first, second = game.players
        console.print(escape(f"The lines are {first}'s, the columns {second}'s. A payoff with * is a best reply."))
    for head, lines in _sections(found):
        console.print(f"\n[bold]{head}[/bold]")
        for line in lines or ["none"]:
            console.print(f"  {escape(line)}", soft_wrap=True)


def _table(game: NormalForm) -> Any:
    from rich.markup import escape

    table = empty_table(escape(game.title), "", *map(escape, game.strategies[1]))
    best = best_replies(game)
    for i, name in enumerate(game.strategies[0]):
        cells = []
        for j in range(game.shape[1]):
            marks = ["*" if best[(player, i, j)] else "" for player in (0, 1)]
            cells.append(", ".join(f"{worth:g}{mark}" for worth, mark in zip(game.at((i, j)), marks, strict=True)))
        table.add_row(escape(name), *cells)
    return table


def _sections(found: dict[str, Any]) -> Iterator[tuple[str, list[str]]]:
    yield "Dominated strategies", [_dominance_text(one) for one in found["dominated"]]
    yield "Eliminated one after the other, by strict dominance", [_dominance_text(one) for one in found["eliminated"]]
    yield "Equilibria in pure strategies", [_profile_text(one) for one in found["pure_equilibria"]]
    if found["mixed_equilibria"] is None:
        yield "Equilibria in mixed strategies", [f"looked for with 2 players of at most {MOST_STRATEGIES} strategies"]
    else:
        texts = [_mixed_text(found, one) for one in found["mixed_equilibria"] if _is_mixed(one)]
        degenerate = ["the game is degenerate: mixtures of these may be equilibria, too"] if found["degenerate"] else []
        yield "Equilibria in mixed strategies", texts + degenerate
    yield "Pareto optima", [_profile_text(one) for one in found["pareto_optima"]]
    price = found["price_of_anarchy"]
    anarchy = "not defined" if price is None else f"{price:.6g}, the best sum divided by that of the worst equilibrium"
    yield "Welfare", [f"the best sum of payoffs is {found['best_welfare']:g}", f"price of anarchy: {anarchy}"]
    chances = [f"{_profile_text(one)} with probability {one['chance']:g}" for one in found["correlated"]]
    yield "Best correlated equilibrium", [*chances, f"sum of payoffs: {found['correlated_welfare']:g}"]
    if found["repeated"]:
        yield "In the repeated game", [_agreement_text(one) for one in found["repeated"]]


def _dominance_text(one: dict[str, Any]) -> str:
    by = " + ".join(name if chance == 1 else f"{chance:g} {name}" for name, chance in one["by"].items())
    return f"{one['player']}: {by} dominates {one['strategy']} {'strictly' if one['strict'] else 'weakly'}"


def _profile_text(one: dict[str, Any]) -> str:
    return f"({', '.join(one['strategies'])}): {', '.join(f'{worth:g}' for worth in one['payoffs'])}"


def _is_mixed(one: dict[str, Any]) -> bool:
    return any(0 < chance < 1 for mixture in one["mixtures"] for chance in mixture)


def _mixed_text(found: dict[str, Any], one: dict[str, Any]) -> str:
    texts = []
    for player, names, chances in zip(found["players"], found["strategies"], one["mixtures"], strict=True):
        mixture = ", ".join(f"{name} {chance:g}" for name, chance in zip(names, chances, strict=True) if chance)
        texts.append(f"{player}: {mixture}")
    return f"{'; '.join(texts)}. Payoffs: {', '.join(f'{worth:g}' for worth in one['payoffs'])}"


def _agreement_text(one: dict[str, Any]) -> str:
    agreed, threat = _profile_text(one["profile"]), _profile_text(one["threat"])
    if one["discount"] is None:
        return f"{agreed} cannot be kept by the threat of {threat}"
    return (
        f"{agreed} holds by the threat of {threat} for ever, where the discount factor is {one['discount']:g} or more"
    )


if __name__ == "__main__":
    sys.exit(main())
