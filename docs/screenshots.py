"""The pictures of the web board and of TensorBoard in docs/, made anew by one command.

    python -m docs.screenshots                                  trains a small run for TensorBoard first: about a minute
    python -m docs.screenshots --only board board_backgammon board_chess
    python -m docs.screenshots --log outputs --to /tmp/pictures

What they show is fixed: positions, dice, depths and the run's seed. Seconds that stand on them are those of this
machine. Needs Chromium, its driver and selenium (extra `dev`).
"""

from __future__ import annotations

import contextlib
import io
import json
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from deltaw.envs.cli import Parser, guarded
from deltaw.envs.errors import InputError
from deltaw.search.evaluators.evaluator import write_whole

ROOT = Path(__file__).parent.parent
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
DRIVER = shutil.which("chromedriver")
FLAGS = (
    "--headless --no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking "
    "--disable-component-update --disable-sync --force-color-profile=srgb --hide-scrollbars"
)
PATIENCE = 120.0
"""seconds until something awaited counts as missing: kernels may have to be compiled"""
SETTLED = 1.0
"""seconds for animations to end"""
SIZE = (1280, 960)
TENSORBOARD_HEIGHT = 640
MOST_BYTES = 200_000
COLORS = 256
"""of a picture's palette"""

TRAINING = (
    "experiment=connect_four_td games=60000 measure.every=5000 measure.games=500 measure.final_games=500 "
    "measure.past=0 seed=1"
)
CONNECT_FOUR = ["4", "4", "3", "5", "4", "4", "5", "3", "3", "2"]
CHESS = ["e4", "e5", "Bc4", "Nc6", "Qh5", "Nf6"]
DICE = ["31", "64", "52", "43", "65", "21", "33", "61", "42", "54", "63", "53"]
"""of a game of the shipped network against itself; the last dice are still to be played"""


class Setting(NamedTuple):
    """What a picture is made with."""

    driver: Any
    """the browser"""
    log: Path | None
    """folder of TensorBoard's runs; None: train one"""


# --- browser and servers ----------------------------------------------------------------------------------------------


def open_browser(profile: Path) -> Any:
    """A headless Chromium under selenium, with a profile of its own and all of its console kept."""
    from selenium import webdriver

    options = webdriver.ChromeOptions()
    options.binary_location = str(CHROMIUM)
    for flag in (*FLAGS.split(), f"--user-data-dir={profile}", f"--window-size={SIZE[0]},{SIZE[1]}"):
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    return webdriver.Chrome(options=options, service=webdriver.ChromeService(DRIVER))


def show_at(driver: Any, width: int, height: int) -> None:
    """Gives the page exactly so many pixels."""
    metrics = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False}
    driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)


@contextlib.contextmanager
def serving(*words: str) -> Iterator[str]:
    """Address of a web board of its own: `deltaw serve WORDS` on a free port."""
    command = [sys.executable, "-m", "deltaw.search.serve", *words, "--port", "0"]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        try:
            line = server.stdout.readline()
            found = [word for word in line.split() if word.startswith("http://")]
            if not found:
                raise InputError(f"the web board did not start: {line.strip() or 'no output'}")
            yield found[0]
        finally:
            server.terminate()


@contextlib.contextmanager
def tensorboard(log: Path) -> Iterator[str]:
    """Address of a TensorBoard that shows the runs in `log`."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    command = [sys.executable, "-m", "tensorboard.main", "--logdir", ".", "--port", str(port), "--load_fast", "false"]
    with subprocess.Popen(command, cwd=log, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as server:
        try:
            address = f"http://127.0.0.1:{port}/"
            until(lambda: _answers(f"{address}data/runs"))
            yield address
        finally:
            server.terminate()


def _answers(address: str) -> bool:
    try:
        with urllib.request.urlopen(address, timeout=5) as answer:
            return bool(json.load(answer))
    except OSError:
        return False


def until(condition: Callable[[], Any]) -> Any:
    """What `condition` returns as soon as that is something; raises InputError after PATIENCE."""
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        if found := condition():
            return found
        time.sleep(0.1)
    raise InputError(f"nothing came within {PATIENCE:g} s")


# --- pictures ---------------------------------------------------------------------------------------------------------


def board(setting: Setting) -> bytes:
    """Connect Four: the heat map on the board, the ranked moves, the curve of the game."""
    with serving("connect_four", "--threads", "1") as address:
        page = Board(setting.driver, address, connect_four={"depth": "depth:12", "seats": ["you", "you"]})
        for move in CONNECT_FOUR:
            page.best()
            page.play(move)
        page.best()
        page.seats("you", "linear")
        return page.picture()


def board_backgammon(setting: Setting) -> bytes:
    """Backgammon: a checker is chosen, and where it may go; the network's ranked moves with their chances."""
    with serving("backgammon", "--threads", "1") as address:
        page = Board(
            setting.driver, address, backgammon={"strength": "plies:2", "depth": "plies:2", "seats": ["you", "you"]}
        )
        for dice in DICE[:-1]:
            page.roll(dice)
            page.play(page.best())
        page.roll(DICE[-1])
        page.best()
        page.seats("network", "you")
        page.driver.find_element("css selector", ".place.source").click()
        return page.picture()


def board_chess(setting: Setting) -> bytes:
    """Chess: the queen is chosen, and what each of her moves is worth; one of them mates."""
    with serving("chess", "--threads", "1") as address:
        page = Board(setting.driver, address, chess={"depth": "depth:6", "seats": ["you", "you"]})
        for move in CHESS:
            page.best()
            page.play(move)
        page.best()
        page.seats("you", "material")
        page.driver.find_element("css selector", '.place[aria-label^="h5,"]').click()
        return page.picture()


def tensorboard_picture(setting: Setting) -> bytes:
    """TensorBoard's custom charts: strength against every opponent with its 95 % interval."""
    if setting.log is not None:
        return _tensorboard(setting.driver, setting.log)
    with tempfile.TemporaryDirectory() as folder:
        command = [
            sys.executable,
            "-m",
            "deltaw.learn.train",
            *TRAINING.split(),
            f"hydra.run.dir={folder}/connect_four_td",
        ]
        print("training a small run ...", flush=True)
        subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        return _tensorboard(setting.driver, Path(folder))


PICTURES = {
    "board": board,
    "board_backgammon": board_backgammon,
    "board_chess": board_chess,
    "tensorboard": tensorboard_picture,
}


class Board:
    """The page, driven as a person would: fields and buttons.

    The settings are there before it opens. What the engine's table remembers shows in later values, so nothing may be
    searched by the clock.
    """

    def __init__(self, driver: Any, address: str, **games: dict[str, Any]) -> None:
        self.driver = driver
        show_at(driver, *SIZE)
        driver.get(f"{address}icon.svg")  # a file of the same origin, where no script runs
        settings = json.dumps({"values": True, "autoRoll": False, "games": games})
        driver.execute_script("localStorage.setItem('deltaw settings', arguments[0])", settings)
        driver.get(address)
        until(lambda: self.texts("#status")[0] not in ("", "Loading …"))

    def texts(self, selector: str) -> list[str]:
        return self.driver.execute_script(
            "return [...document.querySelectorAll(arguments[0])].map(e => e.textContent)", selector
        )

    def seats(self, *players: str) -> None:
        from selenium.webdriver.support.ui import Select

        for i, player in enumerate(players, 1):
            field = self.driver.find_element("css selector", f"#seats .seat:nth-child({i}) select")
            Select(field).select_by_value(player)

    def enter(self, field: str, text: str) -> None:
        self.driver.find_element("css selector", f"#{field}").send_keys(text, "\n")

    def play(self, move: str) -> None:
        plies = len(self.texts(".ply"))
        self.enter("move", move)
        until(lambda: len(self.texts(".ply")) == plies + 1)

    def roll(self, dice: str) -> None:
        self.enter("dice", dice)
        until(lambda: self.texts("#status")[0].endswith(f"dice {dice[0]}-{dice[1]}."))

    def best(self) -> str:
        """The first of the ranked moves."""
        until(lambda: self.texts("#value"))
        return self.texts(".rank .move")[0]

    def picture(self) -> bytes:
        """The page when every position has its value and nothing moves any more."""
        positions = len(self.texts(".ply")) + 1
        until(lambda: len(self.texts("[data-point]")) == positions and self.texts("#value"))
        self.driver.execute_script("document.activeElement.blur(); scrollTo(0, 0)")
        time.sleep(SETTLED)
        return self.driver.get_screenshot_as_png()


DRAWN = """
const found = [];
const search = (root) => root.querySelectorAll("*").forEach((e) => {
  if (e.matches("path.line, path.area, .plottable path, svg path")) found.push(e);
  if (e.shadowRoot) search(e.shadowRoot);
});
search(document);
return found.filter((e) => (e.getAttribute("d") || "").length > 60).length;
"""
"""JavaScript: curves that are drawn, inside of shadow roots too"""


def _tensorboard(driver: Any, log: Path) -> bytes:
    with tensorboard(log) as address:
        show_at(driver, SIZE[0], TENSORBOARD_HEIGHT)
        driver.get(f"{address}?darkMode=false#custom_scalars")
        until(lambda: driver.execute_script(DRAWN) > 1)
        time.sleep(3 * SETTLED)
        return driver.get_screenshot_as_png()


def smaller(picture: bytes) -> bytes:
    """The PNG packed well, with a palette where it would be larger than MOST_BYTES; raises InputError where that does
    not help."""
    from PIL import Image

    image = Image.open(io.BytesIO(picture)).convert("RGB")
    for version in (image, image.quantize(COLORS, Image.Quantize.MAXCOVERAGE, dither=Image.Dither.NONE)):
        out = io.BytesIO()
        version.save(out, "PNG", optimize=True)
        if len(out.getvalue()) <= MOST_BYTES:
            return out.getvalue()
    raise InputError(f"the picture has {len(out.getvalue()):,} bytes; at most {MOST_BYTES:,} are wanted")


# --- the command ------------------------------------------------------------------------------------------------------


def parser() -> Parser:
    parse = Parser("python -m docs.screenshots", description="Take the pictures of the web board and of TensorBoard.")
    parse.add_argument(
        "--only",
        metavar="NAME",
        nargs="+",
        choices=PICTURES,
        default=list(PICTURES),
        help=f"of {', '.join(PICTURES)} (default: all)",
    )
    parse.add_argument(
        "--to", metavar="FOLDER", type=Path, default=ROOT / "docs", help="folder of the PNG files (default: docs/)"
    )
    parse.add_argument(
        "--log", metavar="FOLDER", type=Path, help="folder of runs for TensorBoard (default: trains a small one)"
    )
    return parse


@guarded
def main(argv: Sequence[str] | None = None) -> int:
    options = parser().parse_args(argv)
    if options.log is not None and not options.log.is_dir():
        raise InputError(f"no folder {str(options.log)!r}: --log takes a run, or a folder of runs")
    if not options.to.is_dir():
        raise InputError(f"no folder {str(options.to)!r} for the pictures")
    if not (CHROMIUM and DRIVER):
        raise InputError("Chromium and chromedriver are needed; Debian has them as chromium and chromium-driver")
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        driver = open_browser(Path(profile))
        try:
            for name in options.only:
                target = options.to / f"{name}.png"
                write_whole(target, smaller(PICTURES[name](Setting(driver, options.log))))
                print(f"{target}: {target.stat().st_size:,} bytes", flush=True)
        finally:
            driver.quit()
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
