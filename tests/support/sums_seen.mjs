/* All that is seen of devices in node while tasks are contributed to: node sums_seen.mjs <folder of the device> <world.json> */
import { readFileSync } from "node:fs";
import { pathToFileURL } from "node:url";

const [folder, path] = process.argv.slice(2);
const load = (name) => import(pathToFileURL(`${folder}/${name}`));
const { openDevice } = await load("device.js");
const { unhexed } = await load("sums/report.js");
const { SharedBudget } = await load("sums/shared_budget.js");
const { openStorage } = await load("storage.js");
const { Prio3 } = await load("prio3/prio3.js");
const { model, tasks, cells, keys, helpers, start, hours, readers, fails, shared } = JSON.parse(readFileSync(path, "utf-8"));

const json = (value) => new TextEncoder().encode(JSON.stringify(value));
const answers = [
  [/\/v1\/model$/, () => json(model)],
  [/\/v1\/tasks$/, () => json({ tasks })],
  [/\/v1\/cells\/[0-9a-f]+\/\d+$/, (url) => json({ cells: [`N${url.at(-1)}`, "N5", "N6"] })],
  [/\/v1\/cells\//, () => new TextEncoder().encode(cells)],
  [/\/hpke_config$/, () => unhexed(keys)],
  [/\/reports$/, () => new Uint8Array(0)],
];

function sharder() {
  return {
    shard: async ({ variant, parameters, ctx, measurement }) => {
      const prio3 = new Prio3(variant, parameters), nonce = new Uint8Array(16);
      return { nonce, ...prio3.shard(ctx, measurement, nonce, new Uint8Array(prio3.randSize)) };
    },
  };
}

const storage = shared ? await openStorage(null) : null;

async function seenOf(clicks, place) {
  let now = start - 100;
  const seen = [], given = [];
  const fetch = async (url, { method, headers, body = null }) => {
    seen.push([now, method, url, headers, body?.length ?? null]);
    if (fails && url.endsWith("/reports")) throw new Error("no way there");
    const [, answer] = answers.find(([pattern]) => pattern.test(url)) ?? [null, () => null];
    const bytes = answer(url);
    return bytes ? new Response(bytes) : new Response("{}", { status: 404 });
  };
  const random = (count) => new Uint8Array(count).fill(7);
  const device = await openDevice({ url: "http://news.test", fetch, random, now: () => now, database: null });
  const own = sharder();
  const watched = { shard: (request) => (given.push(request.measurement), own.shard(request)) };
  await device.refresh();
  const sums = await device.joinSums({ helpers, sharder: watched, budget: storage && new SharedBudget(storage, `device ${place}`) });
  await sums.refresh();
  let next = 0;
  for (let due; (due = await sums.nextDue()) !== null && due < start + hours * 3600; ) {
    for (; next < clicks.length && clicks[next][0] <= due; next++) {
      now = Math.max(now, clicks[next][0]);
      await device.clicked(clicks[next][1]);
    }
    now = Math.max(now, due) + 0.001;
    await sums.contributeDue();
  }
  const { today, life, debits } = await sums.statement();
  const { refused, problem } = sums;
  const before = seen.length;
  await device.forget();
  return { seen: seen.slice(0, before), given, today, life, debits: debits.length, refused, problem, tasksLeft: (await sums.tasks()).length };
}

const result = [];
for (const [place, clicks] of readers.entries()) result.push(await seenOf(clicks, place));
console.log(JSON.stringify(result));
