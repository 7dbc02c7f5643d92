"""A progress bar with games a second, time left and the latest strength; plain lines where there is no terminal."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn
from rich.progress import Progress as Bar
from rich.table import Table

from deltaw.envs.cli import shell_name
from deltaw.envs.game import Game
from deltaw.learn.run.strength import Best, Strength


def strength_text(results: list[Strength]) -> str:
    return ", ".join(f"{s.opponent} {s.ppg:+.3f} ± {s.standard_error:.3f}" for s in results)


class Progress:
    """Context manager around the training loop."""

    def __init__(self, total: int, done: int) -> None:
        self.console = Console(stderr=True)
        columns = (
            BarColumn(),
            MofNCompleteColumn(),
            TextColumn("games, {task.fields[speed]:.0f}/s,"),
            TimeRemainingColumn(),
            TextColumn("left"),
        )
        self._bar = Bar(
            *columns, TextColumn("{task.fields[strength]}"), console=self.console, disable=not sys.stderr.isatty()
        )
        self._task = self._bar.add_task("", total=total, completed=done, speed=0.0, strength="")

    def __enter__(self) -> Progress:
        self._bar.start()
        return self

    def __exit__(self, *_: Any) -> None:
        self._bar.stop()

    def show(self, games: int, seconds: float, strength: Strength | None) -> None:
        text = strength_text([strength]) if strength else ""
        self._bar.update(self._task, completed=games, speed=games / max(seconds, 1e-9), strength=text)

    def measured(self, games: int, seconds: float, strengths: list[Strength]) -> None:
        """One line a measurement; it stays above the bar."""
        self.console.print(
            f"{games:>11,} games {seconds:7.0f} s   {strength_text(strengths)}", highlight=False, soft_wrap=True
        )

    def summary(
        self, game: Game, folder: Path, games: int, seconds: float, results: list[Strength], best: Best | None
    ) -> None:
        """The table that ends a run, and what to do next."""
        console = Console()
        table = Table(
            title=f"{game.title}: {games:,} games of self-play in {seconds / 60:.1f} minutes",
            caption="± is one standard error",
        )
        for name in ("opponent", "points per game", "games"):
            table.add_column(name, justify="left" if name == "opponent" else "right")
        for s in results:
            table.add_row(s.opponent, f"{s.ppg:+.3f} ± {s.standard_error:.3f}", f"{s.games:,}")
        console.print(table)
        if best and best.games != games:
            console.print(f"stronger earlier: best.safetensors, {best.text}", highlight=False, soft_wrap=True)
        evaluator = folder / "evaluator.safetensors"
        for what, command in (
            ("play against it", f"{shell_name('deltaw')} play {game.name} --evaluator {evaluator}"),
            ("ask it", f"{shell_name('deltaw')} analyze {game.name} --evaluator {evaluator}"),
            ("see the curves", f"{shell_name('tensorboard')} --logdir {folder.parent}"),
        ):
            console.print(f"{what + ':':<17} {command}", highlight=False, soft_wrap=True)
