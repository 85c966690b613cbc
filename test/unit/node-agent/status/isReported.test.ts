import { expect } from "chai";
import { isReported, type NodeReport } from "#node-agent/status/nodeReporter.ts";
import { aCacheEntry } from "#test/factories/gameNode.ts";
import { aCondition, aDigest } from "#test/factories/gameSession.ts";

const report: NodeReport = {
  conditions: [aCondition("StoreReachable"), aCondition("DiskPressure", { status: "False" })],
  cache: {
    capacityBytes: 1000,
    freeBytes: 500,
    entries: [aCacheEntry(), aCacheEntry({ digest: "b".repeat(64), inUse: true })],
  },
  heartbeat: { renewedAt: "2030-01-01T10:00:00Z", agentVersion: "1" },
};

describe("isReported", () => {
  const same: [string, Partial<NodeReport>][] = [
    ["the time of the report", { heartbeat: { ...report.heartbeat, renewedAt: "2031-01-01T10:00:00Z" } }],
    ["the order of the entries", { cache: { ...report.cache, entries: report.cache.entries.toReversed() } }],
    [
      "a change of the free space by a hundredth of the cache",
      { cache: { ...report.cache, freeBytes: 490 } },
    ],
  ];
  for (const [what, change] of same) {
    it(`returns true for ${what}`, () => expect(isReported(report, { ...report, ...change })).to.equal(true));
  }

  const [first = aCacheEntry(), second = aCacheEntry()] = report.cache.entries;
  const different: [string, Partial<NodeReport>][] = [
    ["another agent", { heartbeat: { ...report.heartbeat, agentVersion: "2" } }],
    [
      "a condition that has changed",
      {
        conditions: [
          aCondition("StoreReachable", { status: "False" }),
          aCondition("DiskPressure", { status: "False" }),
        ],
      },
    ],
    [
      "another message",
      {
        conditions: [
          aCondition("StoreReachable", { message: "It answers." }),
          aCondition("DiskPressure", { status: "False" }),
        ],
      },
    ],
    ["a new condition", { conditions: [...report.conditions, aCondition("RootWritable")] }],
    ["a removed version", { cache: { ...report.cache, entries: [first] } }],
    [
      "another version",
      { cache: { ...report.cache, entries: [first, { ...second, digest: "c".repeat(64) }] } },
    ],
    [
      "the progress of a download",
      { cache: { ...report.cache, entries: [first, { ...second, progressPercent: 50 }] } },
    ],
    ["more free space", { cache: { ...report.cache, freeBytes: 511 } }],
    ["another size of the cache", { cache: { ...report.cache, capacityBytes: 2000 } }],
  ];
  for (const [what, change] of different) {
    it(`returns false for ${what}`, () =>
      expect(isReported(report, { ...report, ...change })).to.equal(false));
  }

  it("returns false without a report, or with only the operator's part", () => {
    expect(isReported(undefined, report)).to.equal(false);
    expect(isReported({ conditions: [aCondition("Ready")], observedGeneration: 1 }, report)).to.equal(false);
  });

  it("ignores fields that others report", () => {
    expect(
      isReported(
        { ...report, conditions: [...report.conditions, aCondition("Ready")], observedGeneration: 1 },
        report,
      ),
    ).to.equal(true);
    expect(first.digest).to.equal(aDigest);
  });
});
