import { expect } from "chai";
import { nodeTable } from "#kubectl/tables.ts";
import { aGameNode } from "#test/factories/gameNode.ts";
import { aCondition } from "#test/factories/gameSession.ts";

const now = new Date();
const whyOf = (status: object): string =>
  (
    nodeTable([{ ...aGameNode(), status: { ...aGameNode().status, ...status } }], [], now).split("\n")[1] ??
    ""
  )
    .split(/ {2,}/)
    .at(-1) ?? "";

/**
 * Returns the column HEARTBEAT of a node whose agent has renewed its Lease, and reported, so many seconds
 * ago.
 */
function heardOf({ renewed, reported }: { renewed?: number; reported?: number }): string | undefined {
  const ago = (seconds: number): string => new Date(now.getTime() - seconds * 1000).toISOString();
  const status = {
    ...aGameNode().status,
    ...(reported === undefined ? {} : { heartbeat: { renewedAt: ago(reported), agentVersion: "1" } }),
  };
  const leases =
    renewed === undefined ? [] : [{ metadata: { name: "node1" }, spec: { renewTime: ago(renewed) } }];
  const [head = "", row = ""] = nodeTable([{ ...aGameNode("node1"), status }], leases, now)
    .split("\n")
    .map((line) => line);
  return row.split(/ {2,}/)[head.split(/ {2,}/).indexOf("HEARTBEAT")];
}

describe("nodeTable", () => {
  it("shows the later heartbeat of the agent's Lease and its status", () => {
    expect(heardOf({ renewed: 7, reported: 600 })).to.equal("7s");
    expect(heardOf({ renewed: 600, reported: 7 }), "an agent of the release before").to.equal("7s");
    expect(heardOf({ reported: 7 })).to.equal("7s");
  });

  it("shows no reason for a node that accepts sessions", () => {
    const conditions = ["Ready", "StoreReachable", "RootExecutable", "PortsFree", "Reachable"].map((type) =>
      aCondition(type),
    );
    expect(whyOf({ conditions: [...conditions, aCondition("DiskPressure", { status: "False" })] })).to.equal(
      "-",
    );
  });

  it("shows failed checks and other faults", () => {
    const failed = aCondition("RootExecutable", {
      status: "False",
      reason: "MountedNoexec",
      message: "It is mounted noexec.",
    });
    expect(
      whyOf({
        conditions: [failed, aCondition("DiskPressure", { reason: "Full", message: "The disk is full." })],
      }),
    ).to.equal(
      "not RootExecutable (MountedNoexec) It is mounted noexec.; DiskPressure (Full) The disk is full.",
    );
  });

  it("shows why a node without faults accepts no sessions", () => {
    const unschedulable = { reason: "Cordoned", message: "The node is cordoned." };
    expect(
      whyOf({ conditions: [], capacity: { slots: 2, used: 0, schedulable: false, unschedulable } }),
    ).to.equal("The node is cordoned.");
  });
});
