"""Train an evaluator by self-play: `deltaw train [experiment=...] [key=value ...]`.

This module composes a learner, the arena, the log and the checkpoints, and knows no game and no method. Everything it
writes goes to the run's folder (`hydra.run.dir`, by default under outputs/):

    evaluator.safetensors    what to play with           checkpoint.pt      what to go on with
    best.safetensors         the strongest against       past/              earlier evaluators
                             measure.against
    strength.jsonl           the strength curve          .hydra/            the configuration
    events...                TensorBoard

Ctrl-C and SIGTERM save, say how to go on, and end with status 130 and 143. One process at a time trains in a folder;
`.lock` there sees to it.
"""

from __future__ import annotations

import contextlib
import shlex
import signal
import sys
import time
from pathlib import Path
from typing import Any

import hydra
import numpy as np
import torch
from hydra.core.hydra_config import HydraConfig
from omegaconf import DictConfig

from deltaw.envs import games
from deltaw.envs.cli import shell_name
from deltaw.envs.control import SIGNALS
from deltaw.envs.errors import InputError
from deltaw.envs.game import Game
from deltaw.learn.learner import Learner, Metrics
from deltaw.learn.run.checkpoint import differing_keys, load_checkpoint, locked, save_checkpoint
from deltaw.learn.run.config import RunConfig, checked, completed, learner_module, settings_of
from deltaw.learn.run.hydra_app import check_command_line, one_line_errors
from deltaw.learn.run.progress import Progress
from deltaw.learn.run.start import start_of
from deltaw.learn.run.strength import (
    Best,
    PastSelves,
    Strength,
    StrengthLog,
    headline,
    measure,
    named_opponents,
    past_name,
    searched_name,
)
from deltaw.learn.watch.tensorboard import Board
from deltaw.learn.workers.backend import make_backend
from deltaw.search.evaluators.evaluator import Evaluator, remove_drafts, save_evaluator
from deltaw.search.players.players import Player
from deltaw.search.players.threads import cores


@one_line_errors
def main() -> None:
    """Entry point of `deltaw train`."""
    folder = check_command_line("train", _check)
    with locked(folder) if folder else contextlib.nullcontext():  # before Hydra writes there
        _app()


def _check(raw: DictConfig, folder: Path) -> None:
    Run(checked(raw), folder).checkpoint()


@hydra.main(version_base="1.3", config_path="pkg://deltaw.conf", config_name="train")
@one_line_errors
def _app(raw: DictConfig) -> float | None:
    """Returns the final strength, which a sweep may maximise."""
    run = Run(checked(raw), Path(HydraConfig.get().runtime.output_dir))
    status = run.go()
    if status:
        sys.exit(status)
    strength = run.headline(run.strengths)
    return strength.ppg if strength else None


class Run:
    """One training run in one folder."""

    def __init__(self, config: RunConfig, folder: Path) -> None:
        self.config, self.folder = config, folder
        self.settings = settings_of(config)
        self.workers = config.workers or cores()
        self.backend = make_backend(config.backend, self.workers)
        # An update is a sixth of the time: a second thread makes it 1.5 times as fast on a free core, 14 times as slow
        # on a busy one.
        torch.set_num_threads(1)
        self.game: Game = games.load(config.game.name)
        self.opponents = named_opponents(self.game, config.game.opponents or [])
        self.learner: Learner = self._learner()
        self.seconds = 0.0  # of training, measurements not counted, earlier sittings included
        self.measured_at = -1
        self.strengths: list[Strength] = []
        self.best: Best | None = None
        self.stopped_by: int | None = None
        """the signal that ends the run early"""
        self.measuring = False

    def _learner(self) -> Learner:
        name, options = self.config.learner
        start = start_of(self.game, self.config)
        return learner_module(name).make(
            options, start, seed=self.config.seed, budget=self.config.games, backend=self.backend
        )

    def headline(self, results: list[Strength]) -> Strength | None:
        return headline(results, self.config.game.opponents or [], self.config.measure)

    # --- the run ----------------------------------------------------------------------------------------------

    def go(self) -> int:
        """Train until the budget is used; returns the exit status."""
        with locked(self.folder):
            for folder in (self.folder, self.folder / "past"):
                remove_drafts(folder)
            return self._go()

    def _go(self) -> int:
        resumed_at = self._resume()
        self.past = PastSelves(self.game, self.folder / "past", self.config.measure.past)
        self.log = StrengthLog(self.folder / "strength.jsonl", resumed_at)
        names = [player.name for player in self.opponents]
        names += [past_name(k) for k in range(1, self.config.measure.past + 1)]
        ways = ["", *(searched_name(f"@{text}") for text in self.config.measure.searches)]
        curves = [name + way for name in names for way in ways]
        self.board = Board(self.folder, self.game, curves, resumed_at)
        self.board.again(self.log.records)
        self.board.configuration(self.settings)
        before = [signal.signal(number, self._interrupted) for number in SIGNALS]
        try:
            with Progress(self.config.games, self.learner.games) as self.progress:
                self._train()
            if self.stopped_by is None:
                self._finish()
                return 0
        except KeyboardInterrupt:  # in a measurement, which will be made by the run that goes on
            self._save()
        except OSError as error:  # from TensorBoard's writer; our own files raise InputError
            raise InputError(f"cannot write to {self.folder}: {error.strerror or error}") from None
        finally:
            for number, handler in zip(SIGNALS, before, strict=True):
                signal.signal(number, handler)
            self.board.close()
            self.backend.close()
        return self._stopped()

    def _train(self) -> None:
        saved, step = time.monotonic(), 0
        while not self._done():
            if self._measurement_is_due():
                self._measure()
            began = time.monotonic()
            metrics = self.learner.step()
            self.seconds += time.monotonic() - began
            step += 1
            self._check_finite(metrics)
            self.progress.show(metrics.games, self.seconds, self.headline(self.strengths))
            if step % self.config.log_every == 0:
                self._log(metrics)
            if time.monotonic() - saved > 60 * self.config.checkpoint_minutes:
                self._save()
                saved = time.monotonic()
        self._save()

    def _done(self) -> bool:
        late = self.config.minutes is not None and self.seconds >= 60 * self.config.minutes
        return self.stopped_by is not None or late or self.learner.games >= self.config.games

    def _measurement_is_due(self) -> bool:
        every = self.config.measure.every
        return self.measured_at < 0 or (every > 0 and self.learner.games - self.measured_at >= every)

    def _interrupted(self, number: int, frame: Any) -> None:
        """A step of the learner ends as it would; a measurement, whose searches have just been stopped, is dropped."""
        self.stopped_by = number
        if self.measuring:
            raise KeyboardInterrupt

    def _check_finite(self, metrics: Metrics) -> None:
        """Stop before a diverged learner overwrites the last good checkpoint."""
        bad = [name for name, value in metrics.scalars.items() if not np.isfinite(value)]
        if bad or not self.learner.finite():
            raise self._diverged(f"NaN or infinity in {', '.join(bad) or 'the weights'}", metrics.games)

    def _evaluator(self) -> Evaluator:
        """What has been learned, unless the weights are too large to be summed up."""
        try:
            return self.learner.evaluator()
        except InputError as error:
            raise self._diverged(str(error), self.learner.games) from None

    def _diverged(self, what: str, games_now: int) -> InputError:
        """What stops a run whose weights have lost all bounds; says what is kept."""
        kept = [f"the last good checkpoint is {self.folder / 'checkpoint.pt'}"]
        if self.best:
            kept.append(f"the best evaluator so far is {self.folder / 'best.safetensors'} ({self.best.text})")
        if hasattr(self.config.learner[1], "step_size"):
            kept.append("try a smaller learner.step_size")
        return InputError(f"training diverged: {what} after {games_now} games; {'; '.join(kept)}")

    def _log(self, metrics: Metrics) -> None:
        speed = {
            "speed/games": metrics.games / max(self.seconds, 1e-9),
            "speed/positions": metrics.positions / max(self.seconds, 1e-9),
        }
        self.board.scalars(metrics.scalars | speed, metrics.games)

    def _measure(self) -> None:
        evaluator, games_now = self._evaluator(), self.learner.games
        opponents = [*self.opponents, *self.past.opponents(games_now)]
        self.strengths = self._strengths(evaluator, opponents, self.config.measure.games)
        self.measured_at = games_now
        self.board.evaluator(evaluator, games_now)
        self.past.keep(evaluator, games_now)
        self.progress.measured(games_now, self.seconds, self.strengths)
        self._save()  # so that no measurement is made, and shown, twice

    def _strengths(self, evaluator: Evaluator, opponents: list[Player], games_each: int) -> list[Strength]:
        """Measure, note it everywhere, and keep the evaluator if it is the best so far."""
        games_now, how = self.learner.games, self.config.measure
        self.measuring = True
        try:
            results = measure(self.game, evaluator, opponents, games_each, self.workers, how)
        finally:
            self.measuring = False
        self.log.add(games_now, self.seconds, results)
        self.board.strength(results, games_now, self.seconds)
        strength = self.headline(results)
        if strength is not None and (self.best is None or strength.ppg > self.best.strength.ppg):
            self.best = Best(games_now, strength)
            save_evaluator(evaluator, self.folder / "best.safetensors")
        return results

    # --- files ------------------------------------------------------------------------------------------------

    def _save(self) -> None:
        evaluator = self._evaluator()  # first: nothing is overwritten where there is none
        state = {
            "settings": self.settings,
            "learner": self.learner.state(),
            "seconds": self.seconds,
            "measured_at": self.measured_at,
            "strengths": [tuple(s) for s in self.strengths],
            "best": [self.best.games, tuple(self.best.strength)] if self.best else None,
        }
        save_checkpoint(self.folder / "checkpoint.pt", state)
        save_evaluator(evaluator, self.folder / "evaluator.safetensors")

    def checkpoint(self) -> dict[str, Any] | None:
        """The folder's checkpoint, if there is one; InputError if another configuration made it."""
        path = self.folder / "checkpoint.pt"
        if not path.exists():
            return None
        state = load_checkpoint(path)
        ignored = {
            "minutes": self.config.minutes,
            "backend": self.config.backend,
            "workers": self.config.workers,
            "checkpoint_minutes": self.config.checkpoint_minutes,
            "tags": self.config.tags,
        }
        changed = differing_keys(completed(state["settings"] | ignored), self.settings)
        if changed:
            raise InputError(f"{path} was made with another configuration: {'; '.join(changed)}")
        return state

    def _resume(self) -> int | None:
        """Go on from the folder's checkpoint, if there is one; returns its games."""
        state = self.checkpoint()
        if state is None:
            return None
        self.learner.restore(state["learner"])
        self.seconds, self.measured_at = state["seconds"], state["measured_at"]
        self.strengths = [Strength(*s) for s in state["strengths"]]
        best, now = state.get("best"), self.headline(self.strengths)
        if best and now and best[1][0] == now.opponent:  # earlier versions chose it by another opponent
            self.best = Best(best[0], Strength(*best[1]))
        print(f"going on from {self.folder / 'checkpoint.pt'} at {self.learner.games:,} games", file=sys.stderr)
        return self.learner.games

    def _stopped(self) -> int:
        """Say how to go on; returns the exit status, as shells report it."""
        command = shlex.join(
            [shell_name("deltaw"), "train", *HydraConfig.get().overrides.task, f"hydra.run.dir={self.folder}"]
        )
        print(f"stopped at {self.learner.games:,} games; everything is saved. To go on:\n  {command}", file=sys.stderr)
        assert self.stopped_by is not None
        return 128 + self.stopped_by

    def _finish(self) -> None:
        evaluator = self._evaluator()
        self.strengths = results = self._strengths(evaluator, self.opponents, self.config.measure.final_games)
        self._save()
        self.board.evaluator(evaluator, self.learner.games)
        self.board.finish(self.settings, results)
        self.progress.summary(self.game, self.folder, self.learner.games, self.seconds, results, self.best)


if __name__ == "__main__":
    main()
