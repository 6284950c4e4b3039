/* Makes each test vector's release with the browser's code; prints how many differ. node check_vectors.mjs FILE */
import { readFileSync } from "node:fs";
import { checkVectors } from "./device_vectors.mjs";
const result = checkVectors(JSON.parse(readFileSync(process.argv[2], "utf-8")), await import(process.argv[3]));
console.log(JSON.stringify(result));
