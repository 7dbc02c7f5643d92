"""What the tests of the web board share: the page as a person uses it, and the answers of its server."""

from __future__ import annotations

import json
import urllib.request
from collections.abc import Callable
from typing import Any

from selenium.common.exceptions import StaleElementReferenceException
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.remote.webdriver import WebDriver
from selenium.webdriver.remote.webelement import WebElement
from selenium.webdriver.support.ui import Select, WebDriverWait

from deltaw.envs import games
from deltaw.search.doors import view

PATIENCE = 60.0
"""seconds until something awaited counts as missing: kernels may have to be compiled"""


class Page:
    """What a person does and sees."""

    def __init__(self, driver: WebDriver, url: str) -> None:
        self.driver, self.url = driver, url

    def open(self) -> None:
        self.driver.get(self.url)
        self.wait(lambda: self.status() not in ("", "Loading …"))

    def forget(self) -> None:
        self.open()
        self.driver.execute_script("localStorage.clear(); sessionStorage.clear()")
        self.open()

    def wait(self, condition: Callable[[], Any]) -> Any:
        return WebDriverWait(self.driver, PATIENCE, 0.03).until(lambda _: condition())

    def one(self, selector: str) -> WebElement:
        return self.driver.find_element(By.CSS_SELECTOR, selector)

    def script(self, text: str, *arguments: Any) -> Any:
        return self.driver.execute_script(text, *arguments)

    def texts(self, selector: str, attribute: str | None = None) -> list[str]:
        """Texts (or an attribute) of all that match, read at one moment."""
        read = "e.getAttribute(arguments[1])" if attribute else "e.textContent"
        return self.script(f"return [...document.querySelectorAll(arguments[0])].map(e => {read})", selector, attribute)

    def status(self) -> str:
        return "".join(self.texts("#status"))

    def choose(self, field: str, value: str) -> None:
        Select(self.one(f"#{field}")).select_by_value(value)

    def play_game(self, name: str) -> None:
        if self.one("#game").get_property("value") != name:
            self.choose("game", name)
            self.wait(lambda: self.one("#board").get_attribute("class") == f"board {kind(name)} {name}")

    def sit(self, *players: str) -> None:
        for i, player in enumerate(players, 1):
            Select(self.one(f"#seats .seat:nth-child({i}) select")).select_by_value(player)

    def tick(self, field: str, wanted: bool) -> None:
        if self.one(f"#{field}").is_selected() != wanted:
            self.one(f"#{field}").click()

    def click(self, selector: str) -> None:
        """Clicks what matches now; values that arrive may draw it anew in between."""
        while True:
            try:
                return self.one(selector).click()
            except StaleElementReferenceException:
                continue

    def enter(self, field: str, text: str) -> None:
        """Writes over what stands there in one go: a field that is cleared first may be filled again by values that
        arrive."""
        self.one(f"#{field}").send_keys(Keys.CONTROL, "a", Keys.NULL, text, Keys.ENTER)

    def set_up(self, position: str) -> None:
        """The space behind it goes when the position is drawn, so the field says when that has happened."""
        self.enter("position", f"{position} ")
        self.wait(lambda: self.one("#position").get_property("value") == position)

    def listen(self) -> None:
        """Keeps a copy of every analysis that the page is sent from now on."""
        self.script("""
            window.heard = {};
            const original = window.fetch;
            window.fetch = async (...words) => {
              const answer = await original(...words);
              const copy = await answer.clone().json();
              if (copy.ranked) window.heard[copy.position] = copy;
              return answer;
            };""")

    def heard(self) -> dict[str, dict[str, Any]]:
        """The last analysis of each position."""
        return self.script("return window.heard")

    def record(self) -> list[str]:
        return self.texts(".ply")

    def cells(self, count: int) -> list[int]:
        """The pieces that are drawn."""
        pieces = zip(self.texts("[data-cell]", "data-cell"), self.texts("[data-cell]", "data-piece"), strict=True)
        drawn = {int(cell): int(piece) for cell, piece in pieces}
        return [drawn.get(cell, 0) for cell in range(count)]


def kind(name: str) -> str:
    return view.kind_of(games.load(name))


def ask(url: str, **request: Any) -> dict[str, Any]:
    """The server's own answer, without the page."""
    body = json.dumps(request).encode()
    asked = urllib.request.Request(f"{url}api", body, {"Content-Type": "application/json"})
    with urllib.request.urlopen(asked, timeout=PATIENCE) as answer:
        return json.load(answer)


def number(text: str) -> float:
    return float(text.replace("−", "-"))
