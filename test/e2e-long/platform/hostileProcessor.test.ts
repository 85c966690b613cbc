import { expect } from "chai";
import { eventually } from "#test/support/clocks/eventually.ts";
import { GameNodeHost } from "#test/e2e/support/gameNodeHost.ts";
import { publishHostile } from "#test/e2e/support/hostileGame.ts";
import { hostileSessionsOfSuite } from "#test/e2e/support/hostileSession.ts";
import { Neighbour } from "#test/e2e/support/neighbour.ts";
import { platform } from "#test/e2e/support/platform.ts";
import { Players } from "#test/e2e/support/players.ts";

/** A rate over this time, as the share of a processor shows over some. */
const windowSeconds = 10;

/** podPidsLimit of tools/cluster/kindConfig.sh. */
const podPidsLimit = 512;

describe("a game that starts many processes and threads", () => {
  const launch = hostileSessionsOfSuite();
  const players = new Players();
  let slugs: Record<"forkbomb" | "spin", string>;
  let neighbour: Neighbour;
  let others: string[] = [];
  /** Frames a second of the neighbour beside nobody. */
  let rateAlone: number;

  before(async () => {
    const { gameNodes } = await platform();
    const nodes = (await gameNodes.list()).items.map(({ metadata }) => metadata.name);
    await cordon(nodes, false); // a run that was killed may have left one closed
    [slugs, neighbour] = await Promise.all([publishHostile("forkbomb", "spin"), Neighbour.moveIn(players)]);
    others = nodes.filter((name) => name !== neighbour.nodeName);
    // Sessions go to the emptiest node; these must go to the neighbour's.
    await cordon(others, true);
    rateAlone = await neighbour.frameRate(windowSeconds);
  });

  after(async () => {
    await cordon(others, false);
    await players.discard();
  });

  it("gets no more processes than its pod's limit, and its neighbour's stream continues", async () => {
    const session = await launch(slugs.forkbomb);
    expect(await session.nodeName()).to.equal(neighbour.nodeName);
    // Looked at in the kernel, too: a node whose systemd bounds each container by itself would hide that the
    // kubelet bounds none.
    const host = new GameNodeHost(neighbour.nodeName);
    expect(await host.podPidsMax(await session.podUid()), "processes that the pod may have").to.equal(
      String(podPidsLimit),
    );
    await session.begin();
    const told = (await session.tells(/^forkbomb processes/, 45_000)).get("forkbomb processes") ?? "";
    expect(told, "what stopped it").to.match(/^\d+, EAGAIN$/);
    expect(Number.parseInt(told), "processes").to.be.lessThan(podPidsLimit);
    await expectFrames();
    await session.finish();
  });

  it("gets only its share of the processors with 64 threads, and its neighbour's stream continues", async () => {
    const session = await launch(slugs.spin);
    expect(await session.nodeName()).to.equal(neighbour.nodeName);
    await session.begin();
    await session.tells("spin threads: 64");
    await expectFrames();
    await session.finish();
  });

  async function expectFrames(): Promise<void> {
    const during = await neighbour.frameRate(windowSeconds);
    console.log(`      frames a second: ${rateAlone.toFixed(1)} before, ${during.toFixed(1)} during`);
    expect(rateAlone, "frames a second beside nobody").to.be.greaterThan(10);
    expect(during / rateAlone, "of the frames beside nobody").to.be.at.least(0.9);
  }
});

/** Keeps new sessions off the nodes, or lets them on again, and waits until the operator knows. */
async function cordon(nodes: readonly string[], isCordoned: boolean): Promise<void> {
  const installed = await platform();
  for (const node of nodes) {
    await installed.kubectl([isCordoned ? "cordon" : "uncordon", node]);
    await eventually(
      async () =>
        (await installed.gameNodes.get({ name: node })).status?.capacity?.schedulable === !isCordoned,
      { timeoutMs: 30_000, intervalMs: 200, what: `${node} to be ${isCordoned ? "cordoned" : "uncordoned"}` },
    );
  }
}
