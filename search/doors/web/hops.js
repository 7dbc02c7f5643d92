// A backgammon turn, checker by checker. The server says which whole moves are legal and what each leads to; here a
// turn is taken apart into hops of one checker by one die, and a hop is allowed where some legal result can still be
// reached. So the rules that bind a whole turn (play both dice if you can, the higher if only one) need not be known
// here.
//
// A board is seen from the mover: mine[1..24] his points, mine[25] his bar, mine[0] borne off; theirs[p] the opponent's
// checkers on the same place, hit: how many of them were hit in this turn.

const BAR = 25;
const OFF = 0;

/** The board of `cells` (absolute) as `seat` sees it. */
export function boardOf(cells, seat) {
  const sign = seat === 0 ? 1 : -1;
  const count = (p, side) => Math.max(0, side * sign * cells.points[seat === 0 ? p : 25 - p]);
  const mine = Array.from({ length: 26 }, (_, p) => (p % 25 ? count(p, 1) : 0));
  const theirs = Array.from({ length: 26 }, (_, p) => (p % 25 ? count(p, -1) : 0));
  mine[BAR] = Math.abs(cells.bar[seat]);
  mine[OFF] = Math.abs(cells.off[seat]);
  return { mine, theirs, theirBar: Math.abs(cells.bar[1 - seat]), theirOff: Math.abs(cells.off[1 - seat]) };
}

/** `cells` of a board, the inverse of `boardOf`. */
export function cellsOf({ mine, theirs, theirBar, theirOff }, seat) {
  const sign = seat === 0 ? 1 : -1;
  const points = Array(26).fill(0);
  for (let p = 1; p <= 24; p++) points[seat === 0 ? p : 25 - p] = sign * (mine[p] - theirs[p]);
  const pair = (own, other) => (seat === 0 ? [own, other] : [other, own]);
  return { points, bar: pair(mine[BAR], theirBar), off: pair(mine[OFF], theirOff) };
}

/** The board after one checker has moved `die` from `source`, and where it landed; null where that cannot be. */
export function hop(board, source, die) {
  const { mine, theirs } = board;
  if (!mine[source] || (mine[BAR] && source !== BAR)) return null;
  const target = Math.max(OFF, source - die);
  if (target === OFF && !bearsOff(mine, source, die)) return null;
  if (target !== OFF && theirs[target] > 1) return null;
  const after = { ...board, mine: [...mine], theirs: [...theirs] };
  after.mine[source] -= 1;
  after.mine[target] += 1;
  if (target !== OFF && theirs[target]) {
    after.theirs[target] = 0;
    after.theirBar += 1;
  }
  return { board: after, target };
}

/** All are home, and the die is exact or nothing stands behind. */
function bearsOff(mine, source, die) {
  const first = die === source ? 7 : source + 1;
  return mine.slice(7).every((n) => n === 0) && mine.slice(Math.min(first, 7)).every((n) => n === 0);
}

const keyOf = (board) => `${board.mine} ${board.theirs} ${board.theirBar}`;

function diceOf(text) {
  const digits = [...(text ?? "")].filter((c) => c >= "1" && c <= "6").map(Number);
  return digits.length === 2 && digits[0] === digits[1] ? [...digits, ...digits] : digits;
}

const without = (dice, die) => dice.toSpliced(dice.indexOf(die), 1);

/** One turn in progress. */
export class Turn {
  constructor(shown) {
    this.seat = shown.seat;
    this.results = new Map(shown.moves.map((move) => [keyOf(boardOf(move.cells, shown.seat)), move.move]));
    this.dice = diceOf(shown.dice);
    this.steps = [{ board: boardOf(shown.cells, shown.seat), dice: this.dice }];
    this.known = new Map();
  }

  get now() {
    return this.steps.at(-1);
  }

  get begun() {
    return this.steps.length > 1;
  }

  /** The whole move that has been played by now, as the server writes it; null while checkers must still move. */
  get complete() {
    return this.results.get(keyOf(this.now.board)) ?? null;
  }

  /** Whether a legal result can be reached from here with these dice. */
  reaches(board, dice) {
    const key = keyOf(board);
    if (this.results.has(key)) return true;
    const known = `${key} ${dice}`;
    if (!this.known.has(known)) this.known.set(known, this.hops(board, dice).length > 0);
    return this.known.get(known);
  }

  /** Every allowed hop [{source, target, board, dice}] from here, the higher die first. */
  hops(board, dice) {
    const found = [];
    for (const die of [...new Set(dice)].sort((a, b) => b - a)) {
      for (let source = BAR; source > OFF; source--) {
        const after = hop(board, source, die);
        const left = without(dice, die);
        if (after && this.reaches(after.board, left)) found.push({ source, ...after, dice: left });
      }
    }
    return found;
  }

  /** Where the checker on `source` may go, with one die or several: Map of target -> the step after it. */
  targets(source) {
    const found = new Map();
    let front = this.complete ? [] : this.from(this.now, source);
    while (front.length) {
      for (const step of front) if (!found.has(step.target)) found.set(step.target, step);
      front = front.filter((step) => step.target !== OFF).flatMap((step) => this.from(step, step.target));
    }
    return found;
  }

  from(step, source) {
    return this.hops(step.board, step.dice).filter((next) => next.source === source);
  }

  /** The points from which something may move now. */
  sources() {
    return this.complete ? [] : [...new Set(this.hops(this.now.board, this.now.dice).map((next) => next.source))];
  }

  move(source, target) {
    const step = this.targets(source).get(target);
    if (step) this.steps.push({ board: step.board, dice: step.dice });
  }

  takeBack() {
    if (this.begun) this.steps.pop();
  }
}
