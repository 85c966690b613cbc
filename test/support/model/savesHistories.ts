import fc from "fast-check";
import { SavesCheck } from "./savesCheck.ts";
import { players, savesCommands, type CheckedWorld } from "./savesCommands.ts";
import type { SavesFixture } from "./savesFixture.ts";
import type { SavesModel } from "./savesModel.ts";
import { SavesWorld } from "./savesWorld.ts";

export interface HistoriesOptions {
  /** The same seed gives the same histories. */
  seed: number;
  histories: number;
  stepsMax: number;
}

/**
 * Runs random histories against the platform. A failure reports the seed and the shortest failing history.
 */
export async function checkHistories(
  fixture: SavesFixture,
  { seed, histories, stepsMax }: HistoriesOptions,
): Promise<void> {
  const commands = fc.commands(savesCommands, { maxCommands: stepsMax, size: "max" });
  await fc.assert(
    fc.asyncProperty(commands, async (history) => {
      const started: { model: SavesModel; real: CheckedWorld }[] = [];
      await fc.asyncModelRun(async () => {
        const world = await SavesWorld.start(fixture, players);
        const setup = { model: newModel(), real: { world, check: new SavesCheck(world) } };
        started.push(setup);
        return setup;
      }, history);
      for (const { model, real } of started) await real.check.checkEnd(model);
    }),
    { seed, numRuns: histories },
  );
}

function newModel(): SavesModel {
  return { sessions: [], slots: [], isStoreUp: true, isClusterWritable: true };
}
