// A move put together by clicks. The server says which cells make each legal move (`clicks`: one way or several); the
// cells that were clicked so far choose among them. A disc needs one click, a chess move two, a series of jumps one for
// each.

export class Clicks {
  /** `moves` as the server lists them. */
  constructor(moves) {
    this.ways = moves.flatMap((move) => move.clicks.map((cells) => ({ move, cells })));
    this.clicked = [];
  }

  /** The ways that begin with what was clicked. */
  get open() {
    return this.ways.filter(({ cells }) => this.clicked.every((cell, i) => cells[i] === cell));
  }

  /** Every cell that may be clicked next, with the moves that remain then: Map of cell -> [moves]. */
  next() {
    const found = new Map();
    for (const { move, cells } of this.open) {
      const cell = cells[this.clicked.length];
      if (cell !== undefined) found.set(cell, [...(found.get(cell) ?? []), move]);
    }
    return found;
  }

  /** Moves that need no more clicks; several where something else must be chosen, such as a promotion. */
  get complete() {
    return this.open.filter(({ cells }) => cells.length === this.clicked.length).map(({ move }) => move);
  }

  /** The move that was clicked together; null while there is a choice. */
  get move() {
    return this.clicked.length && this.open.length === 1 && this.complete.length ? this.complete[0] : null;
  }

  /** A cell was clicked: it leads on, or begins anew, or takes back what was clicked. */
  press(cell) {
    const last = this.clicked.at(-1);
    if (!this.next().has(cell)) this.clicked = [];
    if (cell !== last && this.next().has(cell)) this.clicked = [...this.clicked, cell];
  }

  reset() {
    this.clicked = [];
  }
}
