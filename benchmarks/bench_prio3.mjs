/* Times sharding in node: node bench_prio3.mjs MODULE ours|peer VARIANT LENGTH CHUNK_LENGTH.
 * Prints JSON: milliseconds of the first call, as a page has it, and the median of later ones. */
const BITS = 4;
const REPEATS = 15;

const [, , path, whose, variant, length, chunk] = process.argv;
const library = await import(path);
const [size, chunkLength] = [Number(length), Number(chunk)];
const measurement = variant === "Histogram" ? 7 : Array.from({ length: size }, (_, i) => i % 2 ** BITS);
const nonce = new Uint8Array(16), ctx = new Uint8Array(16);
let shard;
if (whose === "ours") {
  const prio3 = new library.Prio3(`Prio3${variant}`, { length: size, chunk_length: chunkLength, max_measurement: 2 ** BITS - 1 });
  const rand = crypto.getRandomValues(new Uint8Array(prio3.randSize));
  shard = () => prio3.shard(ctx, measurement, nonce, rand);
} else {
  const prio3 = new library[`Prio3${variant}`]({ shares: 2, length: size, chunkLength, bits: BITS });
  const rand = Buffer.from(crypto.getRandomValues(new Uint8Array(prio3.randSize)));
  shard = () => prio3.shard(measurement, Buffer.from(nonce), rand);
}
const taken = [];
for (let i = 0; i <= REPEATS; i++) {
  const start = performance.now();
  await shard();
  taken.push(performance.now() - start);
}
const [first, ...rest] = taken;
console.log(JSON.stringify({ first, median: rest.sort((a, b) => a - b)[REPEATS >> 1] }));
