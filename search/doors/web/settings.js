// What the person has chosen, remembered by the browser for the next visit.

const KEY = "deltaw settings";
export const YOU = "you";
const USUAL = "usual";

const SECONDS = [0.1, 0.3, 1, 3, 10];
const DEPTHS = [1, 2, 4, 6, 8, 12];

/** Choices of how long to think [value, text, title?]: plies where there are dice, else seconds or a depth. */
export function strengths(game) {
  const plies = [1, 2].map((n) => [`plies:${n}`, n === 1 ? "1 ply" : `${n} plies`]);
  if (game.chance) return [[USUAL, "usual", "2 plies; 1 where the player only ranks moves"], ...plies];
  const allowed = SECONDS.filter((s) => s <= game.longest);
  return [...allowed.map((s) => [`seconds:${s}`, `${s} s`]), ...DEPTHS.map((d) => [`depth:${d}`, `depth ${d}`])];
}

/** {seconds}, {depth} or {plies} of a request, from a choice above; {} leaves it to the player. */
export function limitOf(strength) {
  if (strength === USUAL) return {};
  const [name, number] = strength.split(":");
  return { [name]: Number(number) };
}

export class Settings {
  constructor() {
    let stored = null;
    try {
      stored = JSON.parse(localStorage.getItem(KEY));
    } catch {
      // Storage is forbidden, or holds something else: begin afresh.
    }
    this.all = { game: null, values: false, autoRoll: true, games: {}, ...stored };
  }

  /** Choices for one game, completed where something is missing or gone: who sits where (YOU or a player), how strong
   *  the players are, who values the moves and how deep, and whether the board is turned. */
  of(game) {
    const names = game.players.map((player) => player.name);
    const first = names[0] ?? YOU;
    const stored = this.all.games[game.name] ?? {};
    const known = (value, list, otherwise) => (list.includes(value) ? value : otherwise);
    const limits = strengths(game).map(([value]) => value);
    const usual = (value) => (game.chance ? USUAL : known(value, limits, limits[0]));
    const seat = (i) => known(stored.seats?.[i], [YOU, ...names], i === 0 ? YOU : first);
    const chosen = {
      seats: Array.from({ length: game.seats }, (_, i) => seat(i)),
      strength: known(stored.strength, limits, usual("seconds:0.3")),
      analyst: known(stored.analyst, names, first),
      depth: known(stored.depth, limits, usual("seconds:1")),
      turned: stored.turned ?? false,
    };
    this.all.games[game.name] = chosen;
    return chosen;
  }

  save() {
    try {
      localStorage.setItem(KEY, JSON.stringify(this.all));
    } catch {
      // They last as long as the page does.
    }
  }
}
