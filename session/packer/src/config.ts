import { limits } from "#contracts/limits.ts";
import { gameOutputFile } from "#contracts/nodeLayout.ts";
import type { Environment } from "#runtime/program/readEnvironment.ts";

/** Configuration of the packer in a session's pod. */
export interface PackerConfig {
  /** In-memory folder shared with the game. The save directory is a folder below it. */
  saveVolume: string;
  /** The session's folder on the node. */
  spool: string;
  /** UID of the GameSession. */
  uid: string;
  /** File with the end of the game's output. */
  output: string;
  /** File with what the session has observed; only in sessions that verify a version of a game. */
  observations: string | undefined;
  /** How soon a changed save of ordinary size is spooled, in milliseconds. */
  spoolMs: number;
}

/**
 * Returns the configuration. Validates by hand because loading Zod would take longer than everything else the
 * packer does at start.
 *
 * @throws Error that names every invalid variable.
 */
export function readConfig(environment: Environment): PackerConfig {
  const reader = createReader(environment);
  const config = {
    saveVolume: reader.path("SAVE_VOLUME"),
    spool: reader.path("SPOOL_DIR"),
    uid: reader.uid("SESSION_UID"),
    output: `${reader.path("GAME_REPORT_DIR", "/run/game")}/${gameOutputFile}`,
    observations: reader.optionalPath("OBSERVATIONS_FILE"),
    spoolMs: 1000 * reader.seconds("SPOOL_SECONDS", limits.save.spoolSeconds),
  };
  reader.finish();
  return config;
}

function createReader(environment: Environment) {
  const problems: string[] = [];
  const check = (name: string, pattern: RegExp, rule: string, fallback = ""): string => {
    const value = environment[name] ?? fallback;
    if (!pattern.test(value)) problems.push(`${name} must be ${rule}`);
    return value;
  };
  const path = (name: string, fallback?: string) =>
    check(name, /^\/[^\0]*[^/\0]$/, "an absolute path", fallback);
  return {
    path,
    optionalPath: (name: string) => ((environment[name] ?? "") === "" ? undefined : path(name)),
    uid: (name: string) => check(name, /^[^\0]{1,64}$/, "a uid of at most 64 characters"),
    seconds: (name: string, fallback: number) =>
      Number(check(name, /^[1-9][0-9]{0,3}$/, "a whole number from 1 to 9999", String(fallback))),
    finish(): void {
      if (problems.length > 0)
        throw new Error(`The packer's configuration is invalid.\n${problems.join("\n")}`);
    },
  };
}
