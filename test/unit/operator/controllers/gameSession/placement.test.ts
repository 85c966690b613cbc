import { expect } from "chai";
import {
  chooseNode,
  choosePort,
  noNodeReason,
  type Candidate,
} from "#operator/controllers/gameSession/placement.ts";

const candidate = (nodeName: string, overrides: Partial<Candidate> = {}): Candidate => ({
  nodeName,
  slots: 2,
  used: 0,
  content: "Absent",
  isFilling: false,
  left: { cpuMillicores: 4000, memoryBytes: gibibytes(8) },
  ...overrides,
});
const needed = { slots: 1, cpuMillicores: 750, memoryBytes: gibibytes(1) };

function gibibytes(count: number): number {
  return count * 2 ** 30;
}

describe("chooseNode", () => {
  const cases: [string, Candidate[], string | undefined][] = [
    ["no node when there is none", [], undefined],
    ["no node when all are full", [candidate("a", { used: 2 }), candidate("b", { slots: 0 })], undefined],
    [
      "the holder of the game before an idle node",
      [candidate("a"), candidate("b", { content: "Ready", used: 1 })],
      "b",
    ],
    [
      "another node rather than a new one that is being filled",
      [candidate("a", { isFilling: true, content: "Ready" }), candidate("b", { used: 1 })],
      "b",
    ],
    [
      "a new node that is being filled if no other has room",
      [candidate("a", { isFilling: true }), candidate("b", { used: 2 })],
      "a",
    ],
    [
      "a node without the game if the holder is full",
      [candidate("a"), candidate("b", { content: "Ready", used: 2 })],
      "a",
    ],
    [
      "a node that fetches the game before one that does not",
      [candidate("a"), candidate("b", { content: "Downloading" })],
      "b",
    ],
    [
      "a node that failed to fetch the game last",
      [candidate("a", { content: "Failed" }), candidate("b", { used: 1 })],
      "b",
    ],
    [
      "the least loaded by share",
      [candidate("a", { slots: 2, used: 1 }), candidate("b", { slots: 8, used: 2 })],
      "b",
    ],
    ["the first node by name among equals", [candidate("b"), candidate("a")], "a"],
    [
      "no holder of the game that lacks the memory",
      [
        candidate("a", { used: 1 }),
        candidate("b", { content: "Ready", left: { cpuMillicores: 4000, memoryBytes: gibibytes(1) - 1 } }),
      ],
      "a",
    ],
    [
      "no node that lacks the CPU",
      [
        candidate("a", { left: { cpuMillicores: 749, memoryBytes: gibibytes(8) } }),
        candidate("b", { used: 1 }),
      ],
      "b",
    ],
    ["a node with exactly enough room", [candidate("a", { left: needed })], "a"],
    ["no node if none has room", [candidate("a", { left: { ...needed, memoryBytes: 0 } })], undefined],
  ];
  for (const [what, candidates, chosen] of cases) {
    it(`chooses ${what}`, () => expect(chooseNode(candidates, needed)?.nodeName).to.equal(chosen));
  }

  it("skips nodes with fewer free slots than the session's GPU shares", () => {
    const candidates = [candidate("a", { used: 1 }), candidate("b", { slots: 4, used: 2 })];
    expect(chooseNode(candidates, { ...needed, slots: 2 })?.nodeName).to.equal("b");
    expect(chooseNode(candidates, { ...needed, slots: 3 })).to.equal(undefined);
  });
});

describe("noNodeReason", () => {
  const short = candidate("a", { left: { cpuMillicores: 4000, memoryBytes: gibibytes(0.5) } });

  it("distinguishes no nodes, no free slots and no room", () => {
    expect(noNodeReason([], needed)).to.include({ reason: "NoGameNodes" });
    expect(noNodeReason([candidate("a", { used: 2 })], needed)).to.deep.equal({
      reason: "NoCapacity",
      message: "All slots of 1 game nodes are in use.",
    });
    expect(noNodeReason([short, candidate("b", { used: 2 })], needed)).to.include({
      reason: "InsufficientResources",
    });
  });

  it("names the pod's requests and the nodes with the most free resources", () => {
    const nodes = [1, 2, 3, 4].map((number) =>
      candidate(`n${number}`, { left: { cpuMillicores: 100 * number, memoryBytes: gibibytes(number / 8) } }),
    );
    expect(noNodeReason(nodes, needed).message).to.equal(
      "No game node with free slots has enough free resources for the session's pod, which requests 1024 MiB of memory and 750m processors: n4 has 512 MiB and 400m, n3 has 384 MiB and 300m, n2 has 256 MiB and 200m, and others less.",
    );
  });
});

describe("choosePort", () => {
  const range = { first: 20_000, last: 20_002 };
  it("returns the lowest free port", () => {
    expect(choosePort(range, new Set())).to.equal(20_000);
    expect(choosePort(range, new Set([20_000, 20_002]))).to.equal(20_001);
  });
  it("returns undefined if all ports are taken", () =>
    expect(choosePort(range, new Set([20_000, 20_001, 20_002]))).to.equal(undefined));
});
