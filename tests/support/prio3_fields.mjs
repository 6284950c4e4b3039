/* The browser's field arithmetic against BigInt; prints how many results differ. node prio3_fields.mjs FIELDS_JS */
const { FIELD64, FIELD128 } = await import(process.argv[2]);

let x = 1;
const next32 = () => {
  x ^= x << 13;
  x ^= x >>> 17;
  x ^= x << 5;
  return BigInt(x >>> 0);
};
const report = { checked: 0, wrong: [] };
for (const field of [FIELD64, FIELD128]) {
  const p = field.modulus;
  const edges = [0n, 1n, 2n, 2n ** 24n - 1n, 2n ** 24n, 2n ** 32n, 2n ** 48n, 2n ** 63n, 2n ** 64n, 2n ** 66n, 2n ** 120n, p / 2n];
  const all = edges.flatMap((edge) => [edge % p, (p - (edge % p)) % p]);
  while (all.length < 150) all.push(((next32() << 96n) | (next32() << 64n) | (next32() << 32n) | next32()) % p);
  const bytes = (number) => Uint8Array.from({ length: field.encodedSize }, (_, i) => Number((number >> BigInt(8 * i)) & 255n));
  const vector = field.fromBigInts(all), factors = field.constants(all), out = field.zeros(1);
  const same = (what, number) => {
    report.checked++;
    if (field.encode(out).join() !== bytes(number).join()) report.wrong.push(`${field.name} ${what}`);
  };
  all.forEach((a, i) => {
    all.forEach((b, j) => {
      field.add(vector, i, vector, j, out, 0);
      same(`${a} + ${b}`, (a + b) % p);
      field.subtract(vector, i, vector, j, out, 0);
      same(`${a} - ${b}`, (a - b + p) % p);
      field.multiply(vector, i, factors, j, out, 0);
      same(`${a} * ${b}`, (a * b) % p);
    });
    if (!field.decodeInto(bytes(a), out, 0)) report.wrong.push(`${a} is refused`);
    same(`${a} decoded`, a);
  });
  for (const a of [p, p + 1n, (1n << BigInt(8 * field.encodedSize)) - 1n]) {
    if (field.decodeInto(bytes(a), out, 0)) report.wrong.push(`${a} is taken`);
  }
}
console.log(JSON.stringify(report));
