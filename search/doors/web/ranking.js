// The list of legal moves, best first: value, bar and principal variation. A click plays the move.

import { html, worth } from "./dom.js";

const SHORT = 10; // rows that are shown at first

/** Rows for `ranked` (or for the bare `moves`, while nothing is known), at most SHORT unless `all`. */
export function drawRanking({ ranked, moves, largest, enabled, all, byPlies }, { onMove, onLook }) {
  const known = ranked ?? moves.map(({ move }) => ({ move, value: null, line: [], depth: null }));
  const shown = known.slice(0, all ? known.length : SHORT);
  const deepest = known[0]?.depth;
  const note = ({ depth }) => (depth === deepest ? "" : depthText(depth, byPlies));
  return shown.map((entry) => row(entry, largest, enabled, note(entry), { onMove, onLook }));
}

export const hiddenRows = (count) => Math.max(0, count - SHORT);

/** `note`: what else there is to say of the move, such as that it was searched less deep. */
function row({ move, value, distance, line }, largest, enabled, note, { onMove, onLook }) {
  const button = html("button", { type: "button", className: "rank", disabled: !enabled, title: `play ${move}` });
  button.dataset.move = move;
  button.append(
    html("span", { className: "value", textContent: worth({ value, distance }, 3) }),
    bar(value, largest),
    html("span", { className: "move", textContent: move }),
    html("span", { className: "note", textContent: note }),
  );
  const rest = line.slice(1).join("  ");
  if (rest) button.append(html("span", { className: "line", textContent: `then  ${rest}`, title: rest }));
  button.addEventListener("click", () => onMove(move));
  for (const name of ["pointerenter", "focus"]) button.addEventListener(name, () => onLook(move));
  for (const name of ["pointerleave", "blur"]) button.addEventListener(name, () => onLook(null));
  return html("li", {}, button);
}

/** "2 plies", or "depth 8" of a search. */
export function depthText(depth, byPlies) {
  return byPlies ? `${depth} ${depth === 1 ? "ply" : "plies"}` : `depth ${depth}`;
}

/** A bar from the middle: to the right good for the side to move, to the left bad. */
function bar(value, largest) {
  const track = html("span", { className: "bar", ariaHidden: "true" });
  if (value === null) return track;
  const share = Math.min(1, Math.abs(value) / largest) * 50;
  const filled = html("span", { className: `filled ${value < 0 ? "bad" : "good"}` });
  filled.style.width = `${share}%`;
  filled.style.left = `${value < 0 ? 50 - share : 50}%`;
  track.append(filled);
  return track;
}

/** "win 52.1 % (gammon 13.0 %, backgammon 0.5 %)" from the chances of every outcome class; "" without any. */
export function chancesText(outcomes, chances) {
  if (!chances) return "";
  const sum = (wanted) => chances.reduce((total, p, i) => total + (wanted(outcomes[i]) ? p : 0), 0);
  const percent = (share) => `${(100 * share).toFixed(1)}\u00a0%`;
  const sizes = Math.max(...outcomes) === 3 && outcomes.includes(2);
  const side = (sign) => {
    const more = ` (gammon ${percent(sum((o) => sign * o >= 2))}, backgammon ${percent(sum((o) => sign * o >= 3))})`;
    return percent(sum((o) => sign * o > 0)) + (sizes ? more : "");
  };
  const draw = outcomes.includes(0) ? ` · draw ${percent(sum((o) => o === 0))}` : "";
  return `Wins ${side(1)}${draw} · loses ${side(-1)}`;
}
