import { limits } from "#contracts/limits.ts";
import type { Environment } from "#runtime/program/readEnvironment.ts";

/** Configuration of the packer in a session's pod. */
export interface PackerConfig {
  /** Folder in memory that the game writes to as well; the saves are in a folder of it. */
  saveVolume: string;
  /** The session's folder on the node. */
  spool: string;
  /** Of the GameSession. */
  uid: string;
  /** A changed save of ordinary size is spooled within this time. */
  spoolMs: number;
}

/** Configuration of a single pack of any folder. */
export interface PackOnceConfig {
  saveDirectory: string;
  spool: string;
  uid: string;
}

/**
 * Returns the configuration; throws one error that names every variable that is wrong. Zod would take longer
 * to load than all else.
 */
export function readConfig(environment: Environment): PackerConfig {
  const reader = createReader(environment);
  const config = {
    saveVolume: reader.path("SAVE_VOLUME"),
    spool: reader.path("SPOOL_DIR"),
    uid: reader.uid("SESSION_UID"),
    spoolMs: 1000 * reader.seconds("SPOOL_SECONDS", limits.save.spoolSeconds),
  };
  reader.finish();
  return config;
}

/** Returns the configuration of a single pack; throws as `readConfig` does. */
export function readPackOnceConfig(environment: Environment): PackOnceConfig {
  const reader = createReader(environment);
  const config = {
    saveDirectory: reader.path("SAVE_DIRECTORY"),
    spool: reader.path("SPOOL_DIR"),
    uid: reader.uid("SESSION_UID"),
  };
  reader.finish();
  return config;
}

function createReader(environment: Environment) {
  const wrong: string[] = [];
  const checked = (name: string, pattern: RegExp, rule: string, fallback = ""): string => {
    const value = environment[name] ?? fallback;
    if (!pattern.test(value)) wrong.push(`${name} must be ${rule}`);
    return value;
  };
  return {
    path: (name: string) => checked(name, /^\/[^\0]*[^/\0]$/, "an absolute path"),
    uid: (name: string) => checked(name, /^[^\0]{1,64}$/, "a uid of at most 64 characters"),
    seconds: (name: string, fallback: number) =>
      Number(checked(name, /^[1-9][0-9]{0,3}$/, "a whole number from 1 to 9999", String(fallback))),
    finish(): void {
      if (wrong.length > 0) throw new Error(`The configuration of the packer is wrong.\n${wrong.join("\n")}`);
    },
  };
}
