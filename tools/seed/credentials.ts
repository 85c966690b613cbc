import { randomBytes } from "node:crypto";
import { readFileSync, renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { z } from "zod";

const Credentials = z.object({
  player: z.object({ email: z.string(), name: z.string(), password: z.string() }),
  partner: z.object({ name: z.string() }),
});
export type Credentials = z.infer<typeof Credentials>;

/** Returns the path of the demo partner's key. */
export function partnerKeyFile(stateFolder: string): string {
  return join(stateFolder, "partner.key");
}

/**
 * Returns the cluster's demo player and partner. Generates them once and stores them readable only by the
 * owner.
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
    throw new Error(`${file} is damaged. Remove it to create another demo player.`, { cause });
  }
}

/** Returns the content of the file, or undefined if it does not exist. */
export function readIfThere(file: string): string | undefined {
  try {
    return readFileSync(file, "utf8");
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === "ENOENT") return undefined;
    throw error;
  }
}

/** Replaces the file atomically, so that a killed run leaves the old or the new version. */
export function writePrivately(file: string, text: string): void {
  writeFileSync(`${file}.new`, text, { mode: 0o600 });
  renameSync(`${file}.new`, file);
}
