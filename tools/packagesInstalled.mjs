// Exits with 0 when node_modules holds every package of package-lock.json at its version. Plain JavaScript
// without dependencies: it runs on whatever Node the machine has, before ours is installed.
import { existsSync, readFileSync } from "node:fs";

const wanted = read("package-lock.json");
const installed = read("node_modules/.package-lock.json");
if (wanted === undefined || installed === undefined) process.exit(1);

for (const [path, entry] of Object.entries(wanted.packages)) {
  if (path === "" || entry.link) continue;
  const present = installed.packages[path];
  // Optional packages of other platforms are left out by npm.
  if (present === undefined ? !entry.optional && !entry.peer : present.version !== entry.version)
    process.exit(1);
}
if (!existsSync(new URL("../node_modules/.bin/node", import.meta.url))) process.exit(1);

function read(path) {
  try {
    return JSON.parse(readFileSync(new URL(`../${path}`, import.meta.url), "utf8"));
  } catch {
    return undefined;
  }
}
