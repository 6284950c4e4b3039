/** What was sent, as a reader can check it: the numbers inside each release, and the exact text they travelled in. */

import { fromBase64 } from "../device/ranking.js";
import { shownEpsilon } from "../device/statement.js";
import { isReport } from "../device/sums/taking_part.js";
import { hostOf } from "../device/sums/words.js";

/** The mechanism, ε and numbers of a release (`privacy/release_format.py` has the format). */
export function decodeRelease(text) {
  const bytes = fromBase64(text);
  const view = new DataView(bytes.buffer);
  const name = new TextDecoder().decode(bytes.subarray(35, 35 + view.getUint8(34)));
  const at = 35 + name.length;
  const width = view.getUint8(at + 8), length = view.getUint32(at + 9, true);
  const numbers = [...Array(length).keys()].map((place) => {
    const where = at + 13 + width * place;
    return width === 8 ? Number(view.getBigInt64(where, true)) : view[`getInt${8 * width}`](where, true);
  });
  return { mechanism: name, epsilon: view.getFloat64(8, true), numbers };
}

/** An entry of the device's log in words: {title, words, numbers: [[label, numbers]], bytes}. */
export function describe({ url, json }) {
  if (isReport(url)) return contribution(url, json);
  const body = JSON.parse(json);
  const bytes = new TextEncoder().encode(json).length;
  if (url.endsWith("/v1/recommend")) return { ...recommend(body), bytes };
  return { ...(body.kind === "label" ? label(body) : sketch(body)), bytes };
}

function contribution(url, json) {
  const words = `One part of a sum over all readers, sealed for two aggregators; ${hostOf(url)} passes the other's half on unopened. It is as long whatever you read, also if you read nothing.`;
  return { title: "Part of a sum", words, numbers: [], bytes: parseInt(json, 10) };
}

function recommend({ sketches, open }) {
  const numbers = sketches.map(({ epoch, release }) => [`noised counts, epoch ${epoch}`, decodeRelease(release).numbers]);
  if (open) numbers.push(["counted in clear, as you chose", open]);
  const words = sketches.length
    ? "With sketches that were paid for before: asking again costs nothing more."
    : "Without a word about you: everybody's first request looks like this one.";
  return { title: "Asked for news", words, numbers };
}

function sketch({ epoch, clicks, release }) {
  const { epsilon, numbers } = decodeRelease(release);
  const length = clicks === null ? "The number of clicks is hidden too." : `The number of clicks, ${clicks}, is sent.`;
  const words = `How often each topic was read in epoch ${epoch}, with noise (ε = ${shownEpsilon(epsilon)}). ${length}`;
  return { title: "Sketch", words, numbers: [["noised counts", numbers]] };
}

function label({ slate, release }) {
  const { epsilon, numbers } = decodeRelease(release);
  const words = `${numbers.length} of the ${slate.articles.length} places of a list as the server sent it; the one you opened may be among them or not (ε = ${shownEpsilon(epsilon)}).`;
  return { title: "Label", words, numbers: [["places", numbers.map((place) => place + 1)]] };
}
