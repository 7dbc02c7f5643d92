// A game as an address: everything stands behind the #, so the server is told nothing and keeps nothing.

const SEPARATOR = ";"; // in no move of any game

/** The address that opens a game, as requests describe it: {game, position, steps, dice}. */
export function linkTo({ game, position, steps, dice }) {
  const all = dice ? [...steps, dice] : steps;
  const words = new URLSearchParams({ game, position, steps: all.join(SEPARATOR) });
  return `${location.origin}${location.pathname}#${words}`;
}

/** {game: its name, position, steps} of the page's own address, or null where it names no game. */
export function linked() {
  const words = new URLSearchParams(location.hash.slice(1));
  if (!words.has("game")) return null;
  const steps = (words.get("steps") ?? "").split(SEPARATOR).filter((step) => step);
  return { game: words.get("game"), position: words.get("position"), steps };
}
