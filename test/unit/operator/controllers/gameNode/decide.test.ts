import { expect } from "chai";
import type { Node } from "#kube/api/builtin.ts";
import type { Stored } from "#kube/api/object.ts";
import { aGameNode, aNode } from "#test/factories/gameNode.ts";
import { aDigest, after } from "#test/factories/gameSession.ts";
import { anArchiveSource } from "#test/factories/gameCache.ts";
import {
  differenceOf,
  isSameDesired,
  nodeActionFor,
  statusOf,
  type NodeWorld,
} from "#operator/controllers/gameNode/decide.ts";

const rules = {
  gameNodeSelector: [{ key: "nvidia.com/gpu.present", operator: "In" as const, values: ["true"] }],
  sessionNodeSelector: {},
  gpu: undefined,
  tolerations: [{ key: "nvidia.com/gpu", operator: "Exists" as const, effect: "NoSchedule" as const }],
  softwareSlots: 2,
  architecture: "amd64",
  mediaPorts: { first: 20_000, last: 20_002 },
  announceAddresses: [],
  hasRelay: false,
  countsOtherPods: true,
};
const world = (overrides: Partial<NodeWorld> = {}): NodeWorld => ({
  node: aNode(),
  gameNode: aGameNode(),
  pinned: [],
  fillDeadlineMs: 900_000,
  hasHeartbeat: true,
  health: "Healthy",
  used: 0,
  offered: undefined,
  overhead: { cpuMillicores: 250, memoryBytes: 2 ** 28 },
  hasPendingSave: false,
  takenPorts: new Set(),
  rules,
  now: after(0),
  ...overrides,
});
const unlabelled = aNode("node1", { labels: { "nvidia.com/gpu.present": "false" } });

describe("nodeActionFor", () => {
  const cases: [string, Partial<NodeWorld>, string][] = [
    ["a game node", {}, "keep"],
    [
      "a game node that does not report",
      { node: aNode("node1", { isReady: false }), hasHeartbeat: false },
      "keep",
    ],
    ["a node without the label", { node: unlabelled }, "remove"],
    ["a node without the label that has a session", { node: unlabelled, used: 1 }, "drain"],
    ["a node without the label that has a save alone", { node: unlabelled, hasPendingSave: true }, "drain"],
    ["a node that is gone", { node: undefined, used: 1 }, "remove"],
  ];
  for (const [what, given, action] of cases)
    it(`returns ${action} for ${what}`, () => expect(nodeActionFor(world(given))).to.equal(action));
});

function tainted(key: string, effect: string): Stored<Node> {
  const node = aNode();
  return { ...node, spec: { ...node.spec, taints: [{ key, effect }] } };
}

describe("statusOf (GameNode)", () => {
  const cases: [string, Partial<NodeWorld>, "keep" | "drain", boolean, string][] = [
    ["healthy", {}, "keep", true, "True NodeAndAgentWell"],
    ["not ready", { node: aNode("node1", { isReady: false }) }, "keep", false, "False NodeNotReady"],
    ["with a silent agent", { hasHeartbeat: false }, "keep", false, "False AgentSilent"],
    ["cordoned", { node: aNode("node1", { isCordoned: true }) }, "keep", false, "True NodeAndAgentWell"],
    [
      "tainted",
      { node: tainted("games.example/upgrade", "NoExecute") },
      "keep",
      false,
      "True NodeAndAgentWell",
    ],
    [
      "kept for GPUs",
      { node: tainted("nvidia.com/gpu", "NoSchedule") },
      "keep",
      true,
      "True NodeAndAgentWell",
    ],
    [
      "short of memory",
      { node: tainted("node.kubernetes.io/memory-pressure", "NoSchedule") },
      "keep",
      false,
      "True NodeAndAgentWell",
    ],
    [
      "short of disk",
      { node: tainted("node.kubernetes.io/disk-pressure", "NoSchedule") },
      "keep",
      false,
      "True NodeAndAgentWell",
    ],
    [
      "well again, and still has the taint of a node that was not",
      { node: tainted("node.kubernetes.io/not-ready", "NoExecute") },
      "keep",
      true,
      "True NodeAndAgentWell",
    ],
    [
      "rather not for other pods",
      { node: tainted("games.example/upgrade", "PreferNoSchedule") },
      "keep",
      true,
      "True NodeAndAgentWell",
    ],
    ["draining", { used: 1 }, "drain", false, "True NodeAndAgentWell"],
  ];
  for (const [what, given, action, schedulable, ready] of cases) {
    it(`reports whether a node that is ${what} is ready and schedulable`, () => {
      const { capacity, conditions } = statusOf(world(given), action);
      expect(capacity?.schedulable).to.equal(schedulable);
      expect(conditions?.map(({ type, status, reason }) => `${type} ${status} ${reason}`)).to.deep.equal([
        `Ready ${ready}`,
        `Draining ${action === "drain" ? "True LabelRemoved" : "False GameNode"}`,
        "Lost False Heard",
        "Filled True PinnedGamesHeld",
        "GpuNotShared False SoftwareRendering",
        "ArchitectureSupported Unknown NotReported",
        "PortsFree True Free",
        "Reachable True PublicAddress",
      ]);
    });
  }

  it("reports why a node takes no sessions: its state first, then the first failed check of the operator or the agent", () => {
    const gameNode = aGameNode("node1", {
      status: {
        conditions: [
          {
            type: "ClockInStep",
            status: "False",
            reason: "OutOfStep",
            message: "Late.",
            lastTransitionTime: "2030-01-01T10:00:00Z",
          },
        ],
      },
    });
    const why = (given: Partial<NodeWorld>) => statusOf(world(given), "keep").capacity?.unschedulable;
    expect(why({})).to.equal(undefined);
    expect(why({ gameNode })).to.deep.equal({ reason: "OutOfStep", message: "Late." });
    expect(why({ takenPorts: new Set([20_000, 20_001, 20_002]) })?.reason).to.equal("AllTaken");
    expect(why({ gameNode, node: aNode("node1", { isCordoned: true }) })?.reason).to.equal("NodeCordoned");
    expect(why({ node: tainted("node.kubernetes.io/disk-pressure", "NoSchedule") })).to.deep.equal({
      reason: "NodeTainted",
      message: "The node has the taint node.kubernetes.io/disk-pressure, which session pods do not tolerate.",
    });
    expect(statusOf(world({ used: 1 }), "drain").capacity?.unschedulable?.reason).to.equal("LabelRemoved");
  });

  it("treats a new node as schedulable while it downloads its pinned games, because unschedulable nodes download last", () => {
    const pinned = [{ digest: aDigest, source: anArchiveSource(), priority: 0, pinned: true, hold: true }];
    const { capacity, conditions } = statusOf(world({ pinned }), "keep");
    expect(conditions?.find(({ type }) => type === "Filled")).to.include({
      status: "False",
      reason: "Filling",
    });
    expect(capacity).to.deep.include({ schedulable: true });
  });

  const silent = { node: aNode("node1", { isReady: false }), hasHeartbeat: false };
  const losses: [string, Partial<NodeWorld>, string][] = [
    ["silent", { ...silent, health: "Lost" }, "True Silent"],
    ["silent with many others", { ...silent, health: "Unknown" }, "Unknown BrakeHolds"],
    ["heard by one signal", { node: silent.node, health: "Unknown" }, "False Heard"],
    [
      "declared lost before the operator's start, and not heard since",
      { node: silent.node, health: "Lost" },
      "True Silent",
    ],
  ];
  for (const [what, given, lost] of losses) {
    it(`reports whether a node that is ${what} is lost`, () => {
      const { status, reason } =
        statusOf(world(given), "keep").conditions?.find(({ type }) => type === "Lost") ?? {};
      expect(`${status} ${reason}`).to.equal(lost);
    });
  }

  it("uses the configured slots without GPUs, and the node's devices divided by a session's with GPUs", () => {
    expect(statusOf(world(), "keep").capacity?.slots).to.equal(2);
    const devices = { resourceName: "nvidia.com/gpu", count: 1 };
    const gpu = {
      game: devices,
      streamer: devices,
      claim: undefined,
      runtimeClass: undefined,
      driverCapabilities: undefined,
      groups: [],
    };
    const node = aNode("node1", { allocatable: { "nvidia.com/gpu": "4" } });
    const { capacity, conditions } = statusOf(world({ node, rules: { ...rules, gpu } }), "keep");
    expect(capacity?.slots).to.equal(2);
    expect(conditions?.find(({ type }) => type === "GpuNotShared")).to.include({
      status: "False",
      reason: "Shared",
    });
  });

  it("includes IP addresses and omits host names", () => {
    const node = aNode("node1", {
      addresses: [
        { type: "ExternalIP", address: "198.51.100.7" },
        { type: "InternalIP", address: "fd00::1" },
        { type: "Hostname", address: "node1" },
      ],
    });
    expect(statusOf(world({ node }), "keep").addresses).to.deep.equal({
      external: "198.51.100.7",
      internal: "fd00::1",
      announced: ["198.51.100.7", "fd00::1"],
    });
    const named = aNode("node1", { addresses: [{ type: "InternalIP", address: "node1.example" }] });
    expect(statusOf(world({ node: named }), "keep")).to.not.have.property("addresses");
  });

  it("lists the addresses that its sessions announce, in order", () => {
    const addresses = [
      ["InternalIP", "10.0.0.1"],
      ["ExternalIP", "198.51.100.7"],
      ["ExternalIP", "2001:db8::1"],
    ].map(([type = "", address = ""]) => ({ type, address }));
    const node = aNode("node1", { addresses, annotations: { "joypod.dev/announce-address": "203.0.113.7" } });
    const given = world({ node, rules: { ...rules, announceAddresses: ["203.0.113.1"] } });
    expect(statusOf(given, "keep").addresses?.announced).to.deep.equal([
      "203.0.113.1",
      "203.0.113.7",
      "198.51.100.7",
      "2001:db8::1",
      "10.0.0.1",
    ]);
  });
});

describe("differenceOf (GameNode)", () => {
  const current = statusOf(world(), "keep");
  const gameNode = aGameNode("node1", { status: current });
  it("returns none for an identical status", () => expect(differenceOf(gameNode, current)).to.equal("none"));
  it("returns used if only the session count differs", () =>
    expect(differenceOf(gameNode, statusOf(world({ used: 1 }), "keep"))).to.equal("used"));
  it("returns minor if the observed generation or the capacity left by other pods differs", () => {
    const written = aGameNode("node1", {
      status: { ...current, observedGeneration: (current.observedGeneration ?? 0) - 1 },
    });
    expect(differenceOf(written, current)).to.equal("minor");
    expect(
      differenceOf(
        gameNode,
        statusOf(world({ used: 1, offered: { cpuMillicores: 1_000, memoryBytes: 2 ** 30 } }), "keep"),
      ),
    ).to.equal("minor");
  });
  it("returns minor if a condition's message differs with the same reason, such as another address", () => {
    const reworded = {
      ...current,
      conditions: current.conditions?.map((condition) => ({
        ...condition,
        message: `${condition.message} And more.`,
      })),
    };
    expect(differenceOf(gameNode, reworded)).to.equal("minor");
  });
  it("returns major otherwise", () => {
    expect(differenceOf(gameNode, statusOf(world({ hasHeartbeat: false }), "keep"))).to.equal("major");
    expect(differenceOf(gameNode, statusOf(world({ health: "Lost" }), "keep"))).to.equal("major");
    expect(differenceOf(undefined, current)).to.equal("major");
  });
});

describe("isSameDesired", () => {
  const want = (digest: string) => ({
    digest,
    source: anArchiveSource(digest),
    priority: 0,
    pinned: false,
    hold: false,
  });
  const [first, second] = [want(aDigest), want("c".repeat(64))];
  it("ignores the order", () => expect(isSameDesired([first, second], [second, first])).to.equal(true));
  it("returns false for any other difference", () => {
    expect(isSameDesired([first], [{ ...first, hold: true }])).to.equal(false);
    expect(isSameDesired([first], [])).to.equal(false);
    expect(isSameDesired(undefined, [])).to.equal(false);
  });
});
