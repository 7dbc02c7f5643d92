// A game without a board of squares: the board as text, and a button for every move.

import { html } from "./dom.js";

const ESCAPES = /\u001b\[[0-9;]*m/g; // colours meant for a terminal

export class TextBoard {
  constructor(game, looks, { onMove }) {
    this.onMove = onMove;
    this.element = html("pre", { className: "text-board", tabIndex: 0, ariaLabel: `${looks.title} board` });
  }

  render(view) {
    this.view = view;
    this.element.textContent = view.shown.text.replaceAll(ESCAPES, "");
  }

  choices() {
    if (!this.view?.enabled) return [];
    return this.view.moves.map((move) => ({ label: move.move, main: false, run: () => this.onMove(move.move) }));
  }

  look() {}
}
