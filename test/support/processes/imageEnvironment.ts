import { readFileSync } from "node:fs";
import { join } from "node:path";
import { repositoryRoot } from "./programs.ts";

/** Returns the C library settings of the control plane's image, which strongly affect a program's memory. */
export function imageEnvironment(): Record<string, string> {
  const dockerfile = readFileSync(join(repositoryRoot, "images/control-plane/Dockerfile"), "utf8");
  const variables = [...dockerfile.matchAll(/(?<=^ENV .*)(MALLOC_\w+)=(\S+)/gm)];
  if (variables.length === 0)
    throw new Error("images/control-plane/Dockerfile sets no MALLOC_ variables any more.");
  return Object.fromEntries(variables.map(([, name = "", value = ""]) => [name, value]));
}
