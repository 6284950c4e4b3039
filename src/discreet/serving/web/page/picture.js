/** A picture for an article, drawn here from its section and id: loading one would tell the server what is looked at. */

const NAMESPACE = "http://www.w3.org/2000/svg";
const WIDTH = 320, HEIGHT = 200;

export function picture(category, id) {
  const random = generator(hash(`${category} ${id}`));
  const hue = hash(category || "other") % 360;
  const drawing = draw("svg", { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, preserveAspectRatio: "xMidYMid slice", focusable: "false" });
  drawing.setAttribute("aria-hidden", "true");
  drawing.append(draw("rect", { width: WIDTH, height: HEIGHT, fill: colour(hue, 26, 84) }));
  const scene = SCENES[hash(category || "other") % SCENES.length];
  drawing.append(...scene(hue, random));
  return drawing;
}

const SCENES = [hills, discs, stripes, towers];

function hills(hue, random) {
  const sun = draw("circle", { cx: 60 + 200 * random(), cy: 50 + 30 * random(), r: 16 + 14 * random(), fill: colour(hue + 40, 55, 74) });
  return [sun, ...[0, 1, 2].map((layer) => {
    const level = 100 + 32 * layer;
    const [a, b, c] = [0, 1, 2].map(() => level - 34 + 56 * random());
    const d = `M0 ${a} C 80 ${a - 40}, 110 ${b + 30}, 170 ${b} S 270 ${c - 30}, ${WIDTH} ${c} V ${HEIGHT} H 0 Z`;
    return draw("path", { d, fill: colour(hue, 24 + 6 * layer, 70 - 15 * layer) });
  })];
}

function discs(hue, random) {
  return [...Array(7).keys()].map((number) => draw("circle", {
    cx: WIDTH * random(), cy: HEIGHT * random(), r: 18 + 58 * random(), "fill-opacity": 0.62,
    fill: colour(hue + 18 * (number % 3), 34, 50 + 26 * random()),
  }));
}

function stripes(hue, random) {
  const slope = 40 + 90 * random();
  let left = -slope;
  return [...Array(9).keys()].map((number) => {
    const width = 14 + 46 * random();
    const points = `${left},${HEIGHT} ${left + slope},0 ${left + slope + width},0 ${left + width},${HEIGHT}`;
    left += width + 10 * random();
    return draw("polygon", { points, fill: colour(hue + 12 * (number % 3), 30, 46 + 30 * random()) });
  });
}

function towers(hue, random) {
  let left = -8;
  const blocks = [];
  while (left < WIDTH) {
    const width = 22 + 34 * random(), height = 40 + 120 * random();
    blocks.push(draw("rect", { x: left, y: HEIGHT - height, width, height, rx: 2, fill: colour(hue, 26, 42 + 28 * random()) }));
    left += width + 5 * random();
  }
  return [draw("circle", { cx: 40 + 240 * random(), cy: 46, r: 22, fill: colour(hue + 40, 50, 76) }), ...blocks];
}

function draw(tag, attributes) {
  const element = document.createElementNS(NAMESPACE, tag);
  for (const [name, value] of Object.entries(attributes)) {
    element.setAttribute(name, typeof value === "number" ? String(Math.round(value * 100) / 100) : value);
  }
  return element;
}

function colour(hue, saturation, light) {
  return `hsl(${Math.round(hue % 360)} ${Math.round(saturation)}% ${Math.round(light)}%)`;
}

/** FNV-1a of a text. */
function hash(text) {
  let value = 0x811c9dc5;
  for (const character of text) value = Math.imul(value ^ character.codePointAt(0), 0x01000193) >>> 0;
  return value;
}

/** Numbers in [0, 1) that look random and are the same for the same seed (xorshift). */
function generator(seed) {
  let state = seed || 1;
  return () => {
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    return (state >>> 0) / 2 ** 32;
  };
}
