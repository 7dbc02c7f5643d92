// Colours of values: blue is good for the side to move, orange is bad, grey is even. People with any colour vision tell
// blue from orange, and the number stands beside the colour everywhere.

const EVEN = [242, 240, 233];
const GOOD = [24, 95, 165];
const BAD = [196, 92, 10];
const CONTRAST = 0.5; // below 1: small values are told apart better than large ones

/** {fill, ink}: colours of a value in [-largest, largest] and of text on it. */
export function heat(value, largest) {
  const share = Math.min(1, Math.abs(value) / largest) ** CONTRAST;
  const color = EVEN.map((even, i) => Math.round(even + ((value < 0 ? BAD : GOOD)[i] - even) * share));
  const light = (0.299 * color[0] + 0.587 * color[1] + 0.114 * color[2]) / 255;
  return { fill: `rgb(${color.join(", ")})`, ink: light > 0.56 ? "#1c1b19" : "#ffffff" };
}
