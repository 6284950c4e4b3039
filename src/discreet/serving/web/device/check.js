/**
 * Checks an answer against the schema, whole or not at all: the twin of `protocol/check.py`, with the same verdicts.
 *
 * What comes out holds only the fields that the schema names, each of the right type and size. Nothing is copied into
 * an object whose keys a server chose.
 */

import { SCHEMA } from "./schema.js";

export const LIMITS = SCHEMA.limits;

/** An answer that is not as agreed: the message is one line for the reader, `path` the field if it was one. */
export class NotAsAgreed extends Error {
  path = null;
}

/** An answer's bytes as checked values. `kind`: "model", "catalogue", "page" or "recommend". */
export function read(kind, bytes) {
  return checked(parse(bytes), SCHEMA[kind], kind);
}

/** Strict JSON: UTF-8 without a mark, of a size that is not absurd. */
export function parse(bytes) {
  if (bytes.length > LIMITS.max_answer_bytes) throw new NotAsAgreed(`the server's answer has more than ${LIMITS.max_answer_bytes} bytes`);
  try {
    return JSON.parse(new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes));
  } catch {
    throw new NotAsAgreed("the server's answer is not JSON");
  }
}

function checked(value, schema, path) {
  if (schema.$ref) schema = SCHEMA[schema.$ref];
  const kind = [schema.type].flat().find((type) => TYPES[type](value));
  if (!kind) refuse(path, "is not of the right type");
  if (schema.enum && !schema.enum.includes(value)) refuse(path, "is none of the known values");
  if (kind === "object") return checkedObject(value, schema, path);
  if (kind === "array") {
    sized(value.length, schema.minItems, schema.maxItems, path);
    return value.map((entry, number) => checked(entry, schema.items, `${path}[${number}]`));
  }
  if (kind === "string") checkString(value, schema, path);
  if (typeof value === "number" && !(value >= (schema.minimum ?? -Infinity) && value <= (schema.maximum ?? Infinity))) refuse(path, "is out of range");
  return value;
}

function checkedObject(value, schema, path) {
  for (const name of schema.required) if (!Object.hasOwn(value, name)) refuse(`${path}.${name}`, "is missing");
  const kept = {};
  for (const [name, inner] of Object.entries(schema.properties)) {
    if (Object.hasOwn(value, name)) kept[name] = checked(value[name], inner, `${path}.${name}`);
  }
  return kept;
}

function checkString(value, { minLength, maxLength, pattern }, path) {
  const isPlain = !/[\ud800-\udfff]/.test(value);
  if (!isPlain && /[\ud800-\udfff]/u.test(value)) refuse(path, "holds half a character");
  sized(isPlain ? value.length : [...value].length, minLength, maxLength, path);
  if (pattern && !patternOf(pattern).test(value)) refuse(path, "holds what it may not");
}

const patterns = new Map();

function patternOf(text) {
  if (!patterns.has(text)) patterns.set(text, new RegExp(text, "u"));
  return patterns.get(text);
}

function sized(size, least = 0, most = Infinity, path) {
  if (size < least || size > most) refuse(path, size > most ? "is too long" : "is too short");
}

const TYPES = {
  object: (value) => typeof value === "object" && value !== null && !Array.isArray(value),
  array: Array.isArray,
  string: (value) => typeof value === "string",
  boolean: (value) => typeof value === "boolean",
  null: (value) => value === null,
  number: (value) => typeof value === "number" && Number.isFinite(value),
  integer: Number.isSafeInteger,
};

function refuse(path, problem) {
  throw Object.assign(new NotAsAgreed(`the server's answer is not as agreed: ${path} ${problem}`), { path });
}
