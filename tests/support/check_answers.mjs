/* The verdicts of the browser's checks on tests/protocol/answers.json. node check_answers.mjs ANSWERS CHECK.JS */

export function wrongVerdicts(cases, { read }) {
  return cases.filter((answer) => !isRight(answer, read)).map((answer) => answer.name);
}

function isRight(answer, read) {
  let kept;
  try {
    kept = read(answer.kind, bytesOf(answer));
  } catch (error) {
    return !answer.good && !error.message.includes("\n") && error.constructor.name === "NotAsAgreed";
  }
  return answer.good && canonical(kept) === canonical(answer.kept);
}

function bytesOf({ text, hex, fill }) {
  if (hex !== undefined) return Uint8Array.from(hex.match(/../g) ?? [], (pair) => parseInt(pair, 16));
  return new TextEncoder().encode(fill ? text.replaceAll(fill.mark, fill.with.repeat(fill.times)) : text);
}

/** JSON with the keys in order: which order they came in says nothing. */
function canonical(value) {
  return JSON.stringify(value, (_, part) =>
    part && typeof part === "object" && !Array.isArray(part) ? Object.fromEntries(Object.entries(part).sort()) : part);
}

if (globalThis.process?.argv[2]) {
  const { readFileSync } = await import("node:fs");
  const cases = JSON.parse(readFileSync(process.argv[2], "utf-8"));
  console.log(JSON.stringify({ cases: cases.length, wrong: wrongVerdicts(cases, await import(process.argv[3])) }));
}
