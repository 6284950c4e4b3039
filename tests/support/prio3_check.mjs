/* Shards every report of VDAF test vectors with the browser's code; prints which differ. node prio3_check.mjs FILE… */
import { readFileSync } from "node:fs";
import { basename } from "node:path";
import { checkShards } from "./prio3_shards.mjs";

const { Prio3 } = await import(process.argv[2]);
const vectors = process.argv.slice(3).map((path) => [basename(path).split("_")[0], JSON.parse(readFileSync(path, "utf-8"))]);
const shard = (variant, parameters, ...report) => new Prio3(variant, parameters).shard(...report);
console.log(JSON.stringify(await checkShards(vectors, shard)));
