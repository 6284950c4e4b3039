/* The JavaScript side of device_vectors.py: the same scripted random bytes, and a comparison of all vectors. */

export function scripted(prefix, seed) {
  let x = seed >>> 0;
  const first = prefix.match(/../g)?.map((pair) => parseInt(pair, 16)) ?? [];
  const next = () => {
    x ^= x << 13;
    x ^= x >>> 17;
    x ^= x << 5;
    return (x >>> 0) >>> 24;
  };
  return (count) => Uint8Array.from({ length: count }, () => (first.length ? first.shift() : next()));
}

export function checkVectors(vectors, { sketchMechanism, labelMechanism, releaseBytes }) {
  const wrong = [];
  vectors.forEach((v, number) => {
    const mechanism =
      v.kind === "sketch"
        ? sketchMechanism(v.clicks, v.topics, v.epsilon, v.hide_length)
        : labelMechanism(v.clicked, v.choices, v.epsilon);
    const bytes = releaseBytes(mechanism, scripted(v.prefix, v.seed));
    if (btoa(String.fromCharCode(...bytes)) !== v.release) wrong.push(number);
  });
  return { vectors: vectors.length, wrong };
}
