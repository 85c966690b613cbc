import { closeSync, existsSync, fstatSync, openSync, statSync } from "node:fs";
import { join } from "node:path";
import { expect } from "chai";
import type { ArchiveSource } from "#contracts/crd/gameCache.ts";
import { spoolNames } from "#contracts/nodeLayout.ts";
import { eventually } from "#test/support/clocks/eventually.ts";
import { ensureTracer, hasStruck, tracerWords, type DiskCall } from "#test/support/crashPoints/diskFault.ts";
import { beforeEachWithNodeAgent, type NodeAgentFixture } from "#test/support/fixtures/nodeAgentFixture.ts";

/** More than an agent has calls of any kind from its start to a session's order. */
const mostCalls = 30;

describe("Node agent, killed while it creates a session's folder,", function () {
  this.timeout(10 * 60_000);
  let fixture: NodeAgentFixture;
  let source: ArchiveSource;

  before(ensureTracer);
  beforeEachWithNodeAgent(async (fresh) => {
    fixture = fresh;
    await fixture.createGameNode();
    source = await fixture.createGame();
    // Children of the agent would meet the faults too, as those do that unpack a game.
    fixture.startProcess();
    await fixture.ordered(await fixture.launch(source));
    await fixture.killProcess();
  });

  /**
   * Has the session ordered by an agent without a fault; what a pod had mounted by then, held open so that no
   * other folder gets its number, is the folder still.
   */
  async function expectSameFolder(name: string): Promise<void> {
    const mounted = existsSync(fixture.folder(name)) ? openSync(fixture.folder(name), "r") : undefined;
    fixture.startProcess();
    await fixture.ordered(name);
    if (mounted === undefined) return;
    const { ino } = fstatSync(mounted);
    closeSync(mounted);
    expect(statSync(fixture.folder(name)).ino, "the folder").to.equal(ino);
  }

  for (const call of ["mkdir", "fsync", "rename"] satisfies DiskCall[]) {
    it(`before any ${call}, keeps a folder that a pod has mounted`, async () => {
      let isStruck = true;
      let nth = 0;
      while (isStruck && nth < mostCalls) {
        nth += 1;
        const log = join(fixture.root, "..", `calls-${nth}`);
        fixture.startProcess({}, tracerWords({ call, nth, fault: "killed" }, log));
        const name = await fixture.launch(source);
        await eventually(() => hasStruck(log) || existsSync(`${fixture.folder(name)}/${spoolNames.order}`), {
          timeoutMs: 60_000,
          what: "the order, or the agent's end",
        });
        isStruck = hasStruck(log);
        if (isStruck) await expectSameFolder(name);
        await fixture.killProcess();
      }
      expect(nth, "agents that were started").to.be.above(1).and.below(mostCalls);
    });
  }
});
