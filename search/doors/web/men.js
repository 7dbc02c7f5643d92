// Games whose pieces move and are of several kinds, such as chess and checkers: the shapes come from the server. A move
// is clicked, dragged or chosen by keys; the board is seen from either side.

import { GridBoard } from "./grid.js";
import { svg } from "./dom.js";

const LETTERS = "abcdefghijklmnopqrstuvwxyz";
const SHAPE = 100; // side of a shape's square
const SCALE = 0.94;
const DRAGGED = 6; // pixels from which a press is a drag
const MOST_CHANGED = 12; // cells that a move changes; more are another position

export class PieceBoard extends GridBoard {
  constructor(game, looks, callbacks) {
    super(game, looks, callbacks);
    Object.assign(this, { drag: null, dropped: false });
    this.element.addEventListener("pointerdown", (event) => this.grab(event));
    this.element.addEventListener("pointermove", (event) => this.pull(event));
    this.element.addEventListener("pointerup", (event) => this.drop(event));
    this.element.addEventListener("pointercancel", () => this.letGo());
    // A finger on a piece drags it; elsewhere on the board it scrolls the page. (touch-action cannot tell them apart.)
    this.element.addEventListener("touchmove", (event) => this.drag && event.preventDefault(), { passive: false });
  }

  render(view) {
    const rotated = view.turned !== Boolean(this.looks.top);
    if (rotated !== this.rotated) this.rotate(rotated);
    super.render(view);
  }

  rotate(rotated) {
    this.rotated = rotated;
    this.layers.squares.replaceChildren();
    this.drawSquares();
    this.pieces.forEach((piece) => piece?.remove());
    this.cells.fill(0);
    this.places.forEach((place, i) => {
      for (const [name, value] of Object.entries(this.boxOf(i))) place.setAttribute(name, value);
    });
  }

  // --- where things are --------------------------------------------------------------------------------------------

  spot(cell) {
    const [column, row] = this.looks.dark ? this.darkSpot(cell) : super.spot(cell);
    return this.rotated ? [this.columns - 1 - column, this.rows - 1 - row] : [column, row];
  }

  /** Where the dark squares are, the first of which is the second square of the first row. */
  darkSpot(cell) {
    const row = Math.floor((2 * cell) / this.columns);
    return [((2 * cell) % this.columns) + 1 - (row % 2), row];
  }

  nameOf(cell) {
    if (this.looks.dark) return `square ${cell + 1}`;
    return LETTERS[cell % this.columns] + (this.rows - Math.floor(cell / this.columns));
  }

  contentName(piece) {
    const words = this.game.cell_values[piece].split(" ");
    return `${this.looks.seats[this.ownerOf(piece)]} ${words.at(-1)}`;
  }

  ownerOf(piece) {
    return (piece - 1) % this.game.seats;
  }

  /** The cells that the last move left and entered. */
  fresh() {
    const { cells, before, mover } = this.view;
    if (!before) return [];
    const mine = (piece) => piece > 0 && this.ownerOf(piece) === mover;
    return cells.flatMap((piece, i) => (piece !== before[i] && (mine(piece) || mine(before[i])) ? [i] : []));
  }

  /** The board with the piece that is being moved where it has come to, and without what it has jumped over. */
  shownCells() {
    const cells = [...this.view.cells];
    const { clicked } = this.clicks;
    for (let i = 1; i < clicked.length; i++) {
      const [from, to] = [clicked[i - 1], clicked[i]];
      const piece = cells[from];
      cells[this.between(from, to)] = 0;
      cells[from] = 0;
      cells[to] = piece;
    }
    return cells;
  }

  /** The cell in the middle between two others, or the first of them. */
  between(from, to) {
    const [[x, y], [u, v]] = [this.spot(from), this.spot(to)];
    const found = this.cells.findIndex((_, cell) => {
      const [column, row] = this.spot(cell);
      return 2 * column === x + u && 2 * row === y + v;
    });
    return found < 0 ? from : found;
  }

  // --- dragging ----------------------------------------------------------------------------------------------------

  grab(event) {
    const cell = this.places.indexOf(event.target);
    const { clicks } = this;
    const starts = clicks.ways.some(({ cells }) => cells[0] === cell);
    if (event.button !== 0 || !this.view?.enabled || !(starts || cell === clicks.clicked.at(-1))) return;
    this.drag = { cell, pointer: event.pointerId, from: [event.clientX, event.clientY], moved: false };
  }

  pull(event) {
    const { drag } = this;
    if (drag?.pointer !== event.pointerId) return;
    const [x, y] = drag.from;
    if (!drag.moved && Math.hypot(event.clientX - x, event.clientY - y) < DRAGGED) return;
    if (!drag.moved) this.begin(drag);
    const { x: px, y: py } = this.pointOf(event);
    this.pieces[drag.cell]?.setAttribute("transform", `translate(${px} ${py})`);
  }

  begin(drag) {
    drag.moved = true;
    this.element.setPointerCapture(drag.pointer);
    if (this.clicks.clicked.at(-1) !== drag.cell) {
      this.clicks.reset();
      this.clicks.press(drag.cell);
      this.redraw();
    }
    this.layers.pieces.append(this.pieces[drag.cell]);
    this.element.classList.add("dragging");
  }

  drop(event) {
    const { drag } = this;
    if (drag?.pointer !== event.pointerId) return;
    const target = drag.moved ? this.cellUnder(event) : null;
    this.letGo();
    if (target === null || target === drag.cell) return;
    this.dropped = true;
    if (this.clicks.next().has(target)) this.press(target);
    else this.cancel();
    this.dropped = false;
  }

  letGo() {
    const { drag } = this;
    this.drag = null;
    this.element.classList.remove("dragging");
    if (drag?.moved) this.pieces[drag.cell]?.setAttribute("transform", this.placed(drag.cell));
  }

  pointOf(event) {
    return new DOMPoint(event.clientX, event.clientY).matrixTransform(this.element.getScreenCTM().inverse());
  }

  cellUnder(event) {
    const { x, y } = this.pointOf(event);
    const found = this.cells.findIndex((_, cell) => {
      const box = this.boxOf(cell);
      return x >= box.x && x < box.x + box.width && y >= box.y && y < box.y + box.height;
    });
    return found < 0 ? null : found;
  }

  // --- drawing -----------------------------------------------------------------------------------------------------

  drawLines(squares) {
    for (let row = 0; row < this.rows; row++) {
      for (let column = (row + 1) % 2; column < this.columns; column += 2) {
        const [x, y] = [this.left + column * SHAPE, this.top + row * SHAPE];
        squares.append(svg("rect", { x, y, width: SHAPE, height: SHAPE, class: "shade" }));
      }
    }
    if (this.looks.dark) this.numberSquares(squares);
  }

  drawNames(layer) {
    if (this.looks.dark) return; // its squares have numbers
    for (let column = 0; column < this.columns; column++) {
      const place = { x: this.center(column)[0], y: this.size[1] - this.left / 2 };
      layer.append(svg("text", { ...place, class: "name" }, LETTERS[column]));
    }
    for (let row = 0; row < this.rows; row++) {
      const place = { x: this.left / 2, y: this.center(row * this.columns)[1] };
      layer.append(svg("text", { ...place, class: "name" }, `${this.rows - row}`));
    }
  }

  /** The number of each dark square in its corner. */
  numberSquares(layer) {
    this.cells.forEach((_, cell) => {
      const [x, y] = this.center(cell);
      layer.append(svg("text", { x: x - 34, y: y - 35, class: "name" }, `${cell + 1}`));
    });
  }

  /** A piece slides from the cell that it has left, unless a hand has put it there. */
  enter(shape, cell, cells, changed) {
    const from = changed.find((other) => this.cells[other] === cells[cell] && cells[other] !== cells[cell]);
    if (from === undefined || this.dropped || changed.length > MOST_CHANGED) return;
    const [[x, y], [u, v]] = [this.center(cell), this.center(from)];
    shape.style.setProperty("--right", `${u - x}px`);
    shape.style.setProperty("--down", `${v - y}px`);
    shape.classList.add("moved");
  }

  shape(piece) {
    const body = svg("g", { transform: `scale(${SCALE}) translate(${-SHAPE / 2} ${-SHAPE / 2})` });
    body.innerHTML = this.game.shapes[Math.floor((piece - 1) / this.game.seats)];
    return svg("g", { class: `piece ${this.looks.tones[this.ownerOf(piece)]}` }, body);
  }

  marksOf(cell, moves) {
    if (this.clicks.clicked.length) return super.marksOf(cell, moves);
    return this.view.enabled && this.looks.dark ? [this.ring(cell, "source")] : [];
  }

  ring(cell, kind) {
    const [x, y] = this.center(cell);
    return svg("rect", { x: x - 46, y: y - 46, width: 92, height: 92, rx: 8, class: `ring ${kind}` });
  }

  hint(cell) {
    const [cx, cy] = this.center(cell);
    return this.view.cells[cell]
      ? svg("circle", { cx, cy, r: 45, class: "capture" })
      : svg("circle", { cx, cy, r: 13, class: "hint" });
  }

  /** The value of a move at the foot of its square. */
  chip(cell, entry) {
    const chip = super.chip(cell, entry);
    const disc = chip.querySelector("circle");
    const fill = disc.getAttribute("fill");
    disc.replaceWith(svg("rect", { x: -42, y: 16, width: 84, height: 30, rx: 8, fill }));
    chip.querySelector("text").setAttribute("y", 32);
    return chip;
  }
}
