// Everything on the page that follows the state of a `Page`: board, seats, buttons, moves, curve and record.

import { BackgammonBoard } from "./backgammon.js";
import { drawCurve } from "./curve.js";
import { fill, find, html, signed, worth } from "./dom.js";
import { GridBoard } from "./grid.js";
import { finishedLines, looksOf } from "./looks.js";
import { PieceBoard } from "./men.js";
import { chancesText, drawRanking, hiddenRows } from "./ranking.js";
import { YOU, strengths } from "./settings.js";
import { TextBoard } from "./textboard.js";
import { effortText, mistakeOf, recordOf, statusText } from "./texts.js";

const BOARDS = { grid: GridBoard, backgammon: BackgammonBoard, other: TextBoard };

export class Drawing {
  constructor(page) {
    this.page = page;
    this.allMoves = false;
  }

  // --- another game ------------------------------------------------------------------------------------------------

  open() {
    fill(find("game"), this.page.games.map((game) => [game.name, game.title]), null);
  }

  /** Controls and board of `game`. */
  setUp(game) {
    const { chosen } = this.page;
    this.looks = looksOf(game);
    document.title = `${game.title} · deltaw`;
    const players = game.players.map(({ name, description }) => [name, name, description]);
    fill(find("strength"), strengths(game), chosen.strength);
    fill(find("analyst"), players, chosen.analyst);
    fill(find("depth"), strengths(game), chosen.depth);
    find("dice").placeholder = game.kind === "backgammon" ? "31" : "";
    find("flip").hidden = !this.looks.turns;
    find("found").hidden = true;
    this.notes([]);
    find("copy-record").textContent = `Copy ${(this.ownFormat ?? ".jsonl").slice(1).toUpperCase()}`;
    this.makeSeats(players);
    this.board = new (this.looks.pieces === "men" ? PieceBoard : BOARDS[game.kind])(game, this.looks, {
      onMove: (move) => this.page.offer(move),
      onLook: (move) => this.markRow(move),
      onChange: () => this.changed(),
    });
    find("board").replaceChildren(this.board.element);
    find("board").className = `board ${game.kind} ${game.name}`;
  }

  makeSeats(players) {
    const { chosen } = this.page;
    this.seatRows = this.looks.seats.map((name, seat) => {
      const select = html("select", { ariaLabel: `who plays ${name}` });
      fill(select, [[YOU, "You"], ...players], chosen.seats[seat]);
      select.addEventListener("change", () => this.page.choose(() => (chosen.seats[seat] = select.value)));
      const tally = html("span", { className: "tally" });
      const kind = `seat-chip ${this.looks.pieces} seat${seat} ${this.looks.tones[seat] ?? ""}`;
      const chip = html("span", { className: kind, ariaHidden: "true" });
      const title = html("span", { className: "seat-name", textContent: name });
      return { row: html("div", { className: "seat" }, chip, title, tally, select), select, tally };
    });
    find("seats").replaceChildren(...this.seatRows.map(({ row }) => row));
  }

  /** An entry of the session has got its values. */
  valued(entry) {
    if (entry === this.page.current) this.draw();
    else this.curve();
    this.record();
  }

  // --- another position --------------------------------------------------------------------------------------------

  arrive() {
    this.allMoves = false;
    this.draw();
  }

  /** A move is being put together. */
  changed() {
    this.choices();
    if (!this.board.asks) return;
    const buttons = [...find("choices").querySelectorAll("button")];
    this.announce(`Which: ${buttons.map((button) => button.textContent).join(", ")}?`);
    buttons[0].focus();
  }

  /** For those who hear the page. */
  announce(text) {
    find("news").textContent = text;
  }

  /** The games of a file, if there are several. */
  found(games) {
    const title = ({ players, steps }, i) => [i, `${i + 1}. ${players.join(" – ")}, ${steps.length} steps`];
    fill(find("found"), games.map(title), null);
    find("found").hidden = games.length < 2;
  }

  /** What a file said besides, or why it was not read to its end. */
  notes(lines) {
    find("notes").textContent = lines.join(" ");
  }

  /** What is wrong, in one line; null: nothing. */
  say(text) {
    this.said = text;
    find("error").hidden = text === null;
    find("error").textContent = text ?? "";
  }

  draw() {
    this.position(null);
    this.choices();
    this.seats();
    this.controls();
    this.moves();
    this.curve();
    this.record();
  }

  /** `looked`: a legal move whose result is shown instead, or null. */
  position(looked) {
    const { current, session, game, chosen, enabled } = this.page;
    const { shown } = current;
    const { previous } = session;
    const ranked = this.ranked ?? [];
    const view = {
      shown, enabled, seat: shown.seat, moves: shown.moves ?? [], cells: looked?.cells ?? shown.cells,
      before: previous?.shown.cells ?? null, mover: previous?.shown.seat ?? null,
      turned: chosen.turned !== (chosen.seats[1] === YOU && chosen.seats[0] !== YOU),
      values: new Map(ranked.filter(({ value }) => value !== null).map((entry) => [entry.move, entry])),
      best: bestOf(ranked), largest: this.scale(ranked),
      line: shown.over && game.board ? finishedLines(shown.cells, game.board, this.looks.line) : [],
    };
    this.board.render(view);
  }

  get ranked() {
    const ranked = this.page.settings.all.values ? this.page.current.analysis?.ranked : null;
    return ranked?.length ? ranked : null;
  }

  /** What a full bar or the strongest colour stands for: a won game, or the largest value here where games are worth
   *  more. */
  scale(ranked) {
    const won = Math.min(1, ...this.page.game.outcomes.filter((outcome) => outcome > 0));
    return Math.max(won, ...ranked.map(({ value }) => Math.abs(value ?? 0)));
  }

  /** What a full bar of the list stands for: close values stay apart, and tiny ones do not look large. */
  barScale(ranked) {
    return Math.max(this.scale([]) / 4, ...ranked.map(({ value }) => Math.abs(value ?? 0)));
  }

  /** Buttons stay as they are while they say the same: a button that is replaced under the finger misses its click. */
  choices() {
    const choices = this.board.choices();
    const labels = JSON.stringify(choices.map(({ label }) => label));
    if (find("choices").dataset.labels === labels) return;
    find("choices").dataset.labels = labels;
    const buttons = choices.map(({ label, main, run }) => {
      const button = html("button", { type: "button", textContent: label, className: main ? "main" : "" });
      button.addEventListener("click", run);
      return button;
    });
    find("choices").replaceChildren(...buttons);
  }

  seats() {
    const { shown } = this.page.current;
    this.seatRows.forEach(({ row, select, tally }, seat) => {
      select.value = this.page.chosen.seats[seat];
      row.classList.toggle("turn", seat === shown.seat && !shown.over);
      tally.textContent = this.looks.counts ? `${shown.cells.filter((piece) => piece === seat + 1).length}` : "";
    });
    find("status").textContent = statusText(this.page, this.looks);
    find("status").classList.toggle("busy", this.page.thinking);
  }

  controls() {
    const { session, current, chosen, game, settings, enabled, running, thinking, stopped, undoIndex } = this.page;
    find("game").value = game.name;
    find("resume").hidden = !stopped;
    find("pause").hidden = !running || current.shown.over || chosen.seats.includes(YOU);
    find("undo").disabled = undoIndex < 0;
    find("hint").disabled = !enabled;
    find("back").disabled = session.at === 0;
    find("forward").disabled = session.at === session.entries.length - 1;
    find("dice-controls").hidden = !game.chance;
    find("roll").disabled = !current.shown.needs_dice || thinking;
    find("auto-roll").checked = settings.all.autoRoll;
    find("values").checked = settings.all.values;
    find("analyst-row").hidden = find("curve-card").hidden = !settings.all.values;
    if (document.activeElement !== find("position")) find("position").value = current.shown.position;
  }

  moves() {
    const { ranked, allMoves: all, byPlies, page } = this;
    const moves = page.current.shown.moves ?? [];
    const list = { ranked, moves, all, byPlies, largest: this.barScale(ranked ?? []), enabled: page.enabled };
    const rows = drawRanking(list, { onMove: (move) => page.offer(move), onLook: (move) => this.look(move) });
    find("ranking").replaceChildren(...rows);
    const hidden = hiddenRows(ranked?.length ?? moves.length);
    find("all-moves").hidden = hidden === 0;
    find("all-moves").textContent = this.allMoves ? "show fewer" : `show ${hidden} more`;
    this.opinion();
  }

  toggleAll() {
    this.allMoves = !this.allMoves;
    this.moves();
  }

  /** The line above the moves: what the analysis says of the position, or why it says nothing. */
  opinion(problem = null) {
    const { current, settings, analyst } = this.page;
    const { analysis, shown } = current;
    const line = find("opinion");
    line.replaceChildren();
    if (!settings.all.values || shown.over) return;
    if (problem) line.append(problem);
    else if (analysis) line.append(...this.opinionOf(analysis));
    else if (analyst.busy) line.append("analysing …");
  }

  get byPlies() {
    return this.page.game.chance && !this.page.chosen.depth.startsWith("depth");
  }

  opinionOf(analysis) {
    const effort = html("span", { className: "effort", textContent: effortText(analysis, this.byPlies) });
    if (analysis.value === null) return ["This player ranks the moves and gives no values. ", effort];
    const distance = analysis.ranked[0]?.distance;
    const value = html("strong", { id: "value", textContent: worth({ value: analysis.value, distance }, 3) });
    const chances = chancesText(this.page.game.outcomes, analysis.ranked[0]?.chances);
    const side = this.looks.seats[this.page.current.shown.seat];
    const said = distance ? [`${side} `, value, distance === 1 ? " ply. " : " plies. "] : [value, ` for ${side}. `];
    return [...said, chances && `${chances}. `, effort];
  }

  /** A move is pointed at in the list: shows it on the board. */
  look(text) {
    const move = this.page.current.shown.moves?.find((other) => other.move === text) ?? null;
    if (this.page.game.kind === "backgammon") this.position(move);
    else this.board.look(move);
  }

  hint(text) {
    this.look(text);
    this.markRow(text);
    this.announce(`Hint: ${text}.`);
    if (!this.ranked) find("opinion").textContent = `Hint: ${text}.`;
  }

  /** A move is pointed at on the board: marks it in the list. */
  markRow(text) {
    for (const row of find("ranking").querySelectorAll(".rank")) {
      row.classList.toggle("marked", row.dataset.move === text);
    }
  }

  curve() {
    const { entries, at } = this.page.session;
    const two = this.page.game.seats === 2;
    const points = entries.map(({ value, move, shown }, i) => {
      const turned = value === null || !two || shown.seat === 0 ? value : -value;
      const worth = turned === null ? "" : `, ${signed(turned)}`;
      return { value: turned, label: `${i ? `${i}. ${move}` : "start"}${worth}` };
    });
    const names = two ? this.looks.seats : ["the side to move"];
    const hadFocus = find("curve").contains(document.activeElement);
    find("curve").replaceChildren(drawCurve(points, at, this.scale(points), names, (index) => this.page.go(index)));
    if (hadFocus) find("curve").firstChild.focus();
  }

  record() {
    const { session, game, settings } = this.page;
    const items = recordOf(session.entries, game.seats).map(({ number, dice, text, index }) => {
      const button = html("button", { type: "button", className: index === session.at ? "ply now" : "ply" });
      button.title = "go to the position after this move";
      if (dice) button.append(html("span", { className: "rolled", textContent: `${dice}:` }), " ");
      button.append(text);
      button.addEventListener("click", () => this.page.go(index));
      const count = number ? [html("span", { className: "number", textContent: `${number}.` })] : [];
      const mistake = settings.all.values ? mistakeOf(session.entries[index - 1], text) : null;
      const mark = mistake
        ? [html("span", { className: "mistake", textContent: mistake.sign, title: mistake.title })]
        : [];
      return html("li", {}, ...count, button, ...mark);
    });
    find("record").replaceChildren(...items);
    const now = find("record").querySelector(".now");
    if (now) find("record").scrollTop = now.offsetTop - find("record").clientHeight / 2;
  }

  /** The format of files in which the game's own community keeps games; undefined where there is none. */
  get ownFormat() {
    return Object.keys(this.page.game.formats)[1];
  }
}

/** Moves of the highest value; none where all are alike. */
function bestOf(ranked) {
  const best = ranked.filter(({ value }) => value !== null && value === ranked[0].value);
  return best.length < ranked.length ? best.map(({ move }) => move) : [];
}
