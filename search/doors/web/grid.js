// Games on a board of squares: Connect Four, Othello, tic-tac-toe, and any other game whose cells are numbered row by
// row.
//
// Layers of the drawing, from below: the squares, the pieces, a front plate with holes (Connect Four), values and
// marks, and last the invisible places that are clicked: one a square, or one a column where discs drop.

import { heat } from "./heat.js";
import { set, signed, svg, presses } from "./dom.js";

const SIDE = 100;
const EDGE = 34; // width of the frame where the names of rows or columns stand
const RIM = 14; // and where nothing stands

export class GridBoard {
  /** `onMove(text)` is called with a legal move; `onLook(text or null)` when a move is pointed at. */
  constructor(game, looks, { onMove, onLook }) {
    Object.assign(this, { game, looks, onMove, onLook });
    ({ rows: this.rows, columns: this.columns } = game.board);
    this.cells = Array(this.rows * this.columns).fill(0);
    this.pieces = this.cells.map(() => null);
    Object.assign(this, { focused: 0, hovered: null, looked: null });
    const layers = ["squares", "pieces", "front", "marks", "places"];
    this.layers = Object.fromEntries(layers.map((name) => [name, svg("g", { class: name })]));
    this.left = this.top = looks.falls ? RIM : EDGE;
    const [width, height] = [this.columns * SIDE + this.left + RIM, this.rows * SIDE + EDGE + RIM];
    this.element = svg(
      "svg",
      {
        viewBox: `0 0 ${width} ${height}`, class: `grid ${looks.pieces}`,
        role: "group", "aria-label": `${looks.title} board`,
      },
      ...Object.values(this.layers),
    );
    this.drawSquares(width, height);
    this.places = this.makePlaces();
    this.element.addEventListener("keydown", (event) => this.onKey(event));
  }

  /** view: {cells, moves, seat, enabled, values: Map(move -> value), best: [moves], largest,
   *  line: cells of a finished line, last: the cell of the last move or null} */
  render(view) {
    this.view = view;
    this.looked = null;
    this.moves = new Map(view.moves.filter((move) => move.at !== null).map((move) => [move.at, move]));
    this.drawPieces(view);
    this.drawMarks();
    this.labelPlaces();
    this.cells = [...view.cells];
  }

  /** Moves that no square stands for, such as a pass. */
  choices() {
    if (!this.view.enabled) return [];
    const others = this.view.moves.filter((move) => move.at === null);
    return others.map((move) => ({ label: move.move, main: true, run: () => this.onMove(move.move) }));
  }

  /** Rings the square of a move that is pointed at elsewhere; null: none. */
  look(move) {
    this.looked = move?.at ?? null;
    this.drawMarks();
  }

  // --- places ------------------------------------------------------------------------------------------------------

  /** Centre of a cell. */
  center(cell) {
    const row = Math.floor(cell / this.columns);
    const y = this.looks.falls ? this.rows - 1 - row : row;
    return [this.left + (cell % this.columns) * SIDE + SIDE / 2, this.top + y * SIDE + SIDE / 2];
  }

  nameOf(cell) {
    const column = cell % this.columns;
    if (this.looks.falls) return `column ${column + 1}`;
    return `${"abcdefghijklmnopqrstuvwxyz"[column]}${Math.floor(cell / this.columns) + 1}`;
  }

  makePlaces() {
    const count = this.looks.falls ? this.columns : this.cells.length;
    return Array.from({ length: count }, (_, i) => {
      const [x, y] = this.center(i);
      const box = this.looks.falls
        ? { x: x - SIDE / 2, y: this.top, width: SIDE, height: this.rows * SIDE }
        : { x: x - SIDE / 2, y: y - SIDE / 2, width: SIDE, height: SIDE };
      const place = svg("rect", { ...box, class: "place", role: "button", "data-place": i });
      place.addEventListener("click", () => this.press(i));
      place.addEventListener("pointerenter", () => this.point(i));
      place.addEventListener("pointerleave", () => this.point(null));
      place.addEventListener("focus", () => this.point(i));
      place.addEventListener("blur", () => this.point(null));
      this.layers.places.append(place);
      return place;
    });
  }

  moveAt(place) {
    if (!this.looks.falls) return this.moves.get(place);
    return [...this.moves.values()].find((move) => move.at % this.columns === place);
  }

  press(place) {
    this.focused = place;
    const move = this.view.enabled && this.moveAt(place);
    if (move) this.onMove(move.move);
  }

  point(place) {
    this.hovered = place;
    this.drawMarks();
    this.onLook(this.pointed?.move ?? null);
  }

  /** The move that a click would play. */
  get pointed() {
    return this.hovered === null || !this.view?.enabled ? null : this.moveAt(this.hovered);
  }

  onKey(event) {
    const place = this.places.indexOf(event.target);
    if (place < 0) return;
    const across = this.looks.falls ? 1 : this.columns;
    const steps = { ArrowLeft: -1, ArrowRight: 1, ArrowUp: -across, ArrowDown: across };
    if (presses(event)) this.press(place);
    else if (event.key in steps) this.focusOn(place, steps[event.key]);
    else return;
    event.preventDefault();
    event.stopPropagation();
  }

  focusOn(place, step) {
    const next = place + step;
    const sameRow = Math.floor(next / this.columns) === Math.floor(place / this.columns);
    if (!this.places[next] || (Math.abs(step) === 1 && !sameRow)) return;
    this.focused = next;
    this.labelPlaces();
    this.places[next].focus();
  }

  labelPlaces() {
    this.places.forEach((place, i) => {
      const move = this.moveAt(i);
      const cell = move?.at ?? i;
      const value = move && this.view.values.has(move.move) ? `, value ${signed(this.view.values.get(move.move))}` : "";
      set(place, {
        tabindex: i === this.focused ? 0 : -1,
        "aria-label": this.nameOf(cell) + this.contentOf(cell) + value,
        "aria-disabled": this.view.enabled && move ? null : "true",
        "data-move": move?.move ?? null,
      });
    });
  }

  contentOf(cell) {
    if (this.looks.falls) return ""; // a place is a column
    const piece = this.view.cells[cell];
    return piece ? `, ${this.looks.seats[piece - 1] ?? "taken"}` : ", empty";
  }

  // --- drawing -----------------------------------------------------------------------------------------------------

  drawSquares(width, height) {
    const { squares, front } = this.layers;
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
  drawPieces({ cells }) {
    const changed = cells.map((_, cell) => cell).filter((cell) => cells[cell] !== this.cells[cell]);
    const filled = changed.filter((cell) => cells[cell] && !this.cells[cell]);
    for (const cell of changed) {
      const how = this.cells[cell] ? "turned" : this.looks.falls ? "dropped" : "placed";
      this.pieces[cell]?.remove();
      this.pieces[cell] = cells[cell] ? this.piece(cells[cell], cell, filled.length > 1 ? null : how) : null;
      if (this.pieces[cell]) this.layers.pieces.append(this.pieces[cell]);
    }
  }

  /** `how` it comes to its square, or null where a whole position is shown. */
  piece(piece, cell, how) {
    const [x, y] = this.center(cell);
    const shape = this.shape(piece);
    if (how) this.animate(shape, how, y);
    return svg("g", { transform: `translate(${x} ${y})`, "data-cell": cell, "data-piece": piece }, shape);
  }

  animate(shape, how, y) {
    shape.classList.add(how);
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
    const { cells, moves, values, largest, line, seat } = this.view;
    const marks = [];
    const fresh = this.view.last;
    if (fresh !== null && fresh !== undefined) marks.push(this.ring(fresh, "last"));
    for (const cell of line) marks.push(this.ring(cell, "won"));
    for (const move of moves) {
      if (move.at === null || cells[move.at]) continue;
      if (values.has(move.move)) marks.push(this.chip(move, values.get(move.move), largest));
      else if (this.view.enabled) marks.push(this.hint(move.at));
    }
    const looked = this.looked ?? this.pointed?.at ?? null;
    if (looked !== null) marks.push(this.ring(looked, `looked seat${seat}`));
    this.layers.marks.replaceChildren(...marks);
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

  /** The value of a move on its square: colour and number, and a ring around the best. */
  chip(move, value, largest) {
    const [x, y] = this.center(move.at);
    const { fill, ink } = heat(value, largest);
    const best = this.view.best.includes(move.move) ? " best" : "";
    const body = this.looks.pieces === "marks"
      ? svg("rect", { x: -40, y: -40, width: 80, height: 80, rx: 14, fill })
      : svg("circle", { r: 38, fill });
    const text = svg("text", { fill: ink, "data-value": move.move }, signed(value));
    return svg("g", { class: `chip${best}`, transform: `translate(${x} ${y})` }, body, text);
  }
}
