"""The web board in a real browser: clicks and keys, checked against the rules themselves and against the server's own
answers.

A headless Chromium is driven by selenium; skipped where one of them is missing.
"""

from __future__ import annotations

import io
import json
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

pytest.importorskip("selenium")

from conftest import random_game
from PIL import Image
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.remote.webdriver import WebDriver
from selenium.webdriver.support.ui import Select
from web_page import Page, ask, number

from deltaw.envs import games
from deltaw.envs.games.backgammon.notation import from_board, position_id
from deltaw.search.doors import view
from docs.screenshots import CHROMIUM, DRIVER, open_browser, serving, show_at

pytestmark = pytest.mark.skipif(not (CHROMIUM and DRIVER), reason="needs Chromium and its driver")

GAMES = ("connect_four", "backgammon", "othello", "tic_tac_toe_three", "nim", "chess", "checkers")


# --- server and browser -----------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    """Address of a server of its own, on a free port."""
    with serving(*GAMES) as address:
        yield address


@pytest.fixture(scope="module")
def chromium(tmp_path_factory) -> Iterator[WebDriver]:
    driver = open_browser(tmp_path_factory.mktemp("chromium"))
    yield driver
    driver.quit()


@pytest.fixture
def page(chromium, url) -> Iterator[Page]:
    """A fresh page with values; whatever the browser complains about fails the test."""
    page = Page(chromium, url)
    page.forget()
    page.tick("values", True)
    yield page
    complaints = [entry["message"] for entry in chromium.get_log("browser") if entry["level"] in ("SEVERE", "WARNING")]
    assert not complaints


def after(name: str, moves: list[str], position: str = "start") -> Any:
    """The state after `moves`, by the rules alone."""
    game = games.load(name)
    state = view.read(game, position).state
    for move in moves:
        state = view.python_state(game, game.rules.play(state, game.find_move(state, move)))
    return state


# --- games of squares -------------------------------------------------------------------------------------------------


def test_the_first_page_offers_what_the_server_does(page, url):
    info = ask(url, do="info")
    assert page.texts("#game option") == [game["title"] for game in info["games"]]
    assert page.status() == "Your move, Red."
    assert page.texts("#seats .seat:first-child option", "value") == ["you", *page.texts("#analyst option", "value")]


def test_a_newcomer_sees_no_values_but_may_ask_for_a_hint(page, url):
    page.forget()
    page.choose("strength", "depth:1")
    assert not page.one("#values").is_selected()
    assert not page.one("#curve").is_displayed()
    assert page.texts(".chip") == []
    page.one("body").send_keys("h")
    page.wait(lambda: page.texts("#news")[0])
    assert page.texts(".ring.looked") == [""]
    move = page.texts(".rank.marked", "data-move")[0]
    assert page.texts("#opinion") == page.texts("#news") == [f"Hint: {move}."]
    page.click(f'.place[data-place="{int(move) - 1}"]')
    page.wait(lambda: len(page.record()) == 2)
    assert (page.texts(".chip"), page.texts("#opinion")) == ([], [""])


def test_the_page_offers_no_longer_search_than_the_server(chromium):
    with serving("connect_four", "--threads", "1", "--seconds", "0.2", "--longest", "0.5") as address:
        page = Page(chromium, address)
        page.forget()
        for field in ("strength", "depth"):
            offered = page.texts(f"#{field} option", "value")
            assert [value for value in offered if value.startswith("seconds:")] == ["seconds:0.1", "seconds:0.3"]
            assert "depth:8" in offered
        assert ask(address, do="info")["longest"] == 0.5
        chromium.get("about:blank")  # the page asks nothing of a server that has gone


def test_a_whole_game_by_clicks(page):
    page.tick("values", False)
    page.choose("strength", "depth:2")
    for turn in range(21):
        place = f'.place[data-place="{(0, 3, 6)[turn % 3]}"][data-move]'
        page.click(place if page.texts(place, "data-move") else ".place[data-move]:not([aria-disabled])")
        plies = 2 * turn + 2
        page.wait(lambda plies=plies: " win" in page.status() or "draw" in page.status() or len(page.record()) == plies)
        if not page.status().startswith("Your move"):
            break
    state = after("connect_four", page.record())
    over, value = games.load("connect_four").rules.outcome(state)
    assert over
    winner = "" if value == 0 else ("Red", "Yellow")[len(page.record()) % 2 == 0]
    assert page.status() == (f"{winner} wins." if winner else "A draw.")
    assert page.cells(42) == view.cells_of(games.load("connect_four"), state)
    assert len(page.texts(".ring.won")) >= (4 if winner else 0)


def test_the_heat_map_shows_the_values_of_the_answer(page):
    page.listen()
    page.choose("depth", "depth:4")
    page.sit("you", "you")
    for column in (3, 3, 4):  # faster than the analysis: an answer for an earlier position must not be shown
        page.click(f'.place[data-place="{column}"]')
        page.wait(lambda column=column: page.record()[-1:] == [str(column + 1)])
    page.wait(lambda: page.texts("#value"))
    answer = page.heard()[page.one("#position").get_property("value")]
    ranked = {move["move"]: move["value"] for move in answer["ranked"]}
    proven = {move["move"]: move["distance"] for move in answer["ranked"] if move["distance"]}
    shown = dict(zip(page.texts(".chip text", "data-value"), page.texts(".chip text"), strict=True))
    assert shown.keys() == ranked.keys() == set("1234567")
    assert {move: text for move, text in shown.items() if move in proven} == {
        move: f"{'win' if ranked[move] > 0 else 'loss'} {plies}" for move, plies in proven.items()
    }
    assert all(abs(number(shown[move]) - ranked[move]) <= 0.005 + 1e-9 for move in ranked.keys() - proven)
    assert 0 < len(proven) < 7
    assert page.texts(".rank", "data-move") == list(ranked)
    assert set(page.texts(".chip.best text", "data-value")) == {m for m, v in ranked.items() if v == answer["value"]}
    assert number(page.texts("#value")[0]) == pytest.approx(answer["value"], abs=0.0005)


def test_proven_results_are_said_in_words(page):
    page.choose("depth", "depth:8")
    page.sit("you", "you")
    page.set_up(view.text_of(games.load("connect_four"), after("connect_four", list("112233"))))
    page.wait(lambda: page.texts("#value") == ["wins in 1"])
    chips = dict(zip(page.texts(".chip text", "data-value"), page.texts(".chip text"), strict=True))
    assert chips["4"] == "win 1"
    assert page.texts(".rank .value")[0] == "wins in 1"
    assert page.texts("#opinion")[0].startswith("Red wins in 1 ply. ")
    assert page.texts('.place[data-place="3"]', "aria-label") == ["column 4, wins in 1"]


def test_the_curve_grows_and_leads_back(page):
    page.listen()
    page.choose("depth", "depth:2")
    page.sit("you", "you")
    for turn, column in enumerate((3, 2, 3), 1):
        page.wait(lambda turn=turn: len(page.texts("[data-point]")) == turn)
        page.click(f'.place[data-place="{column}"]')
    page.wait(lambda: len(page.texts("[data-point]")) == 4)
    heights = [float(y) for y in page.texts("[data-point]", "cy")]
    moves, values = ["4", "3", "4"], page.heard()
    for i, height in enumerate(heights):
        position = view.text_of(games.load("connect_four"), after("connect_four", moves[:i]))
        assert height == pytest.approx(95 - 81 * values[position]["value"] * (-1) ** i, abs=0.01), (
            "from the first player's side"
        )
    page.script("document.querySelectorAll('.curve .strip')[1].dispatchEvent(new MouseEvent('click'))")
    page.wait(lambda: page.texts(".ply.now") == ["4"])
    assert page.cells(42) == view.cells_of(games.load("connect_four"), after("connect_four", ["4"]))
    assert len(page.texts("[data-point]")) == 4, "what followed is still there"
    page.click("#forward")
    page.wait(lambda: page.texts(".ply.now") == ["3"])


def test_keys_play_undo_and_browse(page):
    page.sit("you", "you")
    page.tick("values", False)
    page.script("document.querySelector('.place[tabindex=\"0\"]').focus()")
    for _ in range(2):
        page.driver.switch_to.active_element.send_keys(Keys.ARROW_RIGHT)
    page.driver.switch_to.active_element.send_keys(Keys.ENTER)
    page.wait(lambda: page.record() == ["3"])
    page.driver.switch_to.active_element.send_keys(" ")
    page.wait(lambda: page.record() == ["3", "3"])
    label = page.driver.switch_to.active_element.get_attribute("aria-label")
    assert label == "column 3"
    body = page.one("body")
    page.script("document.activeElement.blur()")
    body.send_keys("u")
    page.wait(lambda: page.texts(".ply.now") == ["3"] and page.one("#forward").is_enabled())
    body.send_keys(Keys.ARROW_LEFT)
    page.wait(lambda: not page.texts(".ply.now"))
    page.enter("move", "5")
    page.wait(lambda: page.record() == ["5"])
    page.script("document.activeElement.blur()")
    body.send_keys("7")
    page.wait(lambda: page.record() == ["5", "7"])


def test_a_player_waits_after_going_back(page):
    page.choose("strength", "depth:1")
    page.tick("values", False)
    page.click('.place[data-place="3"]')
    page.wait(lambda: len(page.record()) == 2)
    page.click("#back")
    page.wait(lambda: page.one("#resume").is_displayed())
    assert "to move" in page.status()
    page.click("#resume")
    page.wait(lambda: page.status().startswith("Your move"))
    page.click("#undo")
    page.wait(lambda: not page.texts(".ply.now"))
    page.click("#swap")
    page.wait(lambda: len(page.record()) == 1 and page.status() == "Your move, Yellow.")


def test_a_reload_loses_nothing(page):
    page.sit("you", "you")
    page.click('.place[data-place="3"]')
    page.wait(lambda: page.record() == ["4"])
    page.open()
    page.wait(lambda: page.texts(".place[data-move]:not([aria-disabled])", "data-move"))
    assert page.record() == ["4"]
    page.click('.place[data-place="3"]')
    page.wait(lambda: page.record() == ["4", "4"])


def test_a_bad_position_is_one_line_and_nothing_is_lost(page):
    page.sit("you", "you")
    page.click('.place[data-place="3"]')
    page.wait(lambda: page.record() == ["4"])
    page.enter("position", "4459")
    page.wait(lambda: page.one("#error").is_displayed())
    error = page.one("#error").text
    assert "9" in error
    assert "\n" not in error
    page.enter("move", "8")
    page.wait(lambda: page.one("#error").text != error)
    assert "'8'" in page.one("#error").text
    assert page.record() == ["4"]
    page.click('.place[data-place="3"]')
    page.wait(lambda: page.record() == ["4", "4"])
    assert not page.one("#error").is_displayed()
    page.set_up(view.text_of(games.load("connect_four"), after("connect_four", ["4", "4", "5", "3"])))
    assert page.cells(42) == view.cells_of(games.load("connect_four"), after("connect_four", ["4", "4", "5", "3"]))


def test_other_games(page):
    page.play_game("othello")
    page.sit("you", "you")
    page.click('[data-move="f5"]')
    page.wait(lambda: page.texts(".tally") == ["4", "1"])
    page.play_game("tic_tac_toe_three")
    page.sit("you", "you", "you")
    for move in ("a1", "a2", "a3", "b1", "b2", "d3", "c1"):
        page.click(f'[data-move="{move}"]')
        page.wait(lambda move=move: page.record()[-1:] == [move])
    assert page.status() == "Game over: X +2, O −1, Z −1."
    assert len(page.texts(".ring.won")) == 3
    page.play_game("nim")
    page.sit("you", "you")
    assert "a  | | |" in page.one(".text-board").text
    for move in ("a3", "b5", "c7"):
        page.script(
            "[...document.querySelectorAll('#choices button')].find(b => b.textContent === arguments[0]).click()", move
        )
        page.wait(lambda move=move: page.record()[-1:] == [move])
    assert page.status() == "Player 1 wins."


def test_a_pass_is_a_button(page):
    page.play_game("othello")
    page.sit("you", "you")
    page.set_up("XXXXXXXXOOOOOOXXOOXXXXXXOOOXOXXX-OXOXXXXOXOXOXOXXXXXXOOXXXXXXXOX O")
    assert page.texts(".place[data-move]") == []
    assert choices(page) == ["pass"]
    page.click("#choices button")
    page.wait(lambda: page.record() == ["pass"])
    assert page.status() == "Black to move."


def test_players_among_themselves_can_be_stopped(page):
    page.choose("strength", "depth:1")
    page.sit("linear", "points_2")
    page.wait(lambda: len(page.record()) >= 2)
    page.click("#pause")
    page.wait(lambda: page.one("#resume").is_displayed())
    stopped = page.record()
    page.wait(lambda: len(page.texts("[data-point]")) == len(stopped) + 1)
    assert page.record() == stopped
    page.one("body").send_keys("p")
    page.wait(lambda: len(page.record()) > len(stopped))
    page.click("#new")
    page.wait(lambda: len(page.record()) < len(stopped))


def test_narrow_screens_need_no_scrolling_sideways_and_no_thin_fingers(page):
    try:
        for width in (360, 390):
            metrics = {"width": width, "height": 800, "deviceScaleFactor": 1, "mobile": True}
            page.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)
            for name in GAMES:
                page.play_game(name)
                page.wait(lambda: page.texts(".rank"))
                assert page.script("return document.documentElement.scrollWidth") <= width
                page.enter("move", page.texts(".rank", "data-move")[0])
                page.wait(lambda: page.record())
                assert width < 390 or page.script(SMALL) == []
                page.click("#new")
                page.wait(lambda: not page.record())
    finally:
        page.driver.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})


SMALL = """
return [...document.querySelectorAll("button, select, input, .place")].flatMap((element) => {
  const target = element.type === "checkbox" ? element.closest("label") : element;
  const { width, height } = target.getBoundingClientRect();
  return width && Math.min(width, height) < 24 ? [`${element.outerHTML} ${width} ${height}`] : [];
});
"""
"""JavaScript: what can be touched and is smaller than 24 pixels"""


# --- games whose pieces move ------------------------------------------------------------------------------------------


def place(cell: int) -> str:
    return f'.place[data-place="{cell}"]'


def at(square: str) -> str:
    """The place of a chess square."""
    return place("abcdefgh".index(square[0]) + 8 * (8 - int(square[1])))


@pytest.mark.parametrize("name", ["chess", "checkers"])
def test_a_browser_shows_the_svg_as_the_png_is_painted(page, name, tmp_path):
    """Nearly every pixel; not the edges, and not the letters, whose fonts differ."""
    game = games.load(name)
    state = game.parse(dict(game.probes)["a man up" if name == "checkers" else "queen up"])
    painted = game.draw(state)
    (tmp_path / "board.svg").write_text(game.svg(state))
    try:
        show_at(page.driver, *painted.size)
        page.driver.get(f"file://{tmp_path}/board.svg")
        shown = Image.open(io.BytesIO(page.driver.get_screenshot_as_png())).convert("RGB")
    finally:
        page.driver.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})
    difference = np.abs(np.array(painted, np.int16) - np.array(shown, np.int16)).max(axis=2)[:430, 25:430]
    assert (difference > 60).mean() < 0.01
    assert difference.mean() < 3


def two_people(page: Page, name: str, position: str | None = None) -> None:
    page.play_game(name)
    page.tick("values", False)
    page.sit("you", "you")
    if position is not None:
        page.set_up(position)


def click_through(page: Page, *selectors: str) -> None:
    for selector in selectors:
        page.click(selector)


def drag(page: Page, source: str, target: str) -> None:
    ActionChains(page.driver).drag_and_drop(page.one(source), page.one(target)).perform()


def shows(page: Page, name: str, moves: list[str], position: str = "start") -> None:
    """The page has come to where the rules lead."""
    page.wait(lambda: page.record() == moves)
    game, state = games.load(name), after(name, moves, position)
    assert page.cells(len(game.pieces.cells(state))) == game.pieces.cells(state)
    assert page.one("#position").get_property("value") == view.text_of(game, state)


def test_chess_by_clicks_and_by_dragging(page):
    two_people(page, "chess")
    click_through(page, at("e2"), at("d2"), at("e4"))  # another pawn was chosen: e4 takes it back
    assert page.texts(".place.selected") == []
    click_through(page, at("e2"), at("e4"))
    shows(page, "chess", ["e4"])
    drag(page, at("e7"), at("e4"))  # not a move: it goes back
    drag(page, at("e7"), at("e5"))
    shows(page, "chess", ["e4", "e5"])
    for source, target in (("g1", "f3"), ("b8", "c6"), ("f1", "c4"), ("f8", "c5")):
        drag(page, at(source), at(target))
        page.wait(lambda target=target: page.record()[-1].endswith(target))
    click_through(page, at("e1"), at("h1"))  # onto the rook, as in Chess960
    page.wait(lambda: page.record()[-1] == "O-O")
    page.click("#flip")
    drag(page, at("d7"), at("d6"))
    shows(page, "chess", ["e4", "e5", "Nf3", "Nc6", "Bc4", "Bc5", "O-O", "d6"])
    top, bottom = (page.one(at(square)).location["y"] for square in ("e1", "e8"))
    assert top < bottom


def test_a_finger_drags_a_piece_or_scrolls_the_page(page):
    def swipe(source: str, target: str) -> None:
        centre = "const r = document.querySelector(arguments[0]).getBoundingClientRect(); "
        centre += "return [r.x + r.width / 2, r.y + r.height / 2]"
        (x, y), (u, v) = page.script(centre, at(source)), page.script(centre, at(target))
        points = [{"x": x + (u - x) * i / 5, "y": y + (v - y) * i / 5} for i in range(6)]
        for kind, where in (("touchStart", points[:1]), *(("touchMove", [p]) for p in points[1:]), ("touchEnd", [])):
            page.driver.execute_cdp_cmd("Input.dispatchTouchEvent", {"type": kind, "touchPoints": where})

    try:
        metrics = {"width": 390, "height": 800, "deviceScaleFactor": 1, "mobile": True}
        page.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)
        page.driver.execute_cdp_cmd("Emulation.setTouchEmulationEnabled", {"enabled": True})
        two_people(page, "chess")
        page.script("document.querySelector('#board').scrollIntoView()")
        before = page.script("return scrollY")
        swipe("e2", "e4")
        shows(page, "chess", ["e4"])
        assert page.script("return scrollY") == before
        swipe("d5", "d7")
        page.wait(lambda: page.script("return scrollY") > before)
    finally:
        page.driver.execute_cdp_cmd("Emulation.setTouchEmulationEnabled", {"enabled": False})
        page.driver.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})


def test_a_pawn_becomes_what_is_chosen(page):
    start = "8/P6k/8/8/8/8/8/K7 w - - 0 40"
    two_people(page, "chess", start)
    drag(page, at("a7"), at("a8"))
    assert choices(page) == ["a8=Q", "a8=R", "a8=B", "a8=N"]
    assert page.texts("#news") == ["Which: a8=Q, a8=R, a8=B, a8=N?"]
    assert page.driver.switch_to.active_element.text == "a8=Q"
    page.driver.switch_to.active_element.send_keys(Keys.TAB)
    page.driver.switch_to.active_element.send_keys(Keys.ENTER)
    shows(page, "chess", ["a8=R"], start)
    assert page.driver.switch_to.active_element.get_attribute("data-place") == "0", "the keys are at the board again"


def test_the_third_occurrence_ends_the_game_and_its_pgn_is_copied(page):
    two_people(page, "chess")
    moves = [("g1", "f3"), ("g8", "f6"), ("f3", "g1"), ("f6", "g8")]
    for source, target in moves * 2:
        plies = len(page.record())
        click_through(page, at(source), at(target))
        page.wait(lambda plies=plies: len(page.record()) == plies + 1)
    page.wait(lambda: page.status() == "A draw by repetition.")
    page.script("Object.defineProperty(navigator, 'clipboard', {value: {writeText: async (t) => (window.copied = t)}})")
    assert page.texts("#copy-record") == ["Copy PGN"]
    page.click("#copy-record")
    text = page.wait(lambda: page.script("return window.copied"))
    assert text.endswith("1. Nf3 Nf6 2. Ng1 Ng8 3. Nf3 Nf6 4. Ng1 Ng8 1/2-1/2\n\n")
    page.click("#undo")
    page.wait(lambda: page.status() == "Black to move.")
    page.enter("move", "d7d5")
    page.wait(lambda: page.record()[-1] == "d5")


TWO_GAMES = """[White "Anna"]
[Black "Bert"]

1. f3 {weak} e5 2. g4 (2. e4) Qh4# 0-1

[White "Carl"]
[Black "Dora"]
[FEN "4k3/8/8/8/8/8/4P3/4K3 b - - 0 7"]

7... Kd7 8. e4 Ke6 9. Qd4 *
"""


def opens(page: Page, text: str) -> None:
    page.script("document.querySelector('#open').open = true")
    page.script("document.querySelector('#game-text').value = arguments[0]", text)
    page.click("#open-form button")


def test_games_are_opened_and_stepped_through(page):
    two_people(page, "chess")
    opens(page, TWO_GAMES)
    page.wait(lambda: page.record() == ["f3", "e5", "g4", "Qh4#"])
    assert page.texts(".ply.now") == []
    assert page.texts("#found option") == ["1. Anna – Bert, 4 steps", "2. Carl – Dora, 3 steps"]
    page.tick("values", True)
    page.choose("depth", "depth:2")
    page.wait(lambda: len(page.texts("[data-point]")) == 5)
    assert page.texts(".record li") == ["1.f3", "e5", "2.g4??", "Qh4#"]
    assert page.texts(".mistake", "title")[0].startswith("very bad: loses 1.000 against ")
    body = page.one("body")
    for move in page.record():
        body.send_keys(Keys.ARROW_RIGHT)
        page.wait(lambda move=move: page.texts(".ply.now") == [move])
    shows(page, "chess", ["f3", "e5", "g4", "Qh4#"])
    assert page.status() == "Black wins."
    Select(page.one("#found")).select_by_index(1)
    page.wait(lambda: page.record() == ["Kd7", "e4", "Ke6"])
    assert page.texts("#notes")[0].startswith("game 2, move 9 of White: 'Qd4' is not a legal move here")
    assert page.texts(".number") == ["1.", "2."]
    click_through(page, at("e8"), at("f7"))
    page.wait(lambda: page.record() == ["Kf7"])
    opens(page, "1. e5")
    page.wait(lambda: "'e5' is not a legal move here" in page.one("#error").text)
    assert page.record() == ["Kf7"], "what cannot be read changes nothing"


def test_a_link_opens_the_game_where_it_had_come_to(page, url):
    two_people(page, "backgammon")
    page.tick("auto-roll", False)
    page.enter("dice", "31")
    page.wait(lambda: page.status().endswith("dice 3-1."))
    page.enter("move", "8/5 6/5")
    page.wait(lambda: page.status() == "Black to roll.")
    page.enter("dice", "42")
    page.wait(lambda: page.status() == "Black to move, dice 4-2.")
    position = page.one("#position").get_property("value")
    page.script("Object.defineProperty(navigator, 'clipboard', {value: {writeText: async (t) => (window.copied = t)}})")
    page.click("#copy-link")
    link = page.wait(lambda: page.script("return window.copied"))
    page.play_game("chess")
    page.driver.switch_to.new_window("tab")
    try:
        page.driver.get(link)
        page.wait(lambda: page.record() == ["31: 8/5 6/5"] and page.status() == "Black to move, dice 4-2.")
        assert page.one("#position").get_property("value") == position
        assert page.driver.current_url == url
        page.driver.get(f"{url}#game=chess&position=start&steps=e4%3Bc5")  # the same page: no reload
        page.wait(lambda: page.record() == ["e4", "c5"])
        page.driver.get(f"{url}#game=chess&steps=e5")
        page.wait(lambda: "step 1: 'e5' is not a legal move" in page.one("#error").text)
        assert page.record() == ["e4", "c5"]
        page.driver.get(f"{url}#game=shogi")
        page.wait(lambda: page.one("#error").text == "There is no game shogi here.")
    finally:
        page.driver.close()
        page.driver.switch_to.window(page.driver.window_handles[0])


def test_a_file_with_dice_is_opened(page, tmp_path):
    game = games.load("backgammon")
    text = "\n".join(
        (
            '; [Site "x"]',
            "",
            " 0 point match",
            "",
            " Game 1",
            " Anna : 0      Bert : 0",
            "  1) 31: 8/5 6/5                 42: 8/4 6/4",
            "  2) 64:",
            "",
        )
    )
    (tmp_path / "one.mat").write_text(text)
    page.play_game("backgammon")
    page.tick("values", False)
    page.script("document.querySelector('#open').open = true")
    page.one("#game-file").send_keys(str(tmp_path / "one.mat"))
    page.wait(lambda: page.record() == ["31: 8/5 6/5", "42: 8/4 6/4"])
    assert page.status() == "Your move, White, dice 3-1."
    for _ in range(2):
        page.click("#forward")
    page.wait(lambda: page.status() == "Your move, White, dice 6-4.")
    state = view.read(game, "start", ["31", "8/5 6/5", "42", "8/4 6/4"]).state
    assert page.one("#position").get_property("value") == view.text_of(game, state)


@pytest.mark.parametrize("way", [(24, 15, 22, 31), (22, 15, 24, 31)])
def test_every_jump_is_a_click(page, way):
    """A king that comes round to where he began, either way."""
    start = "W:WK31:B1,18,19,26,27"
    two_people(page, "checkers", start)
    page.click(place(30))
    for jump, square in enumerate(way, start=1):
        assert sum(page.cells(32)) == 4 + 5 - (jump - 1), "what was jumped over is gone"
        page.click(place(square - 1))
    shows(page, "checkers", ["31x24x15x22x31"], start)
    assert page.texts(place(30), "aria-label") == ["square 31, White king"]
    assert page.texts("#copy-record") == ["Copy PDN"]


def test_checkers_squares_have_their_numbers(page):
    two_people(page, "checkers")
    assert page.texts(".squares .name") == [str(number) for number in range(1, 33)]
    names = page.script("return [...document.querySelectorAll('.squares .name')].map(e => [e.x.baseVal[0].value])")
    assert len({x for (x,) in names}) == 8
    drag(page, place(10), place(14))
    shows(page, "checkers", ["11-15"])
    black, white = (page.one(place(square - 1)).location["y"] for square in (1, 32))
    assert black > white, "the player who begins sits below"


def walk(page: Page, target: int) -> None:
    """Arrow keys alone, from the place that has the focus: first to the row, then along it."""
    spot = "const e = document.querySelector(arguments[0]); return ['x', 'y'].map((n) => Number(e.getAttribute(n)))"
    x, y = page.script(spot, place(target))
    for _ in range(20):
        here = page.driver.switch_to.active_element
        u, v = page.script(spot, place(int(here.get_attribute("data-place"))))
        if (u, v) == (x, y):
            return
        vertical = Keys.ARROW_DOWN if v < y else Keys.ARROW_UP
        here.send_keys(vertical if v != y else Keys.ARROW_RIGHT if u < x else Keys.ARROW_LEFT)
    raise AssertionError(f"no way to {target}")


@pytest.mark.parametrize(
    ("name", "start", "moves"),
    [
        ("chess", "start", ["f3", "e5", "g4", "Qh4#"]),
        (
            "checkers",
            "B:W14,18,K32:B4,K7,10",
            ["10x17", "32-28", "17-21", "28-24", "7-10", "18-15", "10x19x28"],
        ),
    ],
)
def test_a_game_by_keyboard_alone(page, name, start, moves):
    two_people(page, name, None if start == "start" else start)
    page.script("document.querySelector('#flip').focus()")  # the last control before the board
    page.driver.switch_to.active_element.send_keys(Keys.TAB)
    game = games.load(name)
    for ply, text in enumerate(moves):
        state = after(name, moves[:ply], start)
        for cell in game.pieces.clicks(state, game.find_move(state, text))[0]:
            walk(page, cell)
            page.driver.switch_to.active_element.send_keys(Keys.ENTER)
        page.wait(lambda ply=ply: page.record() == moves[: ply + 1])
    shows(page, name, moves, start)
    assert page.status() == "Black wins."


@pytest.mark.parametrize("name", ["chess", "checkers"])
def test_the_reply_is_announced(page, name):
    page.play_game(name)
    page.tick("values", False)
    page.choose("strength", "depth:1")
    page.enter("move", {"chess": "d2d4", "checkers": "11-15"}[name])
    page.wait(lambda: len(page.record()) == 2)
    opponent = {"chess": "Black", "checkers": "White"}[name]
    page.wait(lambda: page.texts("#news") == [f"{opponent}: {page.record()[1]}."])
    assert page.one("#news").get_attribute("aria-live") == "polite"


# --- backgammon -------------------------------------------------------------------------------------------------------


def backgammon(page: Page, position: str, dice: str) -> None:
    """Both seats are people's; `dice` are typed."""
    page.play_game("backgammon")
    page.tick("auto-roll", False)
    page.sit("you", "you")
    page.set_up(position)
    page.enter("dice", dice)
    page.wait(lambda: page.status().endswith(f"dice {dice[0]}-{dice[1]}."))


def hop(page: Page, source: int, target: int) -> None:
    page.click(f'.place[data-place="{source}"]')
    page.click(f'.place.target[data-place="{target}"]')


def choices(page: Page) -> list[str]:
    return page.texts("#choices button")


def test_a_backgammon_move_by_clicks(page):
    backgammon(page, "4HPwATDgc/ABMA", "31")
    hop(page, 8, 5)
    assert page.texts('.place[data-place="5"]', "aria-label") == ["point 5: 1 White"], "half the move is shown"
    assert choices(page) == ["Take back"]
    page.click("#choices button")
    assert page.texts('.place[data-place="8"]', "aria-label") == ["point 8: 3 White"]
    hop(page, 8, 5)
    hop(page, 6, 5)
    assert choices(page) == ["Play 8/5 6/5", "Take back"]
    page.click("#choices .main")
    page.wait(lambda: page.record() == ["31: 8/5 6/5"])
    assert page.status() == "Black to roll."
    game = games.load("backgammon")
    state = view.read(game, "4HPwATDgc/ABMA", dice="31").state
    played = view.python_state(game, game.rules.play(state, game.find_move(state, "8/5 6/5")))
    assert page.one("#position").get_property("value") == view.text_of(game, played)


def test_doubles_joined_hops_and_the_second_player(page):
    backgammon(page, "4HPwATDgc/ABMA 2", "22")
    hop(page, 24, 20)  # two hops of one checker
    hop(page, 6, 4)
    hop(page, 6, 4)
    assert choices(page)[0] == "Play 24/20 6/4(2)"
    page.one("body").send_keys(Keys.ENTER)
    page.wait(lambda: page.record() == ["22: 24/20 6/4(2)"])
    assert page.status() == "White to roll."


def test_a_forced_pass(page):
    closed = from_board([0] * 23 + [0, 1, 14], [2] * 6 + [0] * 18 + [0, 3])  # on the bar against six made points
    backgammon(page, position_id(closed), "53")
    assert choices(page) == ["No legal move: pass"]
    page.click("#choices .main")
    page.wait(lambda: page.record() == ["53: (no move)"])


def test_a_player_that_only_ranks(page, url):
    backgammon(page, "4HPwATDgc/ABMA", "31")
    page.choose("analyst", "pubeval")
    page.wait(lambda: page.texts("#opinion")[0].startswith("This player ranks"))
    ranked = ask(url, do="analyze", game="backgammon", position="4HPwATDgc/ABMA", dice="31", player="pubeval", plies=1)[
        "ranked"
    ]
    assert page.texts(".rank", "data-move") == [move["move"] for move in ranked[:10]]
    assert set(page.texts(".rank .value")) == {""}
    page.sit("you", "pubeval")
    page.tick("auto-roll", True)
    page.click(".rank")
    page.wait(lambda: len(page.record()) == 2)
    page.choose("analyst", "network")
    page.choose("depth", "plies:2")
    page.wait(lambda: page.texts("#value"))


def test_hops_reach_every_legal_result(page, url):
    """hops.js against the rules: in random positions every legal result can be clicked together, and nothing else."""
    game = games.load("backgammon")
    states = [
        state for seed in range(6) for state in random_game(game, seed, most=400) if game.rules.num_chance(state) == 0
    ]
    states = [state for state in states if not game.rules.outcome(state)[0]]
    chosen = [states[i] for i in np.random.default_rng(1).choice(len(states), 60, replace=False)]
    shown = [json.loads(json.dumps(view.show(game, view.position(game, state)))) for state in chosen]
    found = page.driver.execute_async_script(HOPS, shown)
    assert found == [sorted(move["move"] for move in one["moves"]) for one in shown]
    assert max(len(one["moves"]) for one in shown) > 20


HOPS = """
const [shown, done] = arguments;
import("/hops.js").then(({ Turn }) => {
  const explore = (turn, seen, found) => {
    if (turn.complete !== null) found.add(turn.complete);
    for (const source of turn.sources()) {
      for (const target of turn.targets(source).keys()) {
        turn.move(source, target);
        const key = JSON.stringify(turn.now);
        if (!seen.has(key)) { seen.add(key); explore(turn, seen, found); }
        turn.takeBack();
      }
    }
    return found;
  };
  done(shown.map((one) => [...explore(new Turn(one), new Set(), new Set())].sort()));
});
"""


# --- more than one ----------------------------------------------------------------------------------------------------


def test_two_browsers_at_once(page, url, tmp_path):
    other = Page(open_browser(tmp_path / "profile"), url)
    try:
        other.open()
        other.tick("values", True)
        for one in (page, other):
            one.choose("strength", "depth:1")
            one.choose("depth", "depth:4")
        for turn, (mine, theirs) in enumerate(((3, 0), (2, 6)), 1):
            page.click(f'.place[data-place="{mine}"]')
            other.click(f'.place[data-place="{theirs}"]')
            for one in (page, other):
                one.wait(lambda one=one, turn=turn: len(one.record()) == 2 * turn and one.texts("#value"))
        assert page.record()[::2] == ["4", "3"]
        assert other.record()[::2] == ["1", "7"]
        for one in (page, other):
            assert one.cells(42) == view.cells_of(games.load("connect_four"), after("connect_four", one.record()))
    finally:
        other.driver.quit()


def test_a_tab_closed_in_mid_search_holds_nobody_up(page, url):
    first = page.driver.current_window_handle
    for _ in range(3):
        page.driver.switch_to.new_window("tab")
        page.open()
        page.choose("depth", "seconds:10")
        page.wait(lambda: page.texts("#opinion") == ["analysing …"])
        page.driver.close()
        page.driver.switch_to.window(first)
    page.choose("strength", "depth:1")
    page.choose("depth", "depth:2")
    page.click('.place[data-place="3"]')
    page.wait(lambda: page.status().startswith("Your move") and len(page.record()) == 2 and page.texts("#value"))
