import { randomBytes } from "node:crypto";
import { readFileSync, renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { z } from "zod";

const Credentials = z.object({
  player: z.object({ email: z.string(), name: z.string(), password: z.string() }),
  partner: z.object({ name: z.string() }),
});
export type Credentials = z.infer<typeof Credentials>;

/** Where the key of the demo partner lies. */
export function partnerKeyFile(stateFolder: string): string {
  return join(stateFolder, "partner.key");
}

/**
 * The demo player and partner of this cluster; made up at random the first time and kept readable by their
 * owner alone.
 */
export function readOrMakeCredentials(stateFolder: string): Credentials {
  const file = join(stateFolder, "credentials.json");
  const kept = readIfThere(file);
  if (kept !== undefined) return parseKept(file, kept);
  const made: Credentials = {
    player: {
      email: "player@joypod.example",
      name: "Demo Player",
      password: randomBytes(15).toString("base64url"),
    },
    partner: { name: "Demo Games" },
  };
  writePrivately(file, JSON.stringify(made, undefined, 2) + "\n");
  return made;
}

function parseKept(file: string, text: string): Credentials {
  try {
    return Credentials.parse(JSON.parse(text));
  } catch (cause) {
    throw new Error(`${file} is damaged: remove it, and another player is made.`, { cause });
  }
}

/** The file's content; undefined when there is no such file. */
export function readIfThere(file: string): string | undefined {
  try {
    return readFileSync(file, "utf8");
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === "ENOENT") return undefined;
    throw error;
  }
}

/** Replaces the file as a whole, so that a killed run leaves the old one or the new one. */
export function writePrivately(file: string, text: string): void {
  writeFileSync(`${file}.new`, text, { mode: 0o600 });
  renameSync(`${file}.new`, file);
}
