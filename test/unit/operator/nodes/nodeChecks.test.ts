import { expect } from "chai";
import type { Node } from "#kube/api/builtin.ts";
import type { Stored } from "#kube/api/object.ts";
import { aNode } from "#test/factories/gameNode.ts";
import { checksOf, failedCheck, type CheckRules } from "#operator/nodes/nodeChecks.ts";

const rules: CheckRules = {
  architecture: "amd64",
  mediaPorts: { first: 20_000, last: 20_002 },
  announceAddresses: [],
  hasRelay: false,
  countsOtherPods: true,
};

function withAddresses(...addresses: [type: string, address: string][]): Stored<Node> {
  return aNode("node1", { addresses: addresses.map(([type, address]) => ({ type, address })) });
}

function withArchitecture(architecture: string): Stored<Node> {
  const node = aNode();
  const others = {
    bootID: "",
    containerRuntimeVersion: "",
    kernelVersion: "",
    kubeProxyVersion: "",
    kubeletVersion: "",
    machineID: "",
    operatingSystem: "linux",
    osImage: "",
    systemUUID: "",
  };
  return { ...node, status: { ...node.status, nodeInfo: { ...others, architecture } } };
}

function found(
  type: string,
  node: Node,
  takenPorts: number[] = [],
  changed: Partial<CheckRules> = {},
): string | undefined {
  const check = checksOf(node, new Set(takenPorts), { ...rules, ...changed }).find(
    (finding) => finding.type === type,
  );
  return check && `${check.status} ${check.reason}`;
}

describe("checksOf", () => {
  const addresses: [string, Stored<Node>, Partial<CheckRules>, string][] = [
    [
      "a public address",
      withAddresses(["InternalIP", "10.0.0.1"], ["ExternalIP", "203.0.113.7"]),
      {},
      "True PublicAddress",
    ],
    [
      "a public address of type InternalIP",
      withAddresses(["InternalIP", "203.0.113.7"]),
      {},
      "True PublicAddress",
    ],
    [
      "a public IPv6 address",
      withAddresses(["InternalIP", "10.0.0.1"], ["InternalIP", "2001:db8::7"]),
      {},
      "True PublicAddress",
    ],
    [
      "private addresses",
      withAddresses(["InternalIP", "192.168.1.5"], ["InternalIP", "fd00::5"]),
      {},
      "Unknown PrivateAddress",
    ],
    [
      "a carrier-grade NAT address",
      withAddresses(["InternalIP", "100.64.3.3"]),
      {},
      "Unknown PrivateAddress",
    ],
    [
      "private addresses and a relay",
      withAddresses(["InternalIP", "10.0.0.1"]),
      { hasRelay: true },
      "True Relayed",
    ],
    [
      "private addresses and a configured one",
      withAddresses(["InternalIP", "10.0.0.1"]),
      { announceAddresses: ["203.0.113.9"] },
      "True AddressGiven",
    ],
    ["only a host name", withAddresses(["Hostname", "node1"]), {}, "False NoAddress"],
  ];
  for (const [what, node, changed, expected] of addresses) {
    it(`returns ${expected} for a node with ${what}`, () =>
      expect(found("Reachable", node, [], changed)).to.equal(expected));
  }

  const architectures: [string, string, string][] = [
    ["amd64", "amd64", "True Supported"],
    ["arm64", "amd64", "False OtherArchitecture"],
    ["arm64", "arm64", "True Supported"],
    ["", "amd64", "Unknown NotReported"],
  ];
  for (const [architecture, wanted, expected] of architectures) {
    it(`returns ${expected} for architecture "${architecture}" if games need ${wanted}`, () => {
      expect(
        found("ArchitectureSupported", withArchitecture(architecture), [], { architecture: wanted }),
      ).to.equal(expected);
    });
  }

  const ports: [string, number[], Partial<CheckRules>, string][] = [
    ["no port", [], {}, "True Free"],
    ["a port outside the range", [19_999], {}, "True Free"],
    ["one port", [20_001], {}, "True SomeTaken"],
    ["all ports", [20_000, 20_001, 20_002, 30_000], {}, "False AllTaken"],
    ["uncounted ports", [20_000, 20_001, 20_002], { countsOtherPods: false }, "Unknown NotCounted"],
  ];
  for (const [what, taken, changed, expected] of ports) {
    it(`returns ${expected} if other pods take ${what}`, () =>
      expect(found("PortsFree", aNode(), taken, changed)).to.equal(expected));
  }

  it("names both settings that disable the check of other pods", () => {
    const check = checksOf(aNode(), new Set(), { ...rules, countsOtherPods: false }).find(
      ({ type }) => type === "PortsFree",
    );
    expect(check?.message)
      .to.contain("gameNodes.countOtherPods")
      .and.contain("sessions.pods.priorityClassName");
  });
});

describe("failedCheck", () => {
  const condition = (type: string, status: "True" | "False" | "Unknown") => ({
    type,
    status,
    reason: `${type}${status}`,
    message: `${type}.`,
  });

  it("returns the first failed check, and undefined for unknown results", () => {
    expect(failedCheck(undefined)).to.equal(undefined);
    expect(failedCheck([condition("RootExecutable", "Unknown"), condition("ClockInStep", "True")])).to.equal(
      undefined,
    );
    expect(
      failedCheck([condition("ClockInStep", "False"), condition("RootExecutable", "False")])?.reason,
    ).to.equal("RootExecutableFalse");
  });

  it("ignores a missing address and an unreachable object store", () => {
    expect(failedCheck([condition("Reachable", "False"), condition("StoreReachable", "False")])).to.equal(
      undefined,
    );
  });
});
