// The value of the game, one point a position: above the middle seat 0 is better, below it seat 1. Click a point to go
// there.

import { clamp, signed, svg } from "./dom.js";

const [WIDTH, HEIGHT] = [600, 190];
const [LEFT, RIGHT, TOP, BOTTOM] = [62, 12, 14, 14];
const FEWEST = 8; // positions for which the width is laid out at least

/** points: [{value or null, label}]; `largest`: values reach from -largest to largest; `onGo(index)`. */
export function drawCurve(points, at, largest, names, onGo) {
  const x = (i) => LEFT + (i * (WIDTH - LEFT - RIGHT)) / Math.max(points.length - 1, FEWEST);
  const y = (value) => TOP + ((1 - clamp(value / largest, -1, 1)) * (HEIGHT - TOP - BOTTOM)) / 2;
  const known = points.flatMap(({ value }, i) => (value === null ? [] : [[x(i), y(value)]]));
  const picture = svg("svg", {
    viewBox: `0 0 ${WIDTH} ${HEIGHT}`, class: "curve", tabindex: 0,
    role: "slider", "aria-label": `Value of the game for ${names[0]}`,
    "aria-valuemin": 0, "aria-valuemax": points.length - 1, "aria-valuenow": at,
    "aria-valuetext": `position ${at}: ${points[at].label}`,
  });
  picture.append(...axes(y, largest, names), ...areas(known, y(0)));
  picture.append(svg("line", { x1: x(at), x2: x(at), y1: TOP, y2: HEIGHT - BOTTOM, class: "now" }));
  points.forEach(({ value }, i) => {
    const [r, kind] = i === at ? [6, "dot here"] : [3.5, "dot"];
    if (value !== null) picture.append(svg("circle", { cx: x(i), cy: y(value), r, class: kind, "data-point": i }));
  });
  picture.append(...targets(points, x, onGo));
  return picture;
}

function axes(y, largest, names) {
  const line = (value, kind) => svg("line", { x1: LEFT, x2: WIDTH - RIGHT, y1: y(value), y2: y(value), class: kind });
  const number = (value) => (value ? signed(value, largest < 10 ? 1 : 0) : "0");
  const text = (value) => svg("text", { x: LEFT - 8, y: y(value), class: "scale" }, number(value));
  const side = (py, words) => svg("text", { x: LEFT + 6, y: py, class: "side" }, words);
  const sides = names.length === 2
    ? [side(TOP + 14, `${names[0]} ahead`), side(HEIGHT - BOTTOM - 14, `${names[1]} ahead`)]
    : [side(TOP + 14, `for ${names[0]}`)];
  const lines = [line(largest, "grid"), line(0, "zero"), line(-largest, "grid")];
  return [...lines, text(largest), text(0), text(-largest), ...sides];
}

/** The line, and the area between it and zero. */
function areas(known, zero) {
  if (known.length < 2) return [];
  const path = known.map(([px, py]) => `${px.toFixed(1)} ${py.toFixed(1)}`).join("L");
  const area = `M${known[0][0].toFixed(1)} ${zero}L${path}L${known.at(-1)[0].toFixed(1)} ${zero}z`;
  return [svg("path", { d: area, class: "area" }), svg("path", { d: `M${path}`, class: "path" })];
}

/** Invisible strips, one a position, that are easy to hit. */
function targets(points, x, onGo) {
  const width = x(1) - x(0);
  return points.map(({ label }, i) => {
    const place = { x: x(i) - width / 2, width, y: 0, height: HEIGHT };
    const strip = svg("rect", { ...place, class: "strip" }, svg("title", {}, label));
    strip.addEventListener("click", () => onGo(i));
    return strip;
  });
}
