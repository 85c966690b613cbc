// setVersion.ts VERSION: writes the version to package.json, package-lock.json, the chart and the tags of its
// images.
import { join } from "node:path";
import { setVersion } from "./version.ts";
import { messageOf } from "#runtime/errors.ts";

const [version] = process.argv.slice(2);
try {
  setVersion(join(import.meta.dirname, "../.."), version ?? "");
} catch (error) {
  console.error(`joypod: ${messageOf(error)}`);
  process.exitCode = 1;
}
