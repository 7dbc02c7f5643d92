// Small helpers for elements and numbers, shared by every module of the page.

const SVG = "http://www.w3.org/2000/svg";

export const find = (id) => document.getElementById(id);

/** An HTML element with properties, and children (elements or text). */
export function html(name, properties = {}, ...children) {
  const element = Object.assign(document.createElement(name), properties);
  element.append(...children);
  return element;
}

/** An SVG element with attributes, and children. */
export function svg(name, attributes = {}, ...children) {
  const element = document.createElementNS(SVG, name);
  set(element, attributes);
  element.append(...children);
  return element;
}

/** Sets attributes; null and false remove one, true sets it empty. */
export function set(element, attributes) {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) element.removeAttribute(name);
    else element.setAttribute(name, value === true ? "" : value);
  }
  return element;
}

/** Options of a `select`, given as [value, text, title?]; the chosen one, or the first. */
export function fill(select, options, chosen) {
  select.replaceChildren(
    ...options.map(([value, text, title]) => html("option", { value, textContent: text, title: title ?? "" })),
  );
  select.value = options.some(([value]) => value === chosen) ? chosen : (options[0]?.[0] ?? "");
}

/** A value with its sign and a true minus: +0.24, −1.00; an empty text for no value. */
export function signed(value, digits = 2) {
  if (value === null || value === undefined) return "";
  const text = Math.abs(value).toFixed(digits);
  if (Number(text) === 0) return text;
  return (value < 0 ? "−" : "+") + text;
}

/** What a move is worth: "wins in 9" plies where that is proven, else its value. */
export function worth({ value, distance }, digits = 2) {
  return distance ? `${value > 0 ? "wins" : "loses"} in ${distance}` : signed(value, digits);
}

/** A key that presses a button: Enter or the space bar. */
export const presses = (event) => event.key === "Enter" || event.key === " ";

export const clamp = (value, low, high) => Math.min(high, Math.max(low, value));
