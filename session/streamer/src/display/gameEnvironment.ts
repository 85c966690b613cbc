import { renameSync, writeFileSync } from "node:fs";
import { gameEnvironmentFile } from "#contracts/nodeLayout.ts";
import type { GameEnvironment } from "./startDisplay.ts";

/**
 * Leaves the variables for the game to the game's supervisor, by one rename. The supervisor reads them when
 * display and sound are there, so they have to be written before.
 */
export function writeGameEnvironment(runDir: string, variables: GameEnvironment): void {
  const path = `${runDir}/${gameEnvironmentFile}`;
  writeFileSync(
    `${path}.new`,
    Object.entries(variables)
      .map(([name, value]) => `${name}=${value}\n`)
      .join(""),
    { mode: 0o644 },
  );
  renameSync(`${path}.new`, path);
}
