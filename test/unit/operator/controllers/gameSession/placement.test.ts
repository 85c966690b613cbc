import { expect } from "chai";
import { chooseNode, choosePort, type Candidate } from "#operator/controllers/gameSession/placement.ts";

const candidate = (nodeName: string, overrides: Partial<Candidate> = {}): Candidate => ({ nodeName, slots: 2, used: 0, content: "Absent", ...overrides });

describe("chooseNode", () => {
  const cases: [string, Candidate[], string | undefined][] = [
    ["no node when there is none", [], undefined],
    ["no node when all are full", [candidate("a", { used: 2 }), candidate("b", { slots: 0 })], undefined],
    ["the holder of the game before an idle node", [candidate("a"), candidate("b", { content: "Ready", used: 1 })], "b"],
    ["not a full holder", [candidate("a"), candidate("b", { content: "Ready", used: 2 })], "a"],
    ["one that is fetching it before one that is not", [candidate("a"), candidate("b", { content: "Downloading" })], "b"],
    ["one that failed to get it last", [candidate("a", { content: "Failed" }), candidate("b", { used: 1 })], "b"],
    ["the least loaded by share", [candidate("a", { slots: 2, used: 1 }), candidate("b", { slots: 8, used: 2 })], "b"],
    ["by name when all is equal", [candidate("b"), candidate("a")], "a"],
  ];
  for (const [what, candidates, chosen] of cases) {
    it(`takes ${what}`, () => expect(chooseNode(candidates)?.nodeName).to.equal(chosen));
  }
});

describe("choosePort", () => {
  const range = { first: 20_000, last: 20_002 };
  it("returns the lowest free port", () => {
    expect(choosePort(range, new Set())).to.equal(20_000);
    expect(choosePort(range, new Set([20_000, 20_002]))).to.equal(20_001);
  });
  it("returns undefined when all ports are taken", () => expect(choosePort(range, new Set([20_000, 20_001, 20_002]))).to.equal(undefined));
});
