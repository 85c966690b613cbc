// Exits with 0 if node_modules has every package of package-lock.json in the locked version. Plain JavaScript
// without dependencies, because it runs on the machine's Node.js before ours is installed.
import { existsSync, readFileSync } from "node:fs";

const wanted = read("package-lock.json");
const installed = read("node_modules/.package-lock.json");
if (wanted === undefined || installed === undefined) process.exit(1);

for (const [path, entry] of Object.entries(wanted.packages)) {
  if (path === "" || entry.link) continue;
  const present = installed.packages[path];
  // npm does not install optional packages for other platforms.
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
