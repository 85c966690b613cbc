import { join } from "node:path";
import { expect } from "chai";
import { CrashWorld } from "#test/support/crashPoints/crashWorld.ts";
import { describeFailure } from "#test/support/crashPoints/describeFailure.ts";
import {
  callsIn,
  ensureTracer,
  hasStruck,
  notingWords,
  tracerWords,
  type DiskCall,
  type DiskFault,
} from "#test/support/crashPoints/diskFault.ts";
import type { LifeEnd } from "#test/support/crashPoints/life.ts";
import { watchedLife } from "#test/support/crashPoints/watchedLife.ts";

/** The kinds of calls that an agent makes in a life. */
const agentCalls = [
  "mkdir",
  "rename",
  "chown",
  "chmod",
  "fsync",
  "fdatasync",
  "utimensat",
  "unlink",
] satisfies DiskCall[];
/** More than an agent has calls of any kind in a life. */
const mostCalls = 60;

describe("The node agent, with a disk failure or a kill at one call,", function () {
  this.timeout(15 * 60_000);
  /** After a life that came to another end its world is replaced before the next one. */
  let worlds: { world: CrashWorld; lives: number; isStopped: boolean }[];
  let clean: LifeEnd;

  before(async () => {
    await ensureTracer();
    worlds = await Promise.all(
      [0, 1, 2].map(async () => ({ world: await CrashWorld.start(), lives: 0, isStopped: false })),
    );
    const logs = await Promise.all(
      worlds.map(async ({ world }) => {
        const log = join(world.root, "..", "calls");
        await world.startAgentBy(notingWords(log));
        return log;
      }),
    );
    [clean] = (await Promise.all(worlds.map(({ world }) => watchedLife(world)))) as [
      LifeEnd,
      LifeEnd,
      LifeEnd,
    ];
    for (const log of logs) expect(callsIn(log), "kinds of calls of a life").to.have.members(agentCalls);
  });
  after(() => Promise.all(worlds.filter(({ isStopped }) => !isStopped).map(({ world }) => world.stop())));

  /** One life per call of this kind, until there are no more. */
  async function sweep(call: DiskCall, fault: DiskFault): Promise<void> {
    let next = 1;
    let struck = 0;
    let isOver = false;
    await Promise.all(
      worlds.map(async (place) => {
        while (!isOver && next <= mostCalls) {
          const nth = next++;
          if (place.isStopped) {
            place.world = await CrashWorld.start();
            place.isStopped = false;
          }
          const log = join(place.world.root, "..", `calls-${place.lives++}`);
          try {
            await place.world.startAgentBy(tracerWords({ call, nth, fault }, log));
            expect(await watchedLife(place.world), "what is left in the end").to.deep.equal(clean);
            await place.world.recover();
          } catch (cause) {
            isOver = true;
            const logs = place.world.logs();
            place.isStopped = true;
            await place.world.stop();
            throw new Error(`${fault} at number ${nth} of ${call}: ${describeFailure(cause)}\n${logs}`, {
              cause,
            });
          }
          if (hasStruck(log)) struck++;
          else isOver = true;
        }
      }),
    );
    expect(isOver, "a life without this call").to.equal(true);
    expect(struck, "lives that were struck").to.be.above(0);
  }

  for (const fault of ["killed", "EIO", "ENOSPC"] satisfies DiskFault[]) {
    for (const call of agentCalls) {
      it(`${fault === "killed" ? "killed before" : `told ${fault} by`} any ${call}, brings each life to the same end`, () =>
        sweep(call, fault));
    }
  }
});
