// The backgammon board: click a checker, then where it goes; a turn is put together hop by hop and played as a whole.
//
// Points are counted absolutely (1..24 as seat 0 counts); what is written on the frame counts as the side to move does,
// like the moves.

import { Turn, cellsOf } from "./hops.js";
import { presses, set, svg } from "./dom.js";

const [WIDTH, HEIGHT] = [900, 700];
const [FRAME, RAIL] = [26, 36]; // of the frame: left and right, above and below
const [POINT, BAR, POST, TRAY] = [59, 60, 12, 68]; // widths
const RADIUS = 27;
const STEP = 2 * RADIUS - 2; // from checker to checker
const TRIANGLE = 258;
const MIDDLE = HEIGHT / 2;
const RIGHT = FRAME + 6 * POINT + BAR; // left edge of the right half
const TRAY_X = RIGHT + 6 * POINT + POST;
const TRAY_GAP = 62; // half the height of the wood between the two trays
const [BAR_PLACE, OFF_PLACE] = [25, 0]; // as the mover counts
const SHOWN = 5; // checkers of a stack that are drawn; more are written on the last one

const PIPS = { 1: [[0, 0]], 2: [[-1, 1], [1, -1]], 4: [[-1, 1], [1, -1], [-1, -1], [1, 1]] };
PIPS[3] = [...PIPS[1], ...PIPS[2]];
PIPS[5] = [...PIPS[1], ...PIPS[4]];
PIPS[6] = [...PIPS[4], [-1, 0], [1, 0]];

export class BackgammonBoard {
  /** `onMove(text)` is called with a legal move, `onChange()` when `choices()` are others. */
  constructor(game, looks, { onMove, onChange }) {
    Object.assign(this, { looks, onMove, onChange, selected: null, turn: null });
    this.dynamic = svg("g");
    this.places = svg("g", { class: "places" });
    this.numbers = svg("g");
    this.element = svg(
      "svg",
      { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, class: "backgammon", role: "group", "aria-label": "Backgammon board" },
      gradients(), emptyBoard(), this.dynamic, this.numbers, this.places,
    );
    this.makePlaces();
  }

  /** view: {shown, cells, before: cells of the position before or null, mover: who moved there, enabled,
   *  turned: seat 1 sits below} */
  render(view) {
    if (this.view?.shown !== view.shown) {
      this.turn = view.shown.moves?.length && view.shown.dice ? new Turn(view.shown) : null;
      this.selected = null;
    }
    this.view = view;
    this.draw();
  }

  /** What can be done with the turn in progress: buttons {label, main, run, key}. */
  choices() {
    if (!this.view?.enabled || !this.turn) return [];
    const { complete, begun } = this.turn;
    const passes = complete !== null && !begun;
    const label = passes ? "No legal move: pass" : `Play ${complete}`;
    const play = { label, main: true, run: () => this.onMove(complete) };
    const back = { label: "Take back", main: false, run: () => this.takeBack() };
    return [...(complete !== null ? [play] : []), ...(begun ? [back] : [])];
  }

  takeBack() {
    this.turn.takeBack();
    this.selected = null;
    this.changed();
  }

  look() {} // the whole position after a move is shown instead

  // --- clicks ------------------------------------------------------------------------------------------------------

  /** A place was clicked: 1..24, the bar or the tray, as the mover counts. */
  press(place) {
    if (!this.view.enabled || !this.turn) return;
    if (this.selected !== null && this.turn.targets(this.selected).has(place)) {
      this.turn.move(this.selected, place);
      this.selected = null;
    } else {
      this.selected = place !== this.selected && this.turn.sources().includes(place) ? place : null;
    }
    this.changed();
  }

  changed() {
    this.draw();
    this.onChange();
  }

  makePlaces() {
    this.elements = Array.from({ length: 26 }, (_, absolute) => {
      const element = svg("rect", { class: "place", role: "button" });
      const press = () => this.press(this.relative(absolute));
      element.addEventListener("click", press);
      element.addEventListener("keydown", (event) => {
        if (!presses(event)) return;
        if (this.turn?.begun && this.turn.complete !== null) this.onMove(this.turn.complete);
        else press();
        event.preventDefault();
        event.stopPropagation();
      });
      this.places.append(element);
      return element;
    });
  }

  // --- where things are ----------------------------------------------------------------------------------------------

  /** The mover's number of an absolute place 1..24; the bar (25) and the tray (0) are the mover's own. */
  relative(absolute) {
    return this.view.shown.seat === 0 || absolute % 25 === 0 ? absolute : 25 - absolute;
  }

  /** Whether `seat` sits below. */
  isBelow(seat) {
    return (seat === 1) === this.view.turned;
  }

  /** Centre of a point's column, and whether it stands on the lower edge; `absolute` 1..24. */
  column(absolute) {
    const i = (this.view.turned ? 25 - absolute : absolute) - 1;
    const fromRight = i < 12 ? i : 23 - i;
    return { x: (fromRight < 6 ? RIGHT : FRAME) + (5 - (fromRight % 6)) * POINT + POINT / 2, below: i < 12 };
  }

  boxOf(absolute) {
    const below = this.isBelow(this.view.shown.seat);
    const height = MIDDLE - RAIL - 26; // the dice lie between the halves
    const half = { y: below ? HEIGHT - RAIL - height : RAIL, height };
    if (absolute === OFF_PLACE) return { x: TRAY_X, width: TRAY - 2, ...half };
    if (absolute === BAR_PLACE) return { x: FRAME + 6 * POINT, width: BAR, ...half };
    const place = this.column(absolute);
    return { x: place.x - POINT / 2, width: POINT, y: place.below ? HEIGHT - RAIL - height : RAIL, height };
  }

  // --- drawing -------------------------------------------------------------------------------------------------------

  draw() {
    const cells = this.cells();
    const layers = [0, 1].flatMap((seat) => this.side(cells, seat));
    this.dynamic.replaceChildren(...this.trail(), ...layers, ...this.diceOf());
    this.numbers.replaceChildren(...Array.from({ length: 24 }, (_, i) => this.number(i + 1)));
    this.labelPlaces(cells);
  }

  /** What is on the board: a previewed result, the turn in progress, or the position. */
  cells() {
    if (this.view.cells !== this.view.shown.cells || !this.turn) return this.view.cells;
    return cellsOf(this.turn.now.board, this.turn.seat);
  }

  side(cells, seat) {
    const sign = seat === 0 ? 1 : -1;
    const below = this.isBelow(seat);
    const stacks = cells.points.flatMap((count, p) => {
      if (p % 25 === 0 || count * sign <= 0) return [];
      const { x, below: low } = this.column(p);
      return stack(count * sign, seat, x, low ? HEIGHT - RAIL - 1 - RADIUS : RAIL + 1 + RADIUS, low ? -1 : 1);
    });
    const towards = below ? 1 : -1;
    const [x, y] = [FRAME + 6 * POINT + BAR / 2, MIDDLE + towards * (2 + RADIUS)];
    const bar = stack(Math.abs(cells.bar[seat]), seat, x, y, towards);
    return [...stacks, ...bar, ...borneOff(Math.abs(cells.off[seat]), seat, below), ...pipCount(cells, seat, below)];
  }

  /** Where checkers came from and went to in the move before this position. */
  trail() {
    const { before, shown, mover, cells } = this.view;
    if (!before || cells !== shown.cells || this.turn?.begun) return [];
    const sign = mover === 0 ? 1 : -1;
    return shown.cells.points.flatMap((now, p) => {
      const gained = Math.max(0, sign * now) - Math.max(0, sign * before.points[p]);
      if (p % 25 === 0 || gained === 0) return [];
      const { x, below } = this.column(p);
      const cy = below ? HEIGHT - RAIL / 2 : RAIL / 2;
      return [svg("circle", { cx: x, cy, r: 15, class: gained > 0 ? "arrived" : "left" })];
    });
  }

  number(p) {
    const { x, below } = this.column(p);
    return svg("text", { x, y: below ? HEIGHT - RAIL / 2 : RAIL / 2, class: "name" }, `${this.relative(p)}`);
  }

  /** The dice, on the mover's right hand; those that are used up are pale. */
  diceOf() {
    const { shown } = this.view;
    if (!shown.dice) return [];
    const all = this.turn?.dice ?? [...shown.dice].map(Number);
    const left = [...(this.turn?.now.dice ?? all)];
    const finish = () => this.view.enabled && this.turn?.complete && this.onMove(this.turn.complete);
    const middle = (this.isBelow(shown.seat) ? RIGHT : FRAME) + 3 * POINT;
    return all.map((number, i) => {
      const unused = left.indexOf(number);
      if (unused >= 0) left.splice(unused, 1);
      const shape = die(middle + (i - (all.length - 1) / 2) * 60, number, shown.seat, unused < 0);
      shape.addEventListener("click", finish);
      return shape;
    });
  }

  labelPlaces(cells) {
    const live = this.view.enabled ? this.turn : null;
    const sources = live?.sources() ?? [];
    const targets = live && this.selected !== null ? [...live.targets(this.selected).keys()] : [];
    this.elements.forEach((element, absolute) => {
      const place = this.relative(absolute);
      const is = {
        selected: place === this.selected, target: targets.includes(place), source: sources.includes(place),
      };
      const kinds = Object.keys(is).filter((kind) => is[kind]);
      set(element, {
        ...this.boxOf(absolute),
        class: ["place", ...kinds].join(" "),
        tabindex: kinds.length ? 0 : -1,
        "data-place": place,
        "aria-pressed": place === this.selected ? "true" : null,
        "aria-disabled": kinds.length ? null : "true",
        "aria-label": this.describe(place, absolute, cells) + (targets.includes(place) ? ", move here" : ""),
      });
    });
  }

  describe(place, absolute, cells) {
    const { seat } = this.view.shown;
    if (place === BAR_PLACE) return `bar: ${Math.abs(cells.bar[seat])}`;
    if (place === OFF_PLACE) return `borne off: ${Math.abs(cells.off[seat])}`;
    const count = cells.points[absolute];
    return `point ${place}: ${count ? `${Math.abs(count)} ${this.looks.seats[count > 0 ? 0 : 1]}` : "empty"}`;
  }
}

/** Pips that a seat still has to travel. */
function pips(cells, seat) {
  const sign = seat === 0 ? 1 : -1;
  const onPoints = cells.points.map((count, p) => (p % 25 ? Math.max(0, sign * count) * (seat === 0 ? p : 25 - p) : 0));
  return onPoints.reduce((a, b) => a + b, 25 * Math.abs(cells.bar[seat]));
}

// --- shapes ---------------------------------------------------------------------------------------------------------

function gradients() {
  const radial = (id, stops) => svg("radialGradient", { id, cx: "35%", cy: "30%", r: "80%" },
    ...stops.map(([offset, color]) => svg("stop", { offset, "stop-color": color })));
  return svg("defs", {},
    radial("checker0", [["0", "#fffaf0"], ["0.6", "#efe2c8"], ["1", "#c9b891"]]),
    radial("checker1", [["0", "#6b636a"], ["0.6", "#3a343a"], ["1", "#221e22"]]),
  );
}

function emptyBoard() {
  const board = svg("g", {}, svg("rect", { width: WIDTH, height: HEIGHT, rx: 14, class: "wood" }));
  const inner = { y: RAIL, height: HEIGHT - 2 * RAIL, class: "felt" };
  for (const x of [FRAME, RIGHT]) board.append(svg("rect", { x, width: 6 * POINT, ...inner }));
  const tray = { x: TRAY_X, width: TRAY - 2, height: MIDDLE - TRAY_GAP - RAIL, class: "tray" };
  for (const y of [RAIL, MIDDLE + TRAY_GAP]) board.append(svg("rect", { y, ...tray }));
  for (let i = 0; i < 24; i++) {
    const x = (i % 12 < 6 ? FRAME : RIGHT) + (i % 6) * POINT;
    const [edge, tip] = i < 12 ? [RAIL, RAIL + TRIANGLE] : [HEIGHT - RAIL, HEIGHT - RAIL - TRIANGLE];
    const tone = (i + (i < 12 ? 0 : 1)) % 2;
    const d = `M${x + 1} ${edge}h${POINT - 2}L${x + POINT / 2} ${tip}z`;
    board.append(svg("path", { d, class: `triangle tone${tone}` }));
  }
  const fold = FRAME + 6 * POINT + BAR / 2;
  board.append(svg("line", { x1: fold, x2: fold, y1: 4, y2: HEIGHT - 4, class: "fold" }));
  return board;
}

function stack(count, seat, x, y, direction) {
  const shapes = Array.from({ length: Math.min(count, SHOWN) }, (_, k) => {
    const place = { transform: `translate(${x} ${y + direction * k * STEP})`, class: `checker seat${seat}` };
    const body = svg("circle", { r: RADIUS, class: "body", fill: `url(#checker${seat})` });
    return svg("g", place, body, svg("circle", { r: RADIUS * 0.66, class: "groove" }));
  });
  if (count > SHOWN) shapes.at(-1).append(svg("text", {}, `${count}`));
  return shapes;
}

/** Checkers in the tray, seen from their edge. */
function borneOff(count, seat, below) {
  return Array.from({ length: count }, (_, k) => {
    const y = below ? HEIGHT - RAIL - 4 - (k + 1) * 16 : RAIL + 4 + k * 16;
    return svg("rect", { x: TRAY_X + 6, y, width: TRAY - 14, height: 14, rx: 4, class: `edge seat${seat}` });
  });
}

function pipCount(cells, seat, below) {
  const [x, y] = [TRAY_X + (TRAY - 2) / 2, MIDDLE + (below ? 30 : -32)];
  return [
    svg("text", { x, y: y - 8, class: "pips" }, `${pips(cells, seat)}`),
    svg("text", { x, y: y + 13, class: "pips small" }, "pips"),
  ];
}

function die(x, number, seat, used) {
  const spots = PIPS[number].map(([column, row]) => svg("circle", { cx: 12 * column, cy: 12 * row, r: 4.6 }));
  const body = svg("rect", { x: -23, y: -23, width: 46, height: 46, rx: 9 });
  const kind = `die seat${seat}${used ? " used" : ""}`;
  return svg("g", { class: kind, transform: `translate(${x} ${MIDDLE})` }, body, ...spots);
}
