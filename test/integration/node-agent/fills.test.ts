import { existsSync } from "node:fs";
import { expect } from "chai";
import type { ArchiveSource } from "#contracts/crd/gameCache.ts";
import { objectDirectory } from "#contracts/nodeLayout.ts";
import { eventually } from "#test/support/clocks/eventually.ts";
import { beforeEachWithNodeAgent, type NodeAgentFixture } from "#test/support/fixtures/nodeAgentFixture.ts";

describe("Node agent: background fills", function () {
  this.timeout(60_000);
  let fixture: NodeAgentFixture;

  beforeEachWithNodeAgent(async (fresh) => {
    fixture = fresh;
    await fixture.createGameNode();
  });

  /** Seconds until the game is unpacked on the node. */
  async function secondsUntilThere({ sha256 }: ArchiveSource, ask: () => Promise<unknown>): Promise<number> {
    const began = performance.now();
    await ask();
    await eventually(() => existsSync(objectDirectory(fixture.root, sha256)), { timeoutMs: 30_000, intervalMs: 10, what: "the game to be there" });
    return (performance.now() - began) / 1000;
  }
  const fill = (source: ArchiveSource) => secondsUntilThere(source, () =>
    fixture.nodes.mergePatch({ name: fixture.node }, { spec: { desired: [{ digest: source.sha256, source, priority: 0, pinned: false, hold: false }] } }));

  it("keep to their rate while a session is on the node, and do not slow down what a player waits for", async () => {
    const bytes = 4_000_000;
    await fixture.startAgent({ FILL_BYTES_PER_SECOND: "1000000" });
    const aGame = (): Promise<ArchiveSource> => fixture.createGame(bytes);
    const before = await fill(await aGame());
    await fixture.aRunningSession();
    const beside = await fill(await aGame());
    const wanted = await aGame();
    const launched = await secondsUntilThere(wanted, () => fixture.launch(wanted));
    expect(beside).to.be.above(3);
    for (const quick of [before, launched]) expect(quick).to.be.below(beside / 3);
  });
});
