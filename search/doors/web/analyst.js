// Values of the positions, found in the background: first of the one that is shown, then of those that have none yet.
// Play never waits for it: whatever changes the position stops the request in progress, and an answer that comes too
// late is dropped.

import { ask, wasAborted } from "./api.js";
import { limitOf } from "./settings.js";

export class Analyst {
  /** `onChange(entry)` is called when an entry of the session has got its values, `onError(text)` where it cannot get
   *  them. */
  constructor(onChange, onError) {
    Object.assign(this, { onChange, onError, controller: null });
  }

  stop() {
    this.controller?.abort();
    this.controller = null;
  }

  get busy() {
    return this.controller !== null;
  }

  async start(session, { analyst, depth }) {
    this.stop();
    const controller = new AbortController();
    this.controller = controller;
    try {
      for (let entry = wanted(session); entry; entry = wanted(session)) {
        await this.analyse(session, entry, { player: analyst, ...limitOf(depth) }, controller.signal);
        if (controller.signal.aborted) return;
        if (!wanted(session)) this.controller = null;
        this.onChange(entry);
      }
    } catch (error) {
      if (!wasAborted(error) && !controller.signal.aborted) this.onError(error.message);
    }
    if (this.controller === controller) this.controller = null;
  }

  async analyse(session, entry, wish, signal) {
    const answer = await ask({ do: "analyze", ...session.place(entry), ...wish }, signal);
    const { value, ranked, nodes, seconds } = answer;
    entry.analysis = { value, ranked, nodes, seconds };
    entry.value = value;
    entry.shown.moves ??= answer.moves;
    entry.unknown = value === null; // a player that only ranks
  }
}

/** The entry to analyse next, or undefined. */
function wanted({ current, entries }) {
  if (!current.shown.over && !current.analysis) return current;
  return entries.findLast((entry) => entry.value === null && !entry.unknown);
}
