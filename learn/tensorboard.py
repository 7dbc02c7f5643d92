"""What a run shows in TensorBoard.

strength/OPPONENT            points per game against it at 1 ply, with _low and _high (95 %); the headline, as a margin chart under CUSTOM SCALARS
train/*                      see the learner's step
play/*                       length of the games; share of gammons or more
speed/*                      games and positions a second
probes/*                     boards of fixed positions with what the evaluator thinks of them
weights/*, errors/td         histograms of every layer, and of the last batch's errors
text, hparams                the resolved configuration; the settings beside the final strength
"""

from __future__ import annotations

import contextlib
import threading
from pathlib import Path
from typing import Any

import numpy as np
import yaml
from PIL import Image, ImageDraw, ImageFont
from torch.utils.tensorboard import SummaryWriter
from torch.utils.tensorboard.summary import hparams

from envs.game import Game
from learn.strength import INTERVAL
from search.evaluator import Evaluator, Opinion


class Board:
    """Writes one run's event files; `games` is the step of every curve."""

    def __init__(self, folder: Path, game: Game, opponents: list[str], resume_at: int | None) -> None:
        threading.excepthook = _quiet_about_files
        purge = (
            0 if resume_at is None else resume_at + 1
        )  # also what a run left that was killed before its first checkpoint
        self.writer = SummaryWriter(str(folder), flush_secs=10, purge_step=purge)
        self.game = game
        charts = {
            name: ["Margin", [f"strength/{name}", f"strength/{name}_low", f"strength/{name}_high"]]
            for name in opponents
        }
        self.writer.add_custom_scalars(
            {"strength (ppg, 95 %)": charts, "learning": {"errors": ["Multiline", ["train/.*"]]}}
        )

    def configuration(self, settings: dict[str, Any]) -> None:
        self.writer.add_text("configuration", "```yaml\n" + yaml.safe_dump(settings, sort_keys=False) + "```", 0)

    def scalars(self, values: dict[str, float], games: int) -> None:
        for name, value in values.items():
            self.writer.add_scalar(name, value, games)

    def strength(self, opponent: str, mean: float, standard_error: float, games: int) -> None:
        self.writer.add_scalar(f"strength/{opponent}", mean, games)
        self.writer.add_scalar(f"strength/{opponent}_low", mean - INTERVAL * standard_error, games)
        self.writer.add_scalar(f"strength/{opponent}_high", mean + INTERVAL * standard_error, games)

    def probes(self, evaluator: Evaluator, games: int) -> None:
        """Pictures of the game's probe positions with the evaluator's opinion."""
        for label, position in self.game.probes:
            state = self.game.parse(position)
            picture = opinion_picture(self.game, state, evaluator.opinion(state))
            self.writer.add_image(f"probes/{label.replace(' ', '_')}", np.asarray(picture), games, dataformats="HWC")

    def histograms(self, evaluator: Evaluator, games: int) -> None:
        for name, tensor in evaluator.tensors.items():
            self.writer.add_histogram(f"weights/{name}", tensor, games)

    def errors(self, errors: np.ndarray, games: int) -> None:
        if len(errors):
            self.writer.add_histogram("errors/td", errors, games)

    def finish(self, settings: dict[str, Any], results: dict[str, float]) -> None:
        """Settings beside results, in this run's own event file (`add_hparams` would make a second run)."""
        flat = {name: value for name, value in _flatten(settings).items() if isinstance(value, (bool, int, float, str))}
        assert self.writer.file_writer is not None
        for summary in hparams(flat, {f"final/{name}": value for name, value in results.items()}):
            self.writer.file_writer.add_summary(summary)
        for name, value in results.items():
            self.writer.add_scalar(f"final/{name}", value, 0)
        self.writer.flush()

    def close(self) -> None:
        with contextlib.suppress(OSError):  # a full disk has already been reported by the write that met it
            self.writer.close()


def _quiet_about_files(failure: threading.ExceptHookArgs) -> None:
    """TensorBoard writes in a thread of its own, and its next call raises what went wrong there: no traceback from the thread as well."""
    if not issubclass(failure.exc_type, OSError):
        threading.__excepthook__(failure)


def _flatten(settings: dict[str, Any], prefix: str = "") -> dict[str, Any]:
    flat: dict[str, Any] = {}
    for name, value in settings.items():
        if isinstance(value, dict):
            flat |= _flatten(value, f"{prefix}{name}.")
        else:
            flat[f"{prefix}{name}"] = str(value) if isinstance(value, (list, tuple)) else value
    return flat


def opinion_picture(game: Game, state: Any, opinion: Opinion) -> Image.Image:
    """The board with a strip below: the value, and a bar of the chances of every outcome."""
    board = game.draw(state).convert("RGB")
    strip = 56
    picture = Image.new("RGB", (board.width, board.height + strip), "#202428")
    picture.paste(board, (0, 0))
    pen = ImageDraw.Draw(picture)
    top = board.height + 30
    chances = opinion.chances or _two_sided(opinion.value, max(game.rules.outcomes))
    outcomes = game.rules.outcomes if opinion.chances else (-1, 1)
    pen.text(
        (12, board.height + 6),
        f"value {opinion.value:+.3f} for the side to move",
        fill="#e8e6e0",
        font=ImageFont.load_default(16),
    )
    left = 12.0
    for outcome, chance in reversed(list(zip(outcomes, chances, strict=True))):
        width = chance * (board.width - 24)
        pen.rectangle([left, top, left + width, top + 16], fill=_shade(outcome, max(outcomes)))
        left += width
    return picture


def _two_sided(value: float, largest: float) -> tuple[float, float]:
    win = min(max(0.5 + value / (2 * largest), 0.0), 1.0)
    return 1.0 - win, win


def _shade(outcome: int, largest: int) -> str:
    """Greens for wins, reds for losses, grey for a draw; the darker, the more it counts."""
    if outcome == 0:
        return "#8a8a8a"
    strength = 1.0 - 0.25 * (abs(outcome) - 1)
    base = (70, 170, 90) if outcome > 0 else (200, 80, 60)
    return "#" + "".join(f"{int(c * strength):02x}" for c in base)
