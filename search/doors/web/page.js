// The page: chooses a game, lets people and players move, and shows what an analysis thinks of it.
//
//   person or player -> play() -> the server's `move` -> Session.push -> arrive() -> draw(), and whoever is next
//
// Every answer belongs to one position: `arrive` aborts what was asked for an earlier one.

import { Analyst } from "./analyst.js";
import { ServerError, ask, wasAborted } from "./api.js";
import { Drawing } from "./drawing.js";
import { linked } from "./link.js";
import { Session } from "./session.js";
import { Settings, YOU, limitOf } from "./settings.js";

const BREATH = 350; // milliseconds that a position stands before a player answers, so that one sees what happened

export class Page {
  constructor(games) {
    this.games = games;
    this.settings = new Settings();
    this.drawing = new Drawing(this);
    this.analyst = new Analyst((entry) => this.drawing.valued(entry), (text) => this.drawing.opinion(text));
    this.playing = null; // AbortController of the request that play waits for
    this.thinking = false; // a player is choosing
    this.running = true; // players answer by themselves; not after going back
  }

  // --- beginning ---------------------------------------------------------------------------------------------------

  open() {
    this.drawing.open();
    if (linked()) return this.follow(linked());
    const restored = Session.restore(this.games);
    const stored = this.games.find(({ name }) => name === this.settings.all.game);
    const first = this.games.find(({ name }) => name === "connect_four") ?? this.games[0];
    if (!restored) return this.begin(stored ?? first);
    this.running = this.settings.of(restored.game).seats[restored.current.shown.seat] === YOU;
    return this.adopt(restored);
  }

  /** A new game from the start or from a position. Where the server refuses, the game in progress stays. */
  begin(game, position = game.start) {
    return this.request({ do: "show", game: game.name, position }, (shown) => {
      this.running = true;
      this.adopt(new Session(game, shown));
    });
  }

  adopt(session) {
    const changed = this.session?.game !== session.game;
    this.session = session;
    if (changed) this.setUp(session.game);
    this.arrive();
  }

  setUp(game) {
    this.game = game;
    this.chosen = this.settings.of(game);
    this.settings.all.game = game.name;
    this.settings.save();
    this.drawing.setUp(game);
  }

  /** A change of who plays or how strongly; the game goes on with it. */
  choose(change) {
    change();
    this.settings.save();
    this.arrive();
  }

  /** The same, for a change of what values are: those that were found are forgotten. */
  revalue(change) {
    for (const entry of this.session.entries) {
      if (!entry.shown.over) Object.assign(entry, { analysis: null, value: null, unknown: false });
    }
    this.choose(change);
  }

  // --- play --------------------------------------------------------------------------------------------------------

  get current() {
    return this.session.current;
  }

  isYours(seat) {
    return this.chosen.seats[seat] === YOU;
  }

  /** Whether a move may be chosen now. */
  get enabled() {
    const { shown } = this.current;
    return !shown.over && !shown.needs_dice && !this.thinking && shown.moves !== null;
  }

  /** Whether play stands still although a player is to move. */
  get stopped() {
    const { shown } = this.current;
    return !this.running && !shown.over && !this.isYours(shown.seat);
  }

  /** The position in a request. */
  place() {
    return this.session.place();
  }

  /** One request of the play: a newer one replaces it. An error becomes the line below the board, and nothing else
   *  changes. */
  async request(body, use) {
    this.playing?.abort();
    const controller = new AbortController();
    this.playing = controller;
    try {
      const answer = await ask(body, controller.signal);
      if (controller.signal.aborted) return;
      this.playing = null;
      this.drawing.say(null);
      use(answer);
    } catch (error) {
      if (wasAborted(error) || controller.signal.aborted) return;
      this.playing = null;
      this.refused(error);
    }
  }

  refused(error) {
    if (!(error instanceof ServerError)) console.error(error);
    if (this.thinking) this.running = false;
    this.thinking = false;
    this.drawing.say(error.message);
    if (!this.session) return;
    this.drawing.draw();
    this.analyse();
  }

  /** Another position is shown: who is next? */
  arrive() {
    this.playing?.abort();
    this.playing = null;
    this.analyst.stop();
    this.thinking = false;
    this.session.save();
    this.drawing.arrive();
    this.proceed();
  }

  proceed() {
    const { shown } = this.current;
    const waits = !this.running || this.isYours(shown.seat);
    if (!shown.moves) this.complete();
    else if (shown.over) this.analyse();
    else if (shown.needs_dice && this.running && this.settings.all.autoRoll) this.roll();
    else if (shown.needs_dice || waits) this.analyse();
    else this.letPlayer(shown.seat);
  }

  /** The legal moves, which are not kept for a reload. */
  complete() {
    this.request({ do: "show", ...this.place() }, (shown) => {
      this.current.shown = shown;
      this.drawing.draw();
      this.proceed();
    });
  }

  /** A person's move. */
  offer(move) {
    if (this.enabled) this.play(move);
    else this.drawing.say("No move is due here.");
  }

  play(move) {
    this.analyst.stop();
    const { seat } = this.current.shown;
    this.request({ do: "move", ...this.place(), move }, (shown) => {
      this.running = true;
      this.session.push(shown, shown.move);
      this.arrive();
      if (!this.isYours(seat)) this.drawing.announce(`${this.drawing.looks.seats[seat]}: ${shown.move}.`);
    });
  }

  roll() {
    this.analyst.stop();
    this.request({ do: "roll", ...this.place(), dice: null }, (shown) => this.rolled(shown));
  }

  typeDice(dice) {
    this.request({ do: "show", ...this.place(), dice }, (shown) => this.rolled(shown));
  }

  rolled(shown) {
    this.running = true;
    this.session.roll(shown);
    this.arrive();
  }

  letPlayer(seat) {
    this.thinking = true;
    this.drawing.draw();
    const shownSince = performance.now();
    const wish = { player: this.chosen.seats[seat], ...limitOf(this.chosen.strength) };
    this.request({ do: "choose", ...this.place(), ...wish }, ({ move, value }) => {
      this.current.value ??= value;
      this.answer = setTimeout(() => this.play(move), BREATH - (performance.now() - shownSince));
      this.playing = { abort: () => clearTimeout(this.answer) };
    });
  }

  /** One move that whoever values the moves would play. */
  hint() {
    const wish = { player: this.chosen.analyst, ...limitOf(this.chosen.depth) };
    this.request({ do: "choose", ...this.place(), ...wish }, ({ move }) => this.drawing.hint(move));
  }

  analyse() {
    if (this.settings.all.values) this.analyst.start(this.session, this.chosen);
    else this.analyst.stop();
    this.drawing.opinion();
  }

  /** The whole game as a text, in the format of the game's own community where there is one; to `use(text)`. */
  async write(use) {
    const players = this.chosen.seats.map((player) => (player === YOU ? "You" : player));
    const body = { do: "write", ...this.session.whole(), players };
    try {
      const own = ask({ ...body, format: this.drawing.ownFormat ?? null });
      use((await own.catch(() => ask(body))).text); // not every format holds every game
    } catch (error) {
      this.refused(error);
    }
  }

  /** The games of a text in any format of this game's files; the first of them is opened. */
  read(text) {
    this.request({ do: "read", game: this.game.name, text }, ({ games }) => {
      this.found = games;
      this.drawing.found(games);
      this.openRecord(games[0]);
    });
  }

  /** Shows a whole game, from its first position on. */
  openRecord({ position, steps, notes }, game = this.game, atEnd = false) {
    return this.request({ do: "replay", game: game.name, position, steps }, ({ positions }) => {
      const session = Session.of(game, positions, steps);
      if (atEnd) session.go(session.entries.length - 1);
      this.running = this.settings.of(game).seats[session.current.shown.seat] === YOU;
      this.adopt(session);
      this.drawing.notes(notes);
    });
  }

  /** Opens the game of a link, as `linked` reads it, where it has come to; the address is plain again then, so that a
   *  reload shows what was played on. Where the link is wrong, a new game begins, or the one in progress stays. */
  async follow(link) {
    if (!link) return;
    history.replaceState(null, "", location.pathname);
    const game = this.games.find(({ name }) => name === link.game);
    if (game) await this.openRecord({ ...link, notes: [] }, game, true);
    else this.drawing.say(`There is no game ${link.game} here.`);
    if (this.session) return;
    const problem = this.drawing.said;
    await this.begin(game ?? this.games[0]);
    this.drawing.say(problem);
  }

  // --- going back and forth ----------------------------------------------------------------------------------------

  go(index) {
    if (index < 0 || index >= this.session.entries.length || index === this.session.at) return;
    this.session.go(index);
    this.running = this.isYours(this.current.shown.seat);
    this.drawing.say(null);
    this.arrive();
  }

  get undoIndex() {
    const people = this.chosen.seats.includes(YOU);
    return people ? this.session.lastDecision((seat) => this.isYours(seat)) : this.session.at - 1;
  }

  undo() {
    this.go(this.undoIndex);
  }

  resume(running) {
    this.running = running;
    this.arrive();
  }

  swap() {
    this.choose(() => this.chosen.seats.push(this.chosen.seats.shift()));
  }

  /** Enter, with nothing in particular chosen: what is most likely meant. */
  confirm() {
    const main = this.drawing.board.choices().find((choice) => choice.main);
    if (main) main.run();
    else if (this.stopped) this.resume(true);
    else if (this.current.shown.needs_dice) this.roll();
  }

  flip() {
    if (this.drawing.looks.turns) this.choose(() => (this.chosen.turned = !this.chosen.turned));
  }
}
