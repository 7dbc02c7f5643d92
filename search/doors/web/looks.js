// How the games look that the page knows by name; any other game with a board gets plain discs.

// pieces: what lies on the squares; line: how many in a line end the game; counts: the pieces of a side are worth
// counting; tones: of each side's pieces; dark: the cells are the dark squares alone; top: the first player sits above
// where the board is not turned; turns: the board can be turned around.
const LOOKS = {
  connect_four: { seats: ["Red", "Yellow"], pieces: "discs", line: 4 },
  othello: { seats: ["Black", "White"], pieces: "stones", counts: true },
  tic_tac_toe: { seats: ["X", "O"], pieces: "marks", line: 3 },
  tic_tac_toe_three: { seats: ["X", "O", "Z"], pieces: "marks", line: 3 },
  checkers: { seats: ["Black", "White"], tones: ["dark", "light"], dark: true, top: true },
  chess: { seats: ["White", "Black"] },
  backgammon: { seats: ["White", "Black"], pieces: "checkers", turns: true },
};

/** {title, seats: names, pieces, line, counts, falls, ...} of a game as `info` describes it. */
export function looksOf(game) {
  const numbered = Array.from({ length: game.seats }, (_, seat) => `Player ${seat + 1}`);
  const men = game.shapes.length > 0;
  const tones = ["light", "dark"];
  const plain = { seats: numbered, pieces: men ? "men" : "discs", line: 0, counts: false, tones, turns: men };
  return { ...plain, ...LOOKS[game.name], title: game.title, falls: game.board?.falls ?? false };
}

/** Cells of every line of `length` equal pieces; none where `length` is 0. */
export function finishedLines(cells, { rows, columns }, length) {
  const found = new Set();
  for (let cell = 0; length && cell < cells.length; cell++) {
    for (const [down, right] of [[0, 1], [1, 0], [1, 1], [1, -1]]) {
      const line = lineFrom(cell, down, right, length, rows, columns);
      if (line && cells[cell] && line.every((other) => cells[other] === cells[cell])) {
        line.forEach((other) => found.add(other));
      }
    }
  }
  return [...found];
}

function lineFrom(cell, down, right, length, rows, columns) {
  const [row, column] = [Math.floor(cell / columns), cell % columns];
  const [lastRow, lastColumn] = [row + down * (length - 1), column + right * (length - 1)];
  if (lastRow >= rows || lastColumn < 0 || lastColumn >= columns) return null;
  return Array.from({ length }, (_, k) => (row + k * down) * columns + column + k * right);
}
