/* Compares sharding with VDAF test vectors, in node and in the browser. */

const bytes = (text) => Uint8Array.from(text.match(/../g) ?? [], (pair) => parseInt(pair, 16));
const hex = (array) => Array.from(array, (byte) => byte.toString(16).padStart(2, "0")).join("");

/** `vectors` are pairs of a variant and a vector; `shard` gives a report or a promise of one. */
export async function checkShards(vectors, shard) {
  const wrong = [];
  let shards = 0;
  for (const [variant, vector] of vectors) {
    const { shares, length, chunk_length, max_measurement, max_weight } = vector;
    const parameters = { shares, length, chunk_length, max_measurement, max_weight };
    for (const { operation, report_index, success } of vector.operations) {
      if (operation !== "shard") continue;
      shards++;
      const report = vector.reports[report_index];
      let made = null;
      try {
        made = await shard(variant, parameters, bytes(vector.ctx), report.measurement, bytes(report.nonce), bytes(report.rand));
      } catch (error) {
        if (success) wrong.push(`${variant} ${report_index}: ${error.stack}`);
        continue;
      }
      const same = hex(made.publicShare) === report.public_share && made.inputShares.map(hex).join() === report.input_shares.join();
      if (same !== success) wrong.push(`${variant} ${report_index}`);
    }
  }
  return { shards, wrong };
}
