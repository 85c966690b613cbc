// productionLock.mjs FOLDER TARGET: writes FOLDER's package.json and package-lock.json without development
// packages to TARGET. `npm sbom --omit dev` would also leave out packages that production needs too.
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";

const [folder, target] = process.argv.slice(2);
const read = (name) => JSON.parse(readFileSync(join(folder, name), "utf8"));
const write = (name, value) => writeFileSync(join(target, name), JSON.stringify(value));

const { devDependencies: _, overrides: __, ...description } = read("package.json");
const lock = read("package-lock.json");
const {
  "": { devDependencies: ___, ...root },
  ...others
} = lock.packages;
const packages = Object.fromEntries(
  Object.entries(others).filter(([, { dev, devOptional }]) => !dev && !devOptional),
);
write("package.json", description);
write("package-lock.json", { ...lock, packages: { "": root, ...packages } });
