/** A small line plot with bands of one standard error, as SVG, and what each line is. */

import { make } from "../page/dom.js";

const SPACE = "http://www.w3.org/2000/svg";
const WIDTH = 520, HEIGHT = 170, LEFT = 44, RIGHT = 8, TOP = 10, BOTTOM = 22;
const CLASSES = ["one", "two"];

/** `lines`: [{name, points: [{x, y, error}]}] with x in seconds since 1970; null if there is nothing to draw. */
export function plot(title, lines) {
  const points = lines.flatMap((line) => line.points);
  if (points.length < 2) return null;
  const xs = points.map(({ x }) => x), low = Math.min(...points.map(({ y, error }) => y - error)), high = Math.max(...points.map(({ y, error }) => y + error));
  const [from, to] = [Math.min(...xs), Math.max(...xs)];
  const place = ({ x, y }) => [
    LEFT + ((x - from) / (to - from || 1)) * (WIDTH - LEFT - RIGHT),
    TOP + (1 - (y - low) / (high - low || 1)) * (HEIGHT - TOP - BOTTOM),
  ];
  const image = draw("svg", { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, role: "img", "aria-label": title });
  for (const y of [low, (low + high) / 2, high]) {
    const [, height] = place({ x: from, y });
    image.append(draw("line", { class: "axis", x1: LEFT, x2: WIDTH - RIGHT, y1: height, y2: height }), label(LEFT - 6, height + 4, y.toFixed(3), "end"));
  }
  image.append(label(LEFT, HEIGHT - 6, day(from), "start"), label(WIDTH - RIGHT, HEIGHT - 6, day(to), "end"));
  lines.forEach(({ name, points }, number) => {
    const kind = CLASSES[number % CLASSES.length];
    const upper = points.map(({ x, y, error }) => place({ x, y: y + error })), lower = points.map(({ x, y, error }) => place({ x, y: y - error }));
    const band = draw("polygon", { class: `band ${kind}`, points: [...upper, ...lower.reverse()].join(" ") });
    const line = draw("polyline", { class: `line ${kind}`, points: points.map(place).join(" ") });
    line.append(draw("title", {}, name));
    image.append(band, line);
  });
  const named = lines.length > 1 ? lines.map(({ name }, number) => make("span", { class: CLASSES[number % CLASSES.length] }, ` ― ${name}`)) : [];
  return make("figure", {}, make("figcaption", {}, title, ...named), image);
}

function label(x, y, text, anchor) {
  return draw("text", { x, y, "text-anchor": anchor }, text);
}

function day(seconds) {
  return new Date(1000 * seconds).toISOString().slice(0, 10);
}

function draw(tag, attributes, text = "") {
  const element = document.createElementNS(SPACE, tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  element.textContent = text;
  return element;
}
