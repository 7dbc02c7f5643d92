// Buttons, fields and keys of the page.

import { find } from "./dom.js";
import { linkTo, linked } from "./link.js";

/** Connects every control of index.html with `page`. */
export function connect(page) {
  const click = (id, run) => find(id).addEventListener("click", run);
  const change = (id, run) => find(id).addEventListener("change", ({ target }) => run(target));
  click("new", () => page.begin(page.game));
  click("swap", () => page.swap());
  click("flip", () => page.flip());
  click("undo", () => page.undo());
  click("hint", () => page.hint());
  click("back", () => page.go(page.session.at - 1));
  click("forward", () => page.go(page.session.at + 1));
  click("resume", () => page.resume(true));
  click("pause", () => page.resume(false));
  click("roll", () => page.roll());
  click("all-moves", () => page.drawing.toggleAll());
  click("copy-record", ({ target }) => page.write((text) => copy(text, target)));
  click("copy-position", ({ target }) => copy(page.current.shown.position, target));
  click("copy-link", ({ target }) => copy(linkTo(page.session.whole(page.session.at)), target));
  addEventListener("hashchange", () => page.follow(linked()));
  change("game", ({ value }) => page.begin(page.games.find(({ name }) => name === value)));
  change("strength", ({ value }) => page.choose(() => (page.chosen.strength = value)));
  change("analyst", ({ value }) => page.revalue(() => (page.chosen.analyst = value)));
  change("depth", ({ value }) => page.revalue(() => (page.chosen.depth = value)));
  change("values", ({ checked }) => page.choose(() => (page.settings.all.values = checked)));
  change("auto-roll", ({ checked }) => page.choose(() => (page.settings.all.autoRoll = checked)));
  submit("move-form", "move", (text) => page.offer(text), true);
  submit("dice-form", "dice", (text) => page.typeDice(text), true);
  submit("position-form", "position", (text) => page.begin(page.game, text), false);
  find("open-form").addEventListener("submit", (event) => {
    event.preventDefault();
    page.read(find("game-text").value);
  });
  change("game-file", async ({ files }) => {
    if (files.length) page.read(await files[0].text());
  });
  change("found", ({ value }) => page.openRecord(page.found[value]));
  document.addEventListener("keydown", (event) => onKey(page, event));
}

function submit(form, field, run, clears) {
  find(form).addEventListener("submit", (event) => {
    event.preventDefault();
    const text = find(field).value.trim();
    if (text) run(text);
    if (clears) find(field).value = "";
    else find(field).blur();
  });
}

async function copy(text, button) {
  const words = button.textContent;
  try {
    await navigator.clipboard.writeText(text);
    button.textContent = "Copied";
  } catch {
    button.textContent = "Not allowed here";
  }
  setTimeout(() => (button.textContent = words), 1500);
}

/** Keys of the whole page; those of a field or of the board are handled there. */
function onKey(page, event) {
  if (event.ctrlKey || event.metaKey || event.altKey || event.target.closest("input, select, textarea")) return;
  const keys = {
    ArrowLeft: () => page.go(page.session.at - 1),
    ArrowRight: () => page.go(page.session.at + 1),
    n: () => page.begin(page.game),
    u: () => page.undo(),
    h: () => find("hint").click(),
    r: () => find("roll").click(),
    v: () => find("values").click(),
    s: () => page.swap(),
    f: () => page.flip(),
    p: () => page.resume(!page.running),
  };
  for (let digit = 1; digit < 10; digit++) keys[digit] = () => page.drawing.board.pressColumn?.(digit - 1);
  const confirms = event.key === "Enter" && event.target === document.body;
  const run = keys[event.key] ?? (confirms ? () => page.confirm() : null);
  if (!run || !page.session) return;
  event.preventDefault();
  run();
}
