"""The pictures of docs/: the command that takes them writes them all, and refuses bad words in one line.

Taken in a headless Chromium, driven by selenium; skipped where one of them is missing.
"""

from __future__ import annotations

import pytest

pytest.importorskip("selenium")

from command_lines import assert_one_line

from docs.screenshots import CHROMIUM, DRIVER, main

pytestmark = pytest.mark.skipif(not (CHROMIUM and DRIVER), reason="needs Chromium and its driver")


@pytest.mark.slow
def test_the_pictures_are_taken(tmp_path):
    assert main(["--to", str(tmp_path)]) == 0
    sizes = {picture.name: picture.stat().st_size for picture in tmp_path.iterdir()}
    assert sizes.keys() == {"board.png", "board_backgammon.png", "board_chess.png", "tensorboard.png"}
    assert all(10_000 < size < 200_000 for size in sizes.values())


def test_bad_words_for_the_pictures(tmp_path, capsys):
    assert_one_line(main, f"--to {tmp_path / 'absent'}", "absent", capsys)
    assert_one_line(main, f"--log {tmp_path / 'absent'}", "takes a run", capsys)
    assert_one_line(main, "--only halma", "'halma'", capsys)
