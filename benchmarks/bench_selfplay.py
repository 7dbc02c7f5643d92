"""Self-play and learning, forward view, on one core, with the network of `material.trained`.

Measured is positions a second; games a second are that over the length of the network's games, which is counted
over a thousand of them: so a measurement of seconds does not depend on which games happen to end in it.
"""

from __future__ import annotations

from collections.abc import Iterator

from benchmarks.material import BACKGAMMON, HIDDEN, SMALL_SET, Trained, play_settings, trained
from benchmarks.measure import Row, Settings, Timing, rate, row
from deltaw.envs import games


def bench_self_play(settings: Settings) -> Iterator[Row]:
    """Games of the network against itself, nothing learned."""
    for features in feature_sets():
        player = trained(features, settings)
        learner = player.learner

        def work(learner=learner) -> int:
            learner.play.play(play_settings(learner))
            return learner.options.slots * learner.options.plies

        yield from speeds(f"self-play, {HIDDEN} hidden, {features}", rate(work, settings.seconds), player)


def bench_training(settings: Settings) -> Iterator[Row]:
    """The same with the update: everything that training does between two measurements of strength."""
    for features in feature_sets():
        player = trained(features, settings)
        learner = player.learner

        def work(learner=learner) -> int:
            learner.step()
            return learner.options.slots * learner.options.plies

        yield from speeds(f"forward TD, {HIDDEN} hidden, {features}", rate(work, settings.seconds), player)


def speeds(name: str, timing: Timing, player: Trained, note: str = "") -> Iterator[Row]:
    """The rows of one measurement in positions a second."""
    length = f"{player.length:.0f} positions a game"
    yield row(name, "games/s", timing, "; ".join(filter(None, (length, note))), scale=1.0 / player.length)
    yield row(name, "positions/s", timing)


def feature_sets() -> tuple[str, str]:
    """The small set, and the game's default."""
    return SMALL_SET, games.load(BACKGAMMON).default_features
