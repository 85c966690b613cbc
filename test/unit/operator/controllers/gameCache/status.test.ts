import { expect } from "chai";
import type { GameCacheSpec } from "#contracts/crd/gameCache.ts";
import type { CacheEntry } from "#contracts/crd/gameNode.ts";
import { aGameCache } from "#test/factories/gameCache.ts";
import { aCacheEntry } from "#test/factories/gameNode.ts";
import { after, createdAt } from "#test/factories/gameSession.ts";
import type { FillNode } from "#operator/content/fill.ts";
import { differenceOf, statusOf } from "#operator/controllers/gameCache/status.ts";

const node = (nodeName: string, entry?: Partial<CacheEntry>): FillNode => ({
  nodeName,
  labels: {},
  isSchedulable: true,
  entries: entry ? [aCacheEntry(entry)] : [],
});

describe("statusOf (GameCache)", () => {
  const cases: [string, Partial<GameCacheSpec>, FillNode[], string, string, string?][] = [
    ["all nodes hold it", {}, [node("a", {}), node("b", {})], "True AllNodesCached", "False Settled"],
    [
      "one node fetches it",
      {},
      [node("a", {}), node("b", { state: "Downloading" })],
      "False Filling",
      "True Filling",
    ],
    ["one node has not begun", {}, [node("a", {}), node("b")], "False Filling", "True Filling"],
    [
      "one node failed",
      {},
      [node("a", {}), node("b", { state: "Failed" })],
      "False NodesFailed",
      "False NodesFailed",
      "True NodesFailed",
    ],
    [
      "one node failed and another fetches it",
      {},
      [node("a", { state: "Downloading" }), node("b", { state: "Failed" })],
      "False NodesFailed",
      "True Filling",
    ],
    ["it is suspended", { suspend: true }, [node("a")], "False Filling", "False Suspended"],
    [
      "it is suspended after a node failed",
      { suspend: true },
      [node("a", { state: "Failed" })],
      "False NodesFailed",
      "False Suspended",
    ],
    ["there are no nodes", {}, [], "False NoGameNodes", "False Settled"],
    [
      "it is on demand and no node holds it",
      { placement: { policy: "OnDemand" } },
      [node("a")],
      "True OnDemand",
      "False Settled",
    ],
    [
      "it is on demand and one node holds it",
      { placement: { policy: "OnDemand" } },
      [node("a", {}), node("b")],
      "True AllNodesCached",
      "False Settled",
    ],
  ];
  for (const [what, spec, nodes, ready, progressing, stalled = "False NoFailure"] of cases) {
    it(`sets the conditions when ${what}`, () => {
      const { conditions } = statusOf(aGameCache({ spec }), nodes, after(0));
      const said = conditions?.map(({ type, status, reason }) => `${type}: ${status} ${reason}`);
      expect(said).to.deep.equal([`Ready: ${ready}`, `Progressing: ${progressing}`, `Stalled: ${stalled}`]);
    });
  }

  it("includes each node's report", () => {
    const status = statusOf(
      aGameCache(),
      [
        node("c"),
        node("a", { cachedAt: createdAt, progressPercent: 100 }),
        node("b", { state: "Downloading", progressPercent: 40 }),
        node("d", { state: "Failed", reason: "checksum" }),
      ],
      after(0),
    );
    expect(status).to.include({ totalNodes: 4, cachedNodes: 1, pendingNodes: 2, failedNodes: 1 });
    expect(
      status.nodes?.map((found) =>
        Object.fromEntries(Object.entries(found).filter(([name]) => name !== "digest")),
      ),
    ).to.deep.equal([
      { nodeName: "a", state: "Cached", cachedAt: createdAt },
      { nodeName: "b", state: "Downloading", progressPercent: 40 },
      { nodeName: "c", state: "Pending" },
      { nodeName: "d", state: "Failed", reason: "checksum" },
    ]);
  });

  it("stays within the object size limit when a thousand nodes report long failures", () => {
    const reason = `ArchiveRefused: ${"a/".repeat(504)}`;
    const nodes = Array.from({ length: 1000 }, (_, index) =>
      node(`node-${String(index).padStart(58, "0")}`, { state: "Failed", reason }),
    );
    const status = statusOf(aGameCache(), nodes, after(0));
    expect(status.nodes).to.have.length(1000);
    expect(status.nodes?.[0]?.reason).to.match(/^ArchiveRefused: a\//);
    // etcd's limit is 1.5 MiB, and Kubernetes adds the managed fields.
    expect(JSON.stringify(status).length).to.be.below(2 ** 20);
  });

  it("keeps the transition time of an unchanged condition", () => {
    const first = statusOf(aGameCache(), [node("a")], after(0));
    const later = statusOf(aGameCache({ status: first }), [node("a"), node("b")], after(60));
    expect(later.conditions?.[0]?.lastTransitionTime).to.equal(first.conditions?.[0]?.lastTransitionTime);
  });
});

describe("differenceOf (GameCache)", () => {
  const status = (progressPercent: number) =>
    statusOf(aGameCache(), [node("a", { state: "Downloading", progressPercent })], after(0));
  it("returns none for an identical status", () =>
    expect(differenceOf(status(10), status(10))).to.equal("none"));
  it("returns progress if only a percentage differs", () =>
    expect(differenceOf(status(10), status(20))).to.equal("progress"));
  it("returns major otherwise", () => {
    expect(differenceOf(undefined, status(10))).to.equal("major");
    expect(differenceOf(status(10), statusOf(aGameCache(), [node("a", {})], after(0)))).to.equal("major");
  });
});
