"""What a run shows in TensorBoard: the glossary. Steps are games of training, unless it says seconds.

strength/OPPONENT            the headline: points per game against it at 1 ply (wins minus losses where a win counts
                             one), with _low and _high, a 95 % interval; margin charts under CUSTOM SCALARS
strength_by_second/OPPONENT  the same; the step is whole seconds of training: runs of different methods at equal seconds
final/OPPONENT               the measurement that ends a run
train/td_error               size of the TD errors that were learned from; it shows whether learning continues, not how
                             strong the evaluator is
train/*                      loss, step size, norms of gradients and traces: see the learner's step
play/*                       length of the training games, share of double wins or draws
speed/*                      games and positions a second of training
ga/*                         best, mean, median and worst fitness, sigma, diversity, the elites measured anew: see
                             learn/strategies/genetic.py. Fitness is relative to the population: no strength
partner/*                    the same of the sparring partner that learns at the moment: see learn/learners/sparring.py
automata/*                   mu and sigma, or the probabilities, of every weight, entropy and payoff: see
                             learn/automata/team.py
dynamic/*                    gain of adapting over the weights of the start, and its standard error: see
                             learn/learners/dynamic.py
opponent/*                   how much more often than by chance the opponent chooses by a criterion
weights/NAME                 the weight of a feature, of linear evaluators: of all features up to 40, else of the 20
                             that vary most over positions of random games (so they are the same in every run of a
                             game). With a head over outcome classes: the slope of the value where all classes are
                             equally likely
weights/board                the weights of the features that describe squares, on the board; the deepest colour is the
                             largest weight of the moment
weights/weight0, bias0 ...   histograms of every layer
sample/*                     games of the evaluator against itself (learn/selfplay/sample.py): calibration_error, the
                             expected calibration error of the predicted score; reliability, its picture; td_error, root
                             mean square and histogram of v_{t+1} - v_t, the same measure for every learner; game, the
                             one of median length with the evaluator's values
probes/*                     boards of fixed positions with what the evaluator thinks of them
configuration, hparams       the resolved configuration; the settings beside the final strength
"""

from __future__ import annotations

import contextlib
import threading
from pathlib import Path
from typing import Any

import numpy as np
import yaml
from torch.utils.tensorboard import SummaryWriter
from torch.utils.tensorboard.summary import hparams

from deltaw.envs.game import FeatureSet, Game
from deltaw.learn.run.strength import INTERVAL, Strength
from deltaw.learn.selfplay.sample import annotated, outcome_values, play_sample, reliability, scores, typical
from deltaw.learn.watch.charts import board_chart, reliability_chart
from deltaw.learn.watch.pictures import opinion_picture
from deltaw.learn.watch.report_board import Drawing, dense, random_rows
from deltaw.search.evaluators.evaluator import Evaluator

MOST_CURVES = 40
"""features whose weights are all drawn"""
FEWER_CURVES = 20
"""drawn of more"""
MOST_NAMES = 10_000
"""features above which none is drawn: entries of tables have no names that say anything"""
POSITIONS = 500
"""of random games, in which features vary"""
HISTOGRAM = 100_000
"""numbers that a histogram of weights is made of, at most: evenly spaced ones of more"""
WIDEST = 1e19
"""TensorBoard's bins end at 1e20, and it fails if all numbers lie beyond"""

GROUPS = {
    "train": {
        "errors": ["Multiline", ["train/(td_error|output_error|loss)"]],
        "norms": ["Multiline", ["train/.*norm"]],
        "step size": ["Multiline", ["train/step_size"]],
    },
    "ga": {
        "fitness": ["Multiline", ["ga/(best|mean|median|worst)"]],
        "elites: expected and measured anew": ["Multiline", ["ga/elite_.*"]],
        "spread": ["Multiline", ["ga/(sigma|diversity)"]],
    },
    "partner": {"fitness": ["Multiline", ["partner/(best|mean|median|worst)"]]},
    "dynamic": {"gain": ["Multiline", ["dynamic/gain"]], "points a game": ["Multiline", ["dynamic/points.*"]]},
    "opponent": {"habits": ["Multiline", ["opponent/.*"]]},
    "automata": {
        "mean": ["Multiline", ["automata/mu/.*"]],
        "spread": ["Multiline", ["automata/sigma/.*"]],
        "entropy": ["Multiline", ["automata/entropy"]],
        "payoff": ["Multiline", ["automata/payoff.*"]],
    },
}
"""charts under CUSTOM SCALARS, by the first word of the scalars they show: a run has those of its learner"""


class Board:
    """Writes one run's event files."""

    def __init__(self, folder: Path, game: Game, opponents: list[str], resume_at: int | None) -> None:
        """`resume_at`: games at which the run goes on; what an earlier sitting logged later is taken back."""
        threading.excepthook = _quiet_about_files
        # 0 also takes back what a run left that was killed before its first checkpoint.
        self._purged_from = 0 if resume_at is None else resume_at + 1
        self.writer = SummaryWriter(str(folder), flush_secs=10, purge_step=self._purged_from)
        self.game, self._opponents = game, opponents
        self._groups: set[str] | None = None
        self._watched: tuple[np.ndarray, list[str]] | None = None
        self._drawing: Drawing | None = None

    def configuration(self, settings: dict[str, Any]) -> None:
        self.writer.add_text("configuration", "```yaml\n" + yaml.safe_dump(settings, sort_keys=False) + "```", 0)

    def scalars(self, values: dict[str, float], games: int) -> None:
        if self._groups is None:
            self._lay_out({name.split("/")[0] for name in values})
        for name, value in values.items():
            self.writer.add_scalar(name, value, games)

    def _lay_out(self, groups: set[str]) -> None:
        """The charts under CUSTOM SCALARS, which TensorBoard wants once: when it is known what the learner logs."""
        self._groups = groups
        layout: dict[str, Any] = {}
        for title, tag in (("strength by games", "strength"), ("strength by seconds", "strength_by_second")):
            layout[f"{title} (points a game, 95 %)"] = {
                name: ["Margin", [f"{tag}/{name}", f"{tag}/{name}_low", f"{tag}/{name}_high"]]
                for name in self._opponents
            }
        layout |= {name: charts for name, charts in GROUPS.items() if name in groups}
        layout["calibration"] = {"error": ["Multiline", ["sample/calibration_error"]]}
        if self._watched:
            layout["weights"] = {"by feature": ["Multiline", ["weights/.*"]]}
        self.writer.add_custom_scalars(layout)

    def strength(self, results: list[Strength], games: int, seconds: float) -> None:
        for result in results:
            self._with_interval("strength", result, games)
            self._with_interval("strength_by_second", result, int(seconds))

    def again(self, records: list[dict[str, Any]]) -> None:
        """Writes again the points by seconds of an earlier part of the run. TensorBoard takes them back if the seconds
        are more than the games."""
        for r in records:
            if int(r["seconds"]) >= self._purged_from > 0:
                earlier = Strength(r["opponent"], r["ppg"], r["standard_error"], r["match_games"])
                self._with_interval("strength_by_second", earlier, int(r["seconds"]))

    def _with_interval(self, tag: str, result: Strength, step: int) -> None:
        reach = INTERVAL * result.standard_error
        for ending, value in (("", result.ppg), ("_low", result.ppg - reach), ("_high", result.ppg + reach)):
            self.writer.add_scalar(f"{tag}/{result.opponent}{ending}", value, step)

    def evaluator(self, evaluator: Evaluator, games: int) -> None:
        """All that is shown of the evaluator itself: weights, sample games, probe positions."""
        self._weights(evaluator, games)
        self._sample(evaluator, games)
        for label, position in self.game.probes:
            state = self.game.parse(position)
            picture = opinion_picture(self.game, state, evaluator.opinion(state))
            self.writer.add_image(f"probes/{label.replace(' ', '_')}", np.asarray(picture), games, dataformats="HWC")

    def _weights(self, evaluator: Evaluator, games: int) -> None:
        for name, tensor in evaluator.tensors.items():
            self._histogram(f"weights/{name}", tensor.ravel()[:: -(-tensor.size // HISTOGRAM)], games)
        if evaluator.description.kind == "mlp":
            return
        if self._watched is None:
            self._watched = watched(self.game, evaluator.features)
        index, names = self._watched
        for name, weight in zip(names, slopes(evaluator, index), strict=True):
            self.writer.add_scalar(f"weights/{name}", float(weight), games)
        if evaluator.features.num_features <= MOST_NAMES:
            if self._drawing is None:
                self._drawing = Drawing(self.game, evaluator.features)
            weight = slopes(evaluator, np.arange(evaluator.features.num_features))
            grids = self._drawing.grids(weight, self._drawing.largest(weight))
            if grids:
                self.writer.add_figure("weights/board", board_chart(grids), games)

    def _sample(self, evaluator: Evaluator, games: int) -> None:
        sample = play_sample(evaluator)
        if not len(sample.rows):
            return
        found = reliability(*scores(evaluator, sample))
        self.writer.add_scalar("sample/calibration_error", found.error, games)
        self.writer.add_scalar("sample/td_error", float(np.sqrt(np.mean(sample.errors**2))), games)
        self._histogram("sample/td_error", sample.errors, games)
        self.writer.add_figure("sample/reliability", reliability_chart(found), games)
        self.writer.add_text("sample/game", "\n".join(annotated(evaluator, sample, typical(sample))), games)

    def _histogram(self, name: str, values: np.ndarray, games: int) -> None:
        self.writer.add_histogram(name, np.clip(values, -WIDEST, WIDEST), games)

    def finish(self, settings: dict[str, Any], results: list[Strength]) -> None:
        """Settings beside results, in this run's own event file (`add_hparams` would make a second run)."""
        flat = {name: value for name, value in _flatten(settings).items() if isinstance(value, (bool, int, float, str))}
        final = {f"final/{result.opponent}": result.ppg for result in results}
        assert self.writer.file_writer is not None
        for summary in hparams(flat, final):
            self.writer.file_writer.add_summary(summary)
        for name, value in final.items():
            self.writer.add_scalar(name, value, 0)
        self.writer.flush()

    def close(self) -> None:
        with contextlib.suppress(OSError):  # a full disk has already been reported by the write that met it
            if self._groups is None:
                self._lay_out(set())
            self.writer.close()


def watched(game: Game, features: FeatureSet) -> tuple[np.ndarray, list[str]]:
    """Indices and names of the features whose weights are drawn: see the module's glossary."""
    if features.num_features > MOST_NAMES:
        return np.zeros(0, np.int64), []
    index = np.arange(features.num_features)
    if len(index) > MOST_CURVES:
        x = dense(game, features, random_rows(game, POSITIONS))
        index = np.sort(np.argsort(-x.astype(float).var(axis=0), kind="stable")[:FEWER_CURVES])
    names = features.names()
    return index, [names[i] for i in index]


def slopes(evaluator: Evaluator, index: np.ndarray) -> np.ndarray:
    """What a linear evaluator's value gains by each of these features, up to the head's slope: the weight, or with a
    head over K classes 1/K sum_k outcome_k w_k, the derivative where all chances are 1/K (the outcomes sum to 0)."""
    weight = evaluator.tensors["weight0"][index]
    return weight @ (outcome_values(evaluator) / weight.shape[1])


def _quiet_about_files(failure: threading.ExceptHookArgs) -> None:
    """TensorBoard writes in a thread of its own. If writing fails there, its next call raises the error, so the thread
    need not print a traceback as well."""
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
