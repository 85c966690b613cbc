import { expect } from "chai";
import type { CacheEntry, GameNode } from "#contracts/crd/gameNode.ts";
import { limits } from "#contracts/limits.ts";
import { findCondition } from "#kube/api/conditions.ts";
import type { Stored } from "#kube/api/object.ts";
import { anArchiveSource } from "#test/factories/gameCache.ts";
import { aCacheEntry } from "#test/factories/gameNode.ts";
import { eventually } from "#test/support/clocks/eventually.ts";
import { OperatorFixture } from "#test/support/fixtures/operatorFixture.ts";

describe("A node that joins", function () {
  this.timeout(60_000);
  const [first, second] = ["a".repeat(64), "b".repeat(64)];
  const there = (digest: string): CacheEntry => aCacheEntry({ digest });
  let fixture: OperatorFixture;
  let known: string;
  let joining: string;

  /** One node with both pinned games, and one that has just joined and has none. */
  beforeEach(async () => {
    fixture = await OperatorFixture.start();
    known = fixture.nodeNames[0] ?? "";
    joining = `${known}-joining`;
    await fixture.startOperator();
    for (const digest of [first, second])
      await fixture.createCache(`game-${digest.slice(0, 3)}`, {
        source: anArchiveSource(digest),
        pinned: true,
      });
    await fixture.components.report(known, { entries: [there(first), there(second)] });
    await fixture.addNode(joining);
    await eventually(() => fixture.gameNodes.find({ name: joining }), { what: "the new node's GameNode" });
    await fixture.components.report(joining, { entries: [] });
  });

  afterEach(() => fixture.clear());

  async function filled(name: string, status: string, message = /(?:)/): Promise<Stored<GameNode>> {
    return eventually(
      async () => {
        const gameNode = await fixture.gameNodes.get({ name });
        const found = findCondition(gameNode.status?.conditions, "Filled");
        // Writes of progress are rate-limited.
        await fixture.pass(2000);
        return found?.status === status && message.test(found.message) && gameNode;
      },
      { what: `Filled of ${name} to be ${status}` },
    );
  }

  async function placed(): Promise<string> {
    // A session of a game that no node holds.
    const { metadata } = await fixture.launch({ contentDigest: "d".repeat(64) });
    const session = await fixture.session(
      metadata.name,
      ({ status }) => status?.nodeName !== undefined,
      "placed session",
    );
    return session.status?.nodeName ?? "";
  }

  it("is chosen once it holds the pinned games, and reports progress until then", async () => {
    await filled(joining, "False");
    await eventually(
      async () => (await fixture.gameNodes.get({ name: joining })).status?.capacity?.schedulable,
      { what: "the node to take who finds no other place" },
    );
    expect([await placed(), await placed()]).to.deep.equal([known, known]);
    await fixture.components.report(joining, {
      entries: [there(first), aCacheEntry({ digest: second, state: "Downloading", progressPercent: 30 })],
    });
    await filled(joining, "False", /^1 of 2 pinned games are on the node, 65 % /);
    await fixture.components.report(joining, { entries: [there(first), there(second)] });
    await filled(joining, "True");
    expect(await placed(), "by then the one with fewer sessions").to.equal(joining);
  });

  it("accepts a launch that no other node has room for", async () => {
    await filled(joining, "False");
    expect([await placed(), await placed(), await placed()]).to.deep.equal([known, known, joining]);
  });

  it("is chosen after its fill deadline even if a pinned game is unavailable", async () => {
    await filled(joining, "False");
    const failed = aCacheEntry({ digest: second, state: "Failed", reason: "ArchiveRefused: it is broken." });
    await fixture.components.report(joining, { entries: [there(first), failed] });
    await filled(joining, "False", /^1 of 2/);
    await fixture.pass(limits.node.fillDeadlineSeconds * 1000);
    const gameNode = await filled(joining, "True", /1 of 2 .* when the time limit expired/);
    expect(findCondition(gameNode.status?.conditions, "Filled")?.reason).to.equal("NotInTime");
    for (const name of [known, joining]) await fixture.components.report(name, { entries: [there(first)] });
    expect(new Set([await placed(), await placed()])).to.deep.equal(new Set([known, joining]));
  });

  it("stays schedulable if a game is pinned later", async () => {
    await fixture.components.report(joining, { entries: [there(first), there(second)] });
    await filled(joining, "True");
    await fixture.createCache("later", { source: anArchiveSource("c".repeat(64)), pinned: true });
    await eventually(async () => (await fixture.gameNodes.get({ name: joining })).spec.desired.length === 3, {
      what: "the later game to be asked for",
    });
    await filled(joining, "True");
  });
});
