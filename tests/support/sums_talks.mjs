/* Conversations about sums with devices in node: node sums_talks.mjs <folder of the device> <conversation.json> */
import { readFileSync } from "node:fs";
import { pathToFileURL } from "node:url";
import { Talk, lasting } from "./sums_talk.mjs";

const [folder, path] = process.argv.slice(2);
const load = (name) => import(pathToFileURL(`${folder}/${name}`));
const conversation = JSON.parse(readFileSync(path, "utf-8"));
const { readers, together = false, storages = ["own", "shared"], origin } = conversation;
if (origin) globalThis.origin = origin;

const open = async (name) => (storages.includes(name) ? await lasting(load) : await (await load("storage.js")).openStorage(null));
const common = together ? await open("shared") : null;
const found = [];
for (const [place, clicks] of readers.entries()) {
  const parts = { own: await open("own"), shared: common ?? (await open("shared")), seed: 7 + (together ? place : 0) };
  found.push(await new Talk(load, conversation, clicks, parts).run());
}
console.log(JSON.stringify(found));
