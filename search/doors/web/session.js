// The game in progress: every position since the start, and which of them is shown. No elements of the page here.
//
// An entry is {shown, move, value, analysis}: what the server said of the position (dice included, once they are
// rolled), the move that led there, the value for its side to move (null: not known yet), and the analysis behind it.

const KEY = "deltaw game";

export class Session {
  constructor(game, shown) {
    this.game = game;
    this.entries = [entryOf(shown, null)];
    this.at = 0;
  }

  /** A whole game, at its beginning: `positions` as `replay` lists them, and the moves and rolls between them. */
  static of(game, positions, steps) {
    const [first, ...others] = positions.map((shown) => ({ ...shown, moves: null })); // they are asked for when shown
    const session = new Session(game, first);
    others.forEach((shown, i) => {
      if (positions[i].needs_dice) session.roll(shown);
      else session.push(shown, steps[i]);
    });
    session.go(0);
    return session;
  }

  get current() {
    return this.entries[this.at];
  }

  get previous() {
    return this.entries[this.at - 1] ?? null;
  }

  /** The position of an entry in a request: where the path matters, with all that led there. */
  place(entry = this.current) {
    const { position, dice } = entry.shown;
    if (this.game.path) return this.whole(this.entries.indexOf(entry));
    return { game: this.game.name, position, ...(dice ? { dice } : {}) };
  }

  /** The game up to an entry in a request, or the whole of it. */
  whole(index = this.entries.length - 1) {
    const { dice } = this.entries[index].shown;
    return { ...this.course(index), ...(dice ? { dice } : {}) };
  }

  /** Where the game began, and the moves and rolls up to an entry, without its own dice. */
  course(index) {
    const passed = this.entries.slice(0, index + 1);
    const steps = passed.flatMap(({ move, shown }, i) => [move, i < index ? shown.dice : null]);
    const { position } = this.entries[0].shown;
    return { game: this.game.name, position, steps: steps.filter((step) => step) };
  }

  /** A move was played here; what had followed is forgotten. */
  push(shown, move) {
    this.entries.splice(this.at + 1, Infinity, entryOf(shown, move));
    this.at += 1;
  }

  /** The same position with dice, or with other dice; what had followed is forgotten. */
  roll(shown) {
    this.entries.splice(this.at, Infinity, entryOf(shown, this.current.move));
  }

  go(index) {
    this.at = Math.min(this.entries.length - 1, Math.max(0, index));
  }

  /** Index of the last decision before this one of a seat for which `mine(seat)`; -1 where there is none. */
  lastDecision(mine) {
    return this.entries.slice(0, this.at).findLastIndex((entry) => mine(entry.shown.seat));
  }

  /** Keeps the game for a reload of this tab; legal moves are left out, they can be asked for again. */
  save() {
    const light = this.entries.map(({ shown, move, value }) => ({ shown: { ...shown, moves: null }, move, value }));
    try {
      sessionStorage.setItem(KEY, JSON.stringify({ game: this.game.name, entries: light, at: this.at }));
    } catch {
      // No room, or storage is forbidden: the game goes on, a reload begins a new one.
    }
  }

  /** The game that this tab played before it was reloaded, or null; `games` as `info` lists them. */
  static restore(games) {
    try {
      const { game: name, entries, at } = JSON.parse(sessionStorage.getItem(KEY));
      const session = new Session(games.find((game) => game.name === name), entries[0].shown);
      session.entries = entries.map((entry) => ({ ...entry, analysis: null }));
      session.go(at);
      return session.game && session.current ? session : null;
    } catch {
      return null;
    }
  }
}

function entryOf(shown, move) {
  return { shown, move, value: shown.over ? shown.result : null, analysis: null };
}
