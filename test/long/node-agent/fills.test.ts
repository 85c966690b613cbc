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
    await eventually(() => existsSync(objectDirectory(fixture.root, sha256)), {
      timeoutMs: 30_000,
      intervalMs: 10,
      what: "the game to be there",
    });
    return (performance.now() - began) / 1000;
  }
  const fill = (source: ArchiveSource) =>
    secondsUntilThere(source, () =>
      fixture.nodes.mergePatch(
        { name: fixture.node },
        { spec: { desired: [{ digest: source.sha256, source, priority: 0, pinned: false, hold: false }] } },
      ),
    );

  it("keep to their rate while a session is on the node, and do not delay a waiting player", async () => {
    const bytes = 4_000_000;
    await fixture.startAgent({ FILL_BYTES_PER_SECOND: "400000" });
    const aGame = (): Promise<ArchiveSource> => fixture.createGame(bytes);
    const before = await fill(await aGame());
    await fixture.aRunningSession();
    const beside = await fill(await aGame());
    const wanted = await aGame();
    const launched = await secondsUntilThere(wanted, () => fixture.launch(wanted));
    expect(beside).to.be.above(7.5);
    for (const quick of [before, launched]) expect(quick).to.be.below(beside / 3);
  });

  it("continue while the GameNode is missing, which does not change the desired content", async () => {
    const held = Promise.withResolvers<undefined>();
    const [filled, played] = [await fixture.createGame(), await fixture.createGame()];
    fixture.proxy.fault = ({ method, path }) =>
      method === "GET" && path.endsWith(filled.key) ? { holdUntil: held.promise } : undefined;
    await fixture.startAgent();
    const filling = fill(filled);
    await eventually(() => fixture.proxy.requests.some(({ path }) => path.endsWith(filled.key)), {
      timeoutMs: 20_000,
      what: "the fill to begin",
    });
    await fixture.nodes.delete({ name: fixture.node });
    // By then the agent has heard of the deletion, which came before.
    await fixture.ordered(await fixture.launch(played));
    held.resolve(undefined);
    await filling;
    expect(fixture.proxy.requests.filter(({ path }) => path.endsWith(filled.key))).to.have.length(1);
  });
});
