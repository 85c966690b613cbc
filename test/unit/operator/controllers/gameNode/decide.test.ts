import { expect } from "chai";
import { aGameNode, aNode } from "#test/factories/gameNode.ts";
import { aDigest, after } from "#test/factories/gameSession.ts";
import { anArchiveSource } from "#test/factories/gameCache.ts";
import {
  differenceOf, fateOf, isSameDesired, statusOf, type NodeWorld,
} from "#operator/controllers/gameNode/decide.ts";

const rules = { gameNodeSelector: { "nvidia.com/gpu.present": "true" }, gpuResourceName: undefined, softwareSlots: 2 };
const world = (overrides: Partial<NodeWorld> = {}): NodeWorld => ({ node: aNode(), gameNode: aGameNode(), hasHeartbeat: true, used: 0, rules, now: after(0), ...overrides });
const unlabelled = aNode("node1", { labels: { "nvidia.com/gpu.present": "false" } });

describe("fateOf a node", () => {
  const cases: [string, Partial<NodeWorld>, string][] = [
    ["a game node", {}, "keep"],
    ["a game node that is away", { node: aNode("node1", { isReady: false }), hasHeartbeat: false }, "keep"],
    ["without the label", { node: unlabelled }, "remove"],
    ["without the label, with a session", { node: unlabelled, used: 1 }, "drain"],
    ["gone", { node: undefined, used: 1 }, "remove"],
  ];
  for (const [what, given, fate] of cases) it(`${what}: ${fate}`, () => expect(fateOf(world(given))).to.equal(fate));
});

describe("statusOf a node", () => {
  const cases: [string, Partial<NodeWorld>, "keep" | "drain", boolean, string][] = [
    ["well", {}, "keep", true, "True NodeAndAgentWell"],
    ["not ready", { node: aNode("node1", { isReady: false }) }, "keep", false, "False NodeNotReady"],
    ["with a silent agent", { hasHeartbeat: false }, "keep", false, "False AgentSilent"],
    ["cordoned", { node: aNode("node1", { isCordoned: true }) }, "keep", false, "True NodeAndAgentWell"],
    ["draining", { used: 1 }, "drain", false, "True NodeAndAgentWell"],
  ];
  for (const [what, given, fate, schedulable, ready] of cases) {
    it(`of one that is ${what}`, () => {
      const { capacity, conditions } = statusOf(world(given), fate);
      expect(capacity?.schedulable).to.equal(schedulable);
      expect(conditions?.map(({ type, status, reason }) => `${type} ${status} ${reason}`)).to.deep.equal([`Ready ${ready}`]);
    });
  }

  const slots: [string | undefined, Record<string, string> | undefined, number][] = [
    [undefined, undefined, 2], ["nvidia.com/gpu", { "nvidia.com/gpu": "4" }, 4], ["nvidia.com/gpu", undefined, 0], ["nvidia.com/gpu", { "nvidia.com/gpu": "many" }, 0],
  ];
  for (const [gpuResourceName, allocatable, count] of slots) {
    it(`counts ${count} slots for ${gpuResourceName ?? "software"} of ${JSON.stringify(allocatable)}`, () => {
      const node = aNode("node1", allocatable ? { allocatable } : {});
      expect(statusOf(world({ node, rules: { ...rules, gpuResourceName } }), "keep").capacity?.slots).to.equal(count);
    });
  }

  it("tells IP addresses and leaves names out", () => {
    const node = aNode("node1", { addresses: [{ type: "ExternalIP", address: "198.51.100.7" }, { type: "InternalIP", address: "fd00::1" }, { type: "Hostname", address: "node1" }] });
    expect(statusOf(world({ node }), "keep").addresses).to.deep.equal({ external: "198.51.100.7", internal: "fd00::1" });
    const named = aNode("node1", { addresses: [{ type: "InternalIP", address: "node1.example" }] });
    expect(statusOf(world({ node: named }), "keep")).to.not.have.property("addresses");
  });
});

describe("differenceOf a GameNode and its status", () => {
  const current = statusOf(world(), "keep");
  const gameNode = aGameNode("node1", { status: current });
  it("is none for the same", () => expect(differenceOf(gameNode, current)).to.equal("none"));
  it("is used when only the count differs", () => expect(differenceOf(gameNode, statusOf(world({ used: 1 }), "keep"))).to.equal("used"));
  it("is news otherwise", () => {
    expect(differenceOf(gameNode, statusOf(world({ hasHeartbeat: false }), "keep"))).to.equal("news");
    expect(differenceOf(undefined, current)).to.equal("news");
  });
});

describe("isSameDesired", () => {
  const want = (digest: string) => ({ digest, source: anArchiveSource(digest), priority: 0, pinned: false, hold: false });
  const [first, second] = [want(aDigest), want("c".repeat(64))];
  it("does not mind the order", () => expect(isSameDesired([first, second], [second, first])).to.equal(true));
  it("minds everything else", () => {
    expect(isSameDesired([first], [{ ...first, hold: true }])).to.equal(false);
    expect(isSameDesired([first], [])).to.equal(false);
    expect(isSameDesired(undefined, [])).to.equal(false);
  });
});
