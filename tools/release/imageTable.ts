import { readFileSync } from "node:fs";
import { join } from "node:path";

/** A Joypod image: its value in the chart, its name in a registry, and the Go programs in it. */
export interface ImageRow {
  value: string;
  name: string;
  programs: string[];
}

/** Returns the images of tools/images/table.txt. */
export function readImageTable(root: string): ImageRow[] {
  const lines = readFileSync(join(root, "tools/images/table.txt"), "utf8").split("\n");
  return lines
    .filter((line) => line !== "" && !line.startsWith("#"))
    .map((line) => {
      const [value = "", name = "", , , ...inputs] = line.split(/\s+/);
      return {
        value,
        name,
        programs: inputs
          .filter((input) => input.startsWith("programs/"))
          .map((input) => input.slice("programs/".length)),
      };
    });
}
