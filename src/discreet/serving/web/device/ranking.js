/** The ranking that the device does by itself: base + w₀ · v·(h̄ − centre), h̄ the mean vector of the kept clicks. */

export function fromBase64(text) {
  return Uint8Array.from(atob(text), (character) => character.charCodeAt(0));
}

export function toBase64(bytes) {
  return btoa(String.fromCharCode(...bytes));
}

/** The part of each candidate's score that the kept clicks make; 0 without clicks. Vectors are base64 of int8. */
export function personalScores(candidates, clicked, model) {
  const { scale, centre } = model.vectors;
  const vectors = clicked.map(unpack).filter((vector) => vector.length === centre.length);
  if (!clicked.length) return candidates.map(() => 0);
  const interest = centre.map((mean, i) => (scale * vectors.reduce((sum, v) => sum + v[i], 0)) / clicked.length - mean);
  return candidates.map((text) => {
    const vector = unpack(text);
    if (vector.length !== centre.length) return 0;
    return model.content_weight * scale * interest.reduce((sum, value, i) => sum + value * vector[i], 0);
  });
}

function unpack(text) {
  return new Int8Array(fromBase64(text ?? "").buffer);
}
