"""Reports of runs: the page is whole and shows what the run's folder says, and every weight stands where it belongs."""

from __future__ import annotations

import base64
import io
import json
import re
from html.parser import HTMLParser
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest
from command_lines import assert_one_line, call
from PIL import Image
from toy_games import random_evaluator

from deltaw.envs import games
from deltaw.learn import report as report_module
from deltaw.learn.report import main, read_run, report
from deltaw.learn.run.config import EvaluatorConfig, TuplesConfig
from deltaw.learn.run.start import fresh
from deltaw.learn.selfplay.sample import Reliability
from deltaw.learn.watch.charts import reliability_chart, strength_chart
from deltaw.learn.watch.curves import Curve, headline_opponent
from deltaw.learn.watch.report_board import (
    PARTS,
    Drawing,
    board_maps,
    dense,
    layout_of,
    random_rows,
    shade,
    stack_values,
)
from deltaw.learn.watch.report_weights import mean_gradient, table_sums, unit_importance
from deltaw.search.evaluators.evaluator import Evaluator, make_evaluator, save_evaluator

TIC_TAC_TOE, CONNECT_FOUR, NIM = (games.load(name) for name in ("tic_tac_toe", "connect_four", "nim"))
KINDS = {
    "linear": lambda: fresh(CONNECT_FOUR, None, EvaluatorConfig(head="tanh"), 1),
    "classes": lambda: fresh(TIC_TAC_TOE, None, EvaluatorConfig(), 1),
    "mlp": lambda: random_evaluator(TIC_TAC_TOE, 3),
    "tuples": lambda: tuples(TIC_TAC_TOE),
    "tuples without a board": lambda: tuples(NIM),
    "three players": lambda: random_evaluator(games.load("tic_tac_toe_three"), 3),
}


def tuples(game) -> Evaluator:
    shape = EvaluatorConfig(head="tanh", tuples=TuplesConfig(cells=[[0, 1, 2], [2, 1]], per_seat=True))
    start = fresh(game, None, shape, 1)
    weight = np.random.default_rng(5).normal(0, 0.1, start.tensors["weight0"].shape)
    return make_evaluator(game, start.tensors | {"weight0": weight}, features=start.features, head="tanh")


def linear(game, weight, head="tanh") -> Evaluator:
    tensors = {"weight0": weight[:, None], "bias0": np.zeros(1)}
    return make_evaluator(game, tensors, features=game.features(), head=head)


def write_run(folder: Path, evaluator: Evaluator) -> Path:
    """A run of three measurements against two opponents."""
    save_evaluator(evaluator, folder / "evaluator.safetensors")
    (folder / ".hydra").mkdir()
    (folder / ".hydra" / "config.yaml").write_text(
        "learner:\n  name: td_forward\n  note: </pre><script>alert(1)</script>\ngames: 4000\nminutes: null\nseed: 17\n"
        "measure:\n  noise: 0.25\n  first_only: true\n  searches: [depth=8]\n"
    )
    (folder / ".hydra" / "overrides.yaml").write_text("- game=tic_tac_toe\n- 'learner.note=a b'\n")
    lines = [
        {"games": n, "seconds": n / 50, "opponent": name, "ppg": n / 1e4, "standard_error": 0.01, "match_games": 20}
        for n in (0, 1000, 3000)
        for name in ("random", "<wizard>")
    ]
    (folder / "strength.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    return folder


class Page(HTMLParser):
    """Checks that every element is closed where it should be, and collects what there is."""

    VOID = ("meta", "img", "link")

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: list[tuple[str, dict]] = []
        self.words: list[str] = []
        self.feed(text)
        self.close()
        assert not self.open

    def handle_starttag(self, tag, attributes):
        self.tags.append((tag, dict(attributes)))
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attributes):
        assert "svg" in self.open or tag in self.VOID, tag
        self.tags.append((tag, dict(attributes)))

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if self.open and self.open[-1] not in ("style", "title"):
            self.words.append(data)

    def all(self, tag: str) -> list[dict]:
        return [attributes for name, attributes in self.tags if name == tag]

    @property
    def text(self) -> str:
        return " ".join(self.words)


@pytest.mark.parametrize("kind", KINDS)
def test_a_page_stands_alone(kind, tmp_path):
    """Balanced, no script, nothing fetched, every picture a picture, every chart well-formed."""
    text = report(read_run(write_run(tmp_path, KINDS[kind]())))
    page = Page(text)
    assert not page.all("script")
    links = [value for _, a in page.tags for name, value in a.items() if name in ("src", "href", "xlink:href")]
    assert all(link.startswith("data:") for link in links)
    outside = re.sub(r'base64,[^"]*', "", text)
    assert "url(" not in outside
    assert "http" not in outside
    for image in page.all("img"):
        assert image["alt"]
        if image["src"].startswith("data:image/png"):
            data = Image.open(io.BytesIO(base64.b64decode(image["src"].partition("base64,")[2])))
            assert data.size == (int(image["width"]), int(image["height"]))
    assert len(charts(page)) >= 2
    drawings = re.findall(r"<svg.*?</svg>", text, flags=re.DOTALL)
    assert drawings or kind == "three players"
    for drawing in [*charts(page), *map(ElementTree.fromstring, drawings)]:
        numbers = " ".join(value for part in drawing.iter() for value in part.attrib.values())
        assert not {"nan", "inf"} & set(re.findall(r"[a-z]+", numbers))


def charts(page: Page) -> list[ElementTree.Element]:
    prefix = "data:image/svg+xml;base64,"
    sources = [image["src"] for image in page.all("img") if image["src"].startswith(prefix)]
    return [ElementTree.fromstring(base64.b64decode(source.removeprefix(prefix))) for source in sources]


def test_whom_the_headline_is_about():
    """The strongest opponent at 1 ply, or the one that the configuration names; never a past self."""
    names = ["random", "random_depth_8", "pubeval", "pubeval_depth_8", "past_1_2", "past_1_4"]
    records = [{"opponent": name} for name in names]
    assert headline_opponent(records) == "pubeval"
    assert headline_opponent(records, "random") == "random"
    assert headline_opponent(records, "nobody") == "pubeval"
    assert headline_opponent(records[-2:]) == "past_1_4"


@pytest.fixture
def run(tmp_path) -> Path:
    return write_run(tmp_path, random_evaluator(TIC_TAC_TOE, 3))


def test_it_says_what_was_trained(run):
    text = Page(report(read_run(run))).text
    for said in (
        "Tic-tac-toe: network of 8 relu units over 24 features",
        "td_forward, 3,000 games in 60.0 seconds, +0.300 ± 0.010 points a game against <wizard>",
        "deltaw train game=tic_tac_toe 'learner.note=a b'",
        "3,000 of 4,000 (going on, or stopped)",
        "</pre><script>alert(1)</script>",
        "<wizard>",
        "random with probability 0.25. The evaluator always begins. It plays at 1 ply, and where a search follows",
        "with that: depth=8.",
    ):
        assert said in text, said


def test_a_run_at_its_end_says_so(run):
    config = run / ".hydra" / "config.yaml"
    for old, new, said in (
        ("games: 4000", "games: 3000", "3,000 (finished)"),
        ("games: 3000\nminutes: null", "games: 9000\nminutes: 1", "stopped after 1 minutes, as asked"),
    ):
        config.write_text(config.read_text().replace(old, new))
        assert said in Page(report(read_run(run))).text


def test_an_evaluator_alone_has_a_report(tmp_path):
    save_evaluator(random_evaluator(TIC_TAC_TOE, 3), tmp_path / "evaluator.safetensors")
    page = Page(report(read_run(tmp_path)))
    assert "Nothing has been measured yet" in page.text
    assert "command" not in page.text


def test_damaged_settings_are_left_out(run):
    (run / ".hydra" / "overrides.yaml").write_text("3")
    for damaged in (b"{", b"3", b"\xff"):
        (run / ".hydra" / "config.yaml").write_bytes(damaged)
        page = Page(report(read_run(run)))
        assert "Tic-tac-toe" in page.text
        assert "all settings" not in page.text


# --- charts ---------------------------------------------------------------------------------------------------------


def test_every_opponent_and_measurement_is_on_the_chart(run):
    of_run = read_run(run)
    curves = [Curve(opponent, "", of_run.against(opponent)) for opponent in of_run.opponents]
    (axes,) = strength_chart(curves, "seconds").axes
    assert axes.get_legend_handles_labels()[1] == ["random", "<wizard>"]
    for line in axes.lines[:2]:
        assert list(line.get_xdata()) == pytest.approx([0, 20 / 60, 1])
        assert list(line.get_ydata()) == [0, 0.1, 0.3]
    assert axes.lines[0].get_color() != axes.lines[1].get_color()
    assert len(axes.collections) == 2  # the bands


def test_a_single_measurement_has_a_chart(run):
    """A match of one pair of games has no standard error, which JSON's readers take as NaN."""
    curve = run / "strength.jsonl"
    record = json.loads(curve.read_text().splitlines()[0]) | {"standard_error": float("nan")}
    curve.write_text(json.dumps(record) + "\n")
    page = Page(report(read_run(run)))
    assert "+0.000 ± nan points a game against random" in page.text
    assert "nan" not in ElementTree.tostring(charts(page)[0], encoding="unicode").lower()


def test_circles_stand_where_predictions_and_scores_meet():
    found = Reliability(np.array([0.25, 0.7]), np.array([0.25, 0.5]), np.array([300, 100]))
    (axes,) = reliability_chart(found).axes
    (circles,) = axes.collections
    assert circles.get_offsets().tolist() == [[0.25, 0.25], [0.7, 0.5]]
    large, small = circles.get_sizes()
    assert large == 3 * small
    assert axes.get_title() == "error 0.050, 400 positions"


def test_the_same_run_gives_the_same_page(run):
    assert report(read_run(run)) == report(read_run(run))


# --- weights on the board -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["connect_four", "othello", "tic_tac_toe"])
def test_features_are_found_on_their_squares(name):
    """By their names, which the program does not read: column letter and row number, `a1` at the top left or (Connect
    Four) the bottom left."""
    game = games.load(name)
    rows, columns = game.board
    maps = {m.title: m for m in board_maps(game, game.features())}
    assert set(maps) == {"me", "opponent"}
    names = game.features().names()
    upwards = name == "connect_four"
    place = layout_of(game).place
    for title, m in maps.items():
        for cell, feature in enumerate(m.feature):
            down, right = divmod(int(place[cell]), columns)
            row_number = rows - down if upwards else down + 1
            assert names[feature] == f"{title}_{'abcdefgh'[right]}{row_number}"


def test_signed_features_are_found():
    game = games.load("othello")
    (m,) = board_maps(game, game.features("discs"))
    assert list(m.feature) == list(range(64))
    assert m.title == "mine +, the opponent's −"


def test_a_weight_is_drawn_on_its_square(run):
    names = CONNECT_FOUR.features().names()
    weight = np.zeros(len(names))
    weight[names.index("me_d1")], weight[names.index("opponent_g6")] = 9.0, -4.5
    drawing = Drawing(CONNECT_FOUR, CONNECT_FOUR.features())
    assert drawing.largest(weight) == 9.0
    me, opponent = drawing.grids(weight, 9.0)
    assert me.marks[5, 3] == (9.0, "+9.00", "me_d1 +9.0000")
    assert opponent.marks[0, 6] == (-4.5, "-4.50", "opponent_g6 -4.5000")
    assert [place for place, mark in me.marks.items() if mark.value] == [(5, 3)]
    assert (shade(9.0, me.largest), shade(0.0, me.largest)) == ("#d1681e", "#fdfcf8")
    assert set(names) - {names[i] for i in drawing.drawn} == {n for n in names if "lines" in n or "threats" in n}


def test_marks_are_drawn_in_their_rows_and_columns(tmp_path):
    """The page's squares in the order of its documents: position, colour, and the text under the pointer."""
    names = CONNECT_FOUR.features().names()
    weight = np.zeros(len(names))
    weight[names.index("me_d1")] = 2.0
    text = report(read_run(write_run(tmp_path, linear(CONNECT_FOUR, weight))))
    board = ElementTree.fromstring(re.search(r"<svg.*?</svg>", text, flags=re.DOTALL)[0])
    squares = {rect.find("title").text: rect.attrib for rect in board.findall("rect")}
    assert len(squares) == 42
    assert squares["me_d1 +2.0000"] == {"x": "300", "y": "500", "fill": "#d1681e"}


def test_checkers_on_points():
    game = games.load("backgammon")
    names = game.features("tesauro").names()
    weight = np.random.default_rng(2).normal(0, 1, len(names))
    named = dict(zip(names, weight, strict=True))
    for side in ("me", "opponent"):
        found = stack_values(named, side)
        for checkers in range(1, 7):
            sums = {p: sum(found[p][min(k, 3)] for k in range(checkers)) for p in found}
            for p in (1, 13, 24):
                assert sums[p] - sums[6] == pytest.approx(
                    inputs_of_a_point(named, side, p, checkers) - inputs_of_a_point(named, side, 6, checkers)
                )
        assert sum(map(sum, found.values())) == pytest.approx(0)
    drawing = Drawing(game, game.features("tesauro"))
    assert drawing.drawn == {i for i, name in enumerate(names) if not re.search("bar|off", name)}
    me, opponent = drawing.grids(weight, drawing.largest(weight))
    for grid in (me, opponent):
        assert sum(mark.value is not None for mark in grid.marks.values()) == 24 * len(PARTS)
    assert me.marks[10, 12].text == "1"
    assert me.marks[9, 12].about.startswith("first checker of me on its point 1:")
    assert opponent.marks[1, 12].about.startswith("first checker of opponent on its point 1:")


def inputs_of_a_point(weights, side, point, checkers) -> float:
    """Tesauro's four inputs of a point, from their definition."""
    inputs = [checkers >= 1, checkers >= 2, checkers >= 3, max(checkers - 3, 0) / 2]
    return sum(x * weights[f"{side}_{point}_{part}"] for x, part in zip(inputs, PARTS, strict=True))


def test_mean_gradient_is_that_of_finite_differences():
    evaluator = random_evaluator(TIC_TAC_TOE, 7)
    x = dense(TIC_TAC_TOE, evaluator.features, random_rows(TIC_TAC_TOE, 40)).astype(float)
    t = {name: tensor.astype(float) for name, tensor in evaluator.tensors.items()}

    def value(x: np.ndarray) -> float:
        logits = np.maximum(x @ t["weight0"] + t["bias0"], 0) @ t["weight1"] + t["bias1"]
        chances = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
        return float((chances @ np.array(TIC_TAC_TOE.rules.outcomes)).mean())

    found = mean_gradient(evaluator, x.astype(np.float32))
    for i in range(0, 24, 5):
        step = np.zeros(24)
        step[i] = 1e-6
        assert found[i] == pytest.approx((value(x + step) - value(x - step)) / 2e-6, abs=1e-4)


def test_units_that_do_nothing_do_not_matter():
    evaluator = random_evaluator(TIC_TAC_TOE, 7)
    evaluator.tensors["weight0"][:, 2] = 0.0
    evaluator.tensors["weight1"][5] = 0.0
    x = dense(TIC_TAC_TOE, evaluator.features, random_rows(TIC_TAC_TOE, 40))
    found = unit_importance(evaluator, x)
    assert [k for k, weight in enumerate(found) if weight == 0] == [2, 5]


@pytest.mark.parametrize("game", [TIC_TAC_TOE, NIM], ids=lambda game: game.name)
def test_tables_add_up_to_the_value(game):
    evaluator = tuples(game)
    rows = random_rows(game, 50)
    sums = table_sums(evaluator, rows)
    assert sums.shape == (50, 2)
    assert np.tanh(sums.sum(axis=1)) == pytest.approx(evaluator.values(rows)[0], abs=1e-6)


# --- the command ----------------------------------------------------------------------------------------------------


def test_the_command_writes_a_page(run, tmp_path, capsys):
    target = tmp_path / "new" / "report.html"
    status, out, _ = call(main, [str(run), "--to", str(target)], capsys)
    assert status == 0
    assert str(target) in out
    assert Page(target.read_text()).all("img")


def test_bad_input_is_one_line(run, tmp_path, capsys):
    (tmp_path / "empty").mkdir()
    (tmp_path / "broken").mkdir()
    (tmp_path / "broken" / "evaluator.safetensors").write_text("nothing")
    for words, said in (
        (f"{tmp_path / 'absent'}", "absent"),
        (f"{tmp_path / 'empty'}", "has no evaluator.safetensors"),
        (f"{tmp_path / 'broken'}", "damaged"),
        (f"{run} --to {run / 'strength.jsonl' / 'x.html'}", "cannot write"),
        ("", "run"),
    ):
        assert_one_line(main, words, said, capsys)
    for line in ('{"games": 3}', "[]"):
        (run / "strength.jsonl").write_text(line + "\n")
        assert_one_line(main, str(run), "each line needs games, match_games", capsys)
    (run / "strength.jsonl").write_text("no JSON\n")
    assert_one_line(main, str(run), "is no strength curve", capsys)


@pytest.mark.skipif(not Path("/usr/bin/chromium").exists(), reason="needs Chromium")
def test_a_browser_shows_it(tmp_path, monkeypatch):
    """No complaint in the console, every picture has a size, nothing is wider than the window."""
    webdriver = pytest.importorskip("selenium.webdriver")
    from selenium.webdriver.chrome.options import Options
    from selenium.webdriver.chrome.service import Service

    monkeypatch.setattr(report_module, "BOARDS", 4)
    target = tmp_path / "report.html"
    target.write_text(report(read_run(write_run(tmp_path, KINDS["linear"]()))))
    options = Options()
    options.binary_location = "/usr/bin/chromium"
    for word in ("--headless=new", "--no-sandbox", "--disable-dev-shm-usage"):
        options.add_argument(word)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    browser = webdriver.Chrome(options=options, service=Service("/usr/bin/chromedriver"))
    try:
        browser.get(target.as_uri())
        assert browser.get_log("browser") == []
        assert browser.title.startswith("Connect Four")
        broken = (
            "return [...document.querySelectorAll('img, svg')]"
            ".filter(p => !(p.naturalWidth ?? 1) || !p.getBoundingClientRect().height).length"
        )
        assert browser.execute_script(broken) == 0
        assert browser.execute_script("return document.images.length") >= 5
        wide = "return document.documentElement.scrollWidth - document.documentElement.clientWidth"
        assert browser.execute_script(wide) <= 0
        for width in (500, 320):
            metrics = {"width": width, "height": 800, "deviceScaleFactor": 1, "mobile": False}
            browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)
            for spacing in ("normal", "0.2em"):  # other fonts are wider
                browser.execute_script("document.body.style.letterSpacing = arguments[0]", spacing)
                assert browser.execute_script(wide) <= 0, (width, spacing)
    finally:
        browser.quit()
