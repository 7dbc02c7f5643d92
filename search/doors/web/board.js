// The page's entry: asks the server what it offers, and begins.

import { ask } from "./api.js";
import { connect } from "./controls.js";
import { find } from "./dom.js";
import { Page } from "./page.js";

try {
  const { program, version, longest, games } = await ask({ do: "info" });
  for (const game of games) game.longest = longest; // seconds that a request may ask for
  find("program").textContent = program;
  find("program").title = `version ${version}`;
  const page = new Page(games);
  connect(page);
  page.open();
} catch (error) {
  find("status").textContent = "The board cannot be shown.";
  find("error").textContent = error.message;
  find("error").hidden = false;
  throw error;
}
