import { join } from "node:path";
import { expect } from "chai";
import { CrashWorld } from "#test/support/crashPoints/crashWorld.ts";
import { describeFailure } from "#test/support/crashPoints/describeFailure.ts";
import { diskCalls, ensureTracer, hasStruck, tracerWords, type DiskCall, type DiskFault } from "#test/support/crashPoints/diskFault.ts";
import { Life, type LifeEnd } from "#test/support/crashPoints/life.ts";

/** More than an agent has calls of any kind in a life. */
const mostCalls = 60;

describe("The node agent, whose disk fails or who is killed at one call,", function () {
  this.timeout(15 * 60_000);
  /** After a life that came to another end its world is replaced before the next one. */
  let worlds: { world: CrashWorld; lives: number; isStopped: boolean }[];
  let clean: LifeEnd;

  before(async () => {
    await ensureTracer();
    worlds = await Promise.all([0, 1, 2].map(async () => ({ world: await CrashWorld.start(), lives: 0, isStopped: false })));
    [clean] = await Promise.all(worlds.map(({ world }) => new Life(world).live())) as [LifeEnd, LifeEnd, LifeEnd];
  });
  after(() => Promise.all(worlds.filter(({ isStopped }) => !isStopped).map(({ world }) => world.stop())));

  /** One life per call of this kind, until there are no more. */
  async function sweep(call: DiskCall, fault: DiskFault): Promise<void> {
    let next = 1;
    let isOver = false;
    await Promise.all(worlds.map(async (place) => {
      while (!isOver && next <= mostCalls) {
        const nth = next++;
        if (place.isStopped) {
          place.world = await CrashWorld.start();
          place.isStopped = false;
        }
        const log = join(place.world.root, "..", `calls-${place.lives++}`);
        try {
          await place.world.startAgentBy(tracerWords({ call, nth, fault }, log));
          expect(await new Life(place.world).live(), "what is left in the end").to.deep.equal(clean);
          await place.world.recover();
        } catch (cause) {
          isOver = true;
          const logs = place.world.logs();
          place.isStopped = true;
          await place.world.stop();
          throw new Error(`${fault} at number ${nth} of ${call}: ${describeFailure(cause)}\n${logs}`, { cause });
        }
        if (!hasStruck(log)) isOver = true;
      }
    }));
    expect(isOver, "a life without this call").to.equal(true);
  }

  for (const fault of ["killed", "EIO", "ENOSPC"] satisfies DiskFault[]) {
    for (const call of diskCalls) {
      it(`${fault === "killed" ? "killed before" : `told ${fault} by`} any ${call}, brings each life to the same end`, () => sweep(call, fault));
    }
  }
});
