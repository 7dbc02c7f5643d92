// Games on a board of squares: Connect Four, Othello, tic-tac-toe, and any other game whose cells are numbered row by
// row.
//
// Layers of the drawing, from below: the squares, the pieces, a front plate with holes (Connect Four), values and
// marks, and last the invisible places that are clicked: one a square, or one a column where discs drop.

import { Clicks } from "./clicks.js";
import { heat } from "./heat.js";
import { presses, set, signed, svg, worth } from "./dom.js";

const SIDE = 100;
const EDGE = 34; // width of the frame where the names of rows or columns stand
const RIM = 14; // and where nothing stands

export class GridBoard {
  /** `onMove(text)` is called with a legal move; `onLook(text or null)` when a move is pointed at; `onChange()` when
   *  `choices()` are others. */
  constructor(game, looks, { onMove, onLook, onChange }) {
    Object.assign(this, { game, looks, onMove, onLook, onChange });
    const { rows, columns } = game.board;
    this.cells = Array(rows * columns).fill(0);
    this.pieces = this.cells.map(() => null);
    [this.rows, this.columns] = [rows, looks.dark ? 2 * columns : columns];
    Object.assign(this, { focused: 0, hovered: null, looked: [], clicks: new Clicks([]) });
    const layers = ["squares", "pieces", "front", "marks", "places"];
    this.layers = Object.fromEntries(layers.map((name) => [name, svg("g", { class: name })]));
    const men = looks.pieces === "men"; // their board has its names to the left and below, or none
    this.left = looks.falls || looks.dark ? RIM : EDGE;
    this.top = looks.falls || men ? RIM : EDGE;
    this.bottom = looks.falls || (men && !looks.dark) ? EDGE : RIM;
    const [width, height] = this.size;
    this.element = svg(
      "svg",
      {
        viewBox: `0 0 ${width} ${height}`, class: `grid ${looks.pieces} ${game.name}`,
        role: "group", "aria-label": `${looks.title} board`,
      },
      ...Object.values(this.layers),
    );
    this.drawSquares();
    this.places = this.makePlaces();
    this.element.addEventListener("keydown", (event) => this.onKey(event));
  }

  /** view: {cells, moves, seat, enabled, values: Map(move -> {value, distance}), best: [moves], largest,
   *  line: cells of a finished line, before: cells of the position before or null, mover: who moved there} */
  render(view) {
    if (this.view?.moves !== view.moves || this.clicks.move) this.clicks = new Clicks(view.moves);
    this.view = view;
    this.looked = [];
    this.redraw();
  }

  redraw() {
    this.drawPieces(this.shownCells());
    this.drawMarks();
    this.labelPlaces();
  }

  /** What is on the board. */
  shownCells() {
    return this.view.cells;
  }

  /** Moves that no cell stands for, such as a pass, and those that the same clicks make. */
  choices() {
    if (!this.view.enabled) return [];
    const same = this.clicks.clicked.length ? this.clicks.complete : [];
    const moves = same.length ? same : this.view.moves.filter((move) => !move.clicks.length);
    const play = ({ move }) => {
      this.places[this.focused].focus(); // the button goes away
      this.onMove(move);
    };
    return moves.map((move, i) => ({ label: move.move, main: i === 0, run: () => play(move) }));
  }

  /** Whether one of `choices()` completes what was clicked. */
  get asks() {
    return this.clicks.clicked.length > 0 && this.clicks.complete.length > 1;
  }

  /** Rings the squares of a move that is pointed at elsewhere; null: none. */
  look(move) {
    this.looked = move?.clicks[0] ?? [];
    this.drawMarks();
  }

  // --- places ------------------------------------------------------------------------------------------------------

  /** Column and row of a cell, counted from the top left. */
  spot(cell) {
    const row = Math.floor(cell / this.columns);
    return [cell % this.columns, this.looks.falls ? this.rows - 1 - row : row];
  }

  /** Centre of a cell. */
  center(cell) {
    const [column, row] = this.spot(cell);
    return [this.left + column * SIDE + SIDE / 2, this.top + row * SIDE + SIDE / 2];
  }

  nameOf(cell) {
    const column = cell % this.columns;
    if (this.looks.falls) return `column ${column + 1}`;
    return `${"abcdefghijklmnopqrstuvwxyz"[column]}${Math.floor(cell / this.columns) + 1}`;
  }

  makePlaces() {
    const count = this.looks.falls ? this.columns : this.cells.length;
    return Array.from({ length: count }, (_, i) => {
      const place = svg("rect", { ...this.boxOf(i), role: "button", "data-place": i });
      place.addEventListener("click", () => this.press(i));
      place.addEventListener("pointerenter", () => this.point(i));
      place.addEventListener("pointerleave", () => this.point(null));
      place.addEventListener("focus", () => this.point(i));
      place.addEventListener("blur", () => this.point(null));
      this.layers.places.append(place);
      return place;
    });
  }

  boxOf(place) {
    const [x, y] = this.center(place);
    return this.looks.falls
      ? { x: x - SIDE / 2, y: this.top, width: SIDE, height: this.rows * SIDE }
      : { x: x - SIDE / 2, y: y - SIDE / 2, width: SIDE, height: SIDE };
  }

  /** The cell that a place stands for; in a column the one on which a disc falls. */
  cellAt(place) {
    if (!this.looks.falls) return place;
    return [...this.clicks.next().keys()].find((cell) => cell % this.columns === place);
  }

  movesAt(place) {
    return this.clicks.next().get(this.cellAt(place)) ?? [];
  }

  press(place) {
    this.focused = place;
    if (!this.view.enabled) return;
    this.clicks.press(this.cellAt(place));
    this.redraw();
    this.onChange();
    if (this.clicks.move) this.onMove(this.clicks.move.move);
  }

  /** A digit was pressed: a disc falls in that column. */
  pressColumn(column) {
    if (this.looks.falls && this.places[column]) this.press(column);
  }

  /** Takes back what was clicked. */
  cancel() {
    this.clicks.reset();
    this.redraw();
    this.onChange();
  }

  point(place) {
    this.hovered = place;
    this.drawMarks();
    this.onLook(this.pointed?.move ?? null);
  }

  /** The one move that is left after a click. */
  get pointed() {
    if (this.hovered === null || !this.view?.enabled) return null;
    const moves = this.movesAt(this.hovered);
    return moves.length === 1 ? moves[0] : null;
  }

  onKey(event) {
    const place = this.places.indexOf(event.target);
    if (place < 0) return;
    const steps = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };
    if (presses(event)) this.press(place);
    else if (event.key === "Escape" && this.clicks.clicked.length) this.cancel();
    else if (event.key in steps) this.focusOn(place, ...steps[event.key]);
    else return;
    event.preventDefault();
    event.stopPropagation();
  }

  /** The nearest place to the right or left in the same row, or in the row above or below. */
  focusOn(place, right, down) {
    const [column, row] = this.spot(place);
    const near = this.places.map((_, i) => [i, ...this.spot(i)]).filter(([, x, y]) => {
      return y === row + down && (down || (x - column) * right > 0);
    });
    const [next] = near.sort(([, a], [, b]) => Math.abs(a - column) - Math.abs(b - column))[0] ?? [];
    if (next === undefined) return;
    this.focused = next;
    this.labelPlaces();
    this.places[next].focus();
  }

  labelPlaces() {
    const { enabled } = this.view;
    const { clicked } = this.clicks;
    this.places.forEach((place, i) => {
      const [moves, cell] = [this.movesAt(i), this.cellAt(i) ?? i];
      const selected = enabled && cell === clicked.at(-1);
      const entry = this.bestOf(moves);
      const said = entry ? `, ${entry.distance ? "" : "value "}${worth(entry)}` : "";
      const kind = !enabled || !moves.length ? "" : clicked.length ? " target" : " source";
      set(place, {
        class: `place${kind}${selected ? " selected" : ""}`,
        tabindex: i === this.focused ? 0 : -1,
        "aria-label": this.nameOf(cell) + this.contentOf(cell) + said,
        "aria-disabled": kind || selected ? null : "true",
        "aria-pressed": selected ? "true" : null,
        "data-move": moves.length === 1 ? moves[0].move : null,
      });
    });
  }

  /** What is known of the best of some moves: {move, value, distance}, or null. */
  bestOf(moves) {
    const known = moves.map(({ move }) => this.view.values.get(move)).filter(Boolean);
    return known.reduce((best, entry) => (best && best.value >= entry.value ? best : entry), null);
  }

  contentOf(cell) {
    if (this.looks.falls) return ""; // a place is a column
    const piece = this.shownCells()[cell];
    return piece ? `, ${this.contentName(piece)}` : ", empty";
  }

  contentName(piece) {
    return this.looks.seats[piece - 1] ?? "taken";
  }

  // --- drawing -----------------------------------------------------------------------------------------------------

  get size() {
    return [this.columns * SIDE + this.left + RIM, this.rows * SIDE + this.top + this.bottom];
  }

  drawSquares() {
    const { squares, front } = this.layers;
    const [width, height] = this.size;
    const field = { x: this.left, y: this.top, width: this.columns * SIDE, height: this.rows * SIDE };
    squares.append(svg("rect", { width, height, rx: 22, class: "frame" }));
    squares.append(svg("rect", { ...field, class: "field" }));
    this.drawNames(squares);
    if (this.looks.falls) front.append(this.plate(width, height));
    else this.drawLines(squares);
  }

  /** The blue plate of Connect Four: a mask leaves its holes open. */
  plate(width, height) {
    const holes = this.cells.map((_, cell) => {
      const [cx, cy] = this.center(cell);
      return svg("circle", { cx, cy, r: 41 });
    });
    const mask = svg("mask", { id: "holes" }, svg("rect", { width, height, fill: "white" }), ...holes);
    const rims = this.cells.map((_, cell) => {
      const [cx, cy] = this.center(cell);
      return svg("circle", { cx, cy, r: 42, class: "rim" });
    });
    const face = svg("rect", { width, height, rx: 22, class: "plate", mask: "url(#holes)" });
    const names = svg("g");
    this.drawNames(names);
    return svg("g", {}, mask, face, ...rims, names);
  }

  drawLines(squares) {
    const { left, top } = this;
    const [right, bottom] = [left + this.columns * SIDE, top + this.rows * SIDE];
    const open = this.looks.pieces === "marks" ? 1 : 0; // tic-tac-toe has no lines around the board
    for (let x = left + open * SIDE; x <= right - open * SIDE; x += SIDE) {
      squares.append(svg("line", { x1: x, x2: x, y1: top, y2: bottom, class: "line" }));
    }
    for (let y = top + open * SIDE; y <= bottom - open * SIDE; y += SIDE) {
      squares.append(svg("line", { x1: left, x2: right, y1: y, y2: y, class: "line" }));
    }
  }

  drawNames(layer) {
    for (let column = 0; column < this.columns; column++) {
      const [x] = this.center(column);
      const name = this.looks.falls ? column + 1 : "abcdefghijklmnopqrstuvwxyz"[column];
      const y = (this.looks.falls ? this.top + this.rows * SIDE : 0) + EDGE / 2;
      layer.append(svg("text", { x, y, class: "name" }, `${name}`));
    }
    for (let row = 0; row < this.rows && !this.looks.falls; row++) {
      layer.append(svg("text", { x: EDGE / 2, y: this.center(row * this.columns)[1], class: "name" }, `${row + 1}`));
    }
  }

  /** Only squares that changed are drawn anew, so that a disc may fall on while other things are redrawn. */
  drawPieces(cells) {
    const changed = cells.map((_, cell) => cell).filter((cell) => cells[cell] !== this.cells[cell]);
    for (const cell of changed) {
      this.pieces[cell]?.remove();
      this.pieces[cell] = cells[cell] ? this.piece(cells[cell], cell) : null;
      if (!cells[cell]) continue;
      this.enter(this.pieces[cell].firstChild, cell, cells, changed);
      this.layers.pieces.append(this.pieces[cell]);
    }
    this.cells = [...cells];
  }

  piece(piece, cell) {
    return svg("g", { transform: this.placed(cell), "data-cell": cell, "data-piece": piece }, this.shape(piece));
  }

  placed(cell) {
    const [x, y] = this.center(cell);
    return `translate(${x} ${y})`;
  }

  /** How a piece comes to its square; where a whole position is shown, it is there. */
  enter(shape, cell, cells, changed) {
    if (changed.filter((other) => cells[other] && !this.cells[other]).length > 1) return;
    const [, y] = this.center(cell);
    shape.classList.add(this.cells[cell] ? "turned" : this.looks.falls ? "dropped" : "placed");
    shape.style.setProperty("--fall", `${-y}px`);
    shape.style.setProperty("--time", `${Math.round(160 + 22 * Math.sqrt(y))}ms`);
  }

  /** A piece around the origin; `piece` counts seats from 1. */
  shape(piece) {
    const seat = `piece seat${piece - 1}`;
    if (this.looks.pieces !== "marks") {
      const inner = svg("circle", { r: this.looks.falls ? 27 : 30, class: "groove" });
      return svg("g", { class: seat }, svg("circle", { r: this.looks.falls ? 43 : 40, class: "body" }), inner);
    }
    const shapes = ["M-26-26 26 26M-26 26 26-26", "M0-30a30 30 0 1 0 .1 0z", "M-28-26H28L-28 26H28"];
    const d = shapes[piece - 1] ?? "M-24 0H24";
    return svg("path", { d, class: `mark ${seat}` });
  }

  drawMarks() {
    if (!this.view) return;
    const { line, seat } = this.view;
    const marks = [...this.fresh().map((cell) => this.ring(cell, "last")), ...line.map((cell) => this.ring(cell, "won"))];
    for (const [cell, moves] of this.clicks.next()) marks.push(...this.marksOf(cell, moves));
    const looked = this.looked.length ? this.looked : (this.pointed?.clicks[0] ?? []);
    for (const cell of looked) marks.push(this.ring(cell, `looked seat${seat}`));
    this.layers.marks.replaceChildren(...marks);
  }

  /** The cells of the last move: those that were empty. */
  fresh() {
    const { cells, before, mover } = this.view;
    const cell = before ? cells.findIndex((piece, i) => piece === mover + 1 && !before[i]) : -1;
    return cell < 0 ? [] : [cell];
  }

  /** What says that a cell can be clicked, and what that is worth. */
  marksOf(cell, moves) {
    const entry = this.bestOf(moves);
    if (this.view.cells[cell] && !this.clicks.clicked.length) return []; // a piece that may move
    if (entry) return [this.chip(cell, entry)];
    return this.view.enabled ? [this.hint(cell)] : [];
  }

  ring(cell, kind) {
    const [cx, cy] = this.center(cell);
    if (this.looks.pieces === "marks") {
      return svg("rect", { x: cx - 44, y: cy - 44, width: 88, height: 88, rx: 16, class: `ring ${kind}` });
    }
    return svg("circle", { cx, cy, r: kind === "last" ? 7 : this.looks.falls ? 41 : 43, class: `ring ${kind}` });
  }

  hint(cell) {
    const [cx, cy] = this.center(cell);
    return svg("circle", { cx, cy, r: 7, class: "hint" });
  }

  /** The value of moves on their square: colour and number, and a ring around the best. */
  chip(cell, { move, value, distance }) {
    const [x, y] = this.center(cell);
    const { fill, ink } = heat(value, this.view.largest);
    const best = this.view.best.includes(move) ? " best" : "";
    const body = this.looks.pieces === "marks"
      ? svg("rect", { x: -40, y: -40, width: 80, height: 80, rx: 14, fill })
      : svg("circle", { r: 38, fill });
    const words = distance ? `${value > 0 ? "win" : "loss"} ${distance}` : signed(value);
    const text = svg("text", { fill: ink, "data-value": move, class: distance ? "proven" : null }, words);
    return svg("g", { class: `chip${best}`, transform: `translate(${x} ${y})` }, body, text);
  }
}
