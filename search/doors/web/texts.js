// What the page says about a game: whose turn it is, how it ended, and its record.

import { signed } from "./dom.js";
import { depthText } from "./ranking.js";
import { YOU } from "./settings.js";

const SIZES = { 2: "a gammon", 3: "a backgammon" };

/** Whose turn it is, or how the game ended. */
export function statusText({ current, chosen, game, thinking }, looks) {
  const { shown } = current;
  const name = looks.seats[shown.seat];
  const player = chosen.seats[shown.seat];
  const dice = shown.dice ? `, dice ${game.kind === "backgammon" ? [...shown.dice].join("-") : shown.dice}` : "";
  if (shown.over) return resultText(shown, looks, game);
  if (thinking) return `${name} (${player}) is thinking${dice} …`;
  if (shown.needs_dice) return `${name} to roll.`;
  if (player !== YOU) return `${name} (${player}) to move${dice}.`;
  const alone = chosen.seats.filter((who) => who === YOU).length === 1;
  return alone ? `Your move, ${name}${dice}.` : `${name} to move${dice}.`;
}

/** How a finished game ended. */
function resultText(shown, looks, game) {
  const { payoffs } = shown;
  const each = payoffs.map((points, seat) => `${looks.seats[seat]} ${signed(points, 0)}`);
  if (game.seats > 2) return `Game over: ${each.join(", ")}.`;
  if (payoffs[0] === 0) return shown.repeated ? "A draw by repetition." : "A draw.";
  const points = Math.abs(payoffs[0]);
  const size = game.kind === "backgammon" ? SIZES[points] : points > 1 ? `${points} points` : null;
  return `${looks.seats[payoffs[0] > 0 ? 0 : 1]} wins${size ? ` ${size}` : ""}.`;
}

// Losses in outcome units: gnubg's limits for money games, as in every review.
const MISTAKES = [[0.16, "??", "very bad"], [0.08, "?", "bad"], [0.04, "?!", "doubtful"]];

/** {sign, title} of what a move lost against the best one by the analysis of its position; null where it is none, or
 *  not known. */
export function mistakeOf({ analysis }, move) {
  const [best, played] = [analysis?.ranked[0], analysis?.ranked.find((other) => other.move === move)];
  if (!played || played.value === null) return null;
  const loss = best.value - played.value;
  const [, sign, word] = MISTAKES.find(([least]) => loss >= least) ?? [];
  return sign ? { sign, title: `${word}: loses ${loss.toFixed(3)} against ${best.move}` } : null;
}

/** Moves with their numbers: [{number or null, dice or null, text, index of the position after it}]. */
export function recordOf(entries, seats) {
  const first = seats === 2 ? entries[0].shown.seat : 0; // a round begins with seat 0
  return entries.slice(1).map((entry, i) => ({
    number: (first + i) % seats === 0 || i === 0 ? Math.floor((first + i) / seats) + 1 : null,
    dice: entries[i].shown.dice,
    text: entry.move,
    index: i + 1,
  }));
}

/** "depth 11 · 1,234,567 positions · 0.51 s", as far as the analysis says so. */
export function effortText({ ranked, nodes, seconds }, byPlies) {
  const depth = ranked[0]?.depth;
  const parts = [
    depth ? depthText(depth, byPlies) : null,
    nodes ? `${nodes.toLocaleString("en")} positions` : null,
    seconds < 0.01 ? "under 0.01 s" : `${seconds.toFixed(2)} s`,
  ];
  return parts.filter(Boolean).join(" · ");
}
