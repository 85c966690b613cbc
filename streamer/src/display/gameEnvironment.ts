import { renameSync, writeFileSync } from "node:fs";
import { gameEnvironmentFile } from "#contracts/nodeLayout.ts";
import type { GameEnvironment } from "./startDisplay.ts";

/** Leaves the game's supervisor variables for the game, in one rename. The supervisor reads them when display and sound are there: write them before. */
export function writeGameEnvironment(runDir: string, variables: GameEnvironment): void {
  const path = `${runDir}/${gameEnvironmentFile}`;
  writeFileSync(`${path}.new`, Object.entries(variables).map(([name, value]) => `${name}=${value}\n`).join(""), { mode: 0o644 });
  renameSync(`${path}.new`, path);
}
