import { expect } from "chai";
import { nodeTable } from "#kubectl/nodeTable.ts";
import { aGameNode } from "../../factories/gameNode.ts";
import { aCondition } from "../../factories/gameSession.ts";

const now = new Date();
const whyOf = (status: object): string => (nodeTable([{ ...aGameNode(), status: { ...aGameNode().status, ...status } }], now).split("\n")[1] ?? "").split(/ {2,}/).at(-1) ?? "";

describe("the table of nodes", () => {
  it("tells of a node that takes sessions nothing, however many checks it has passed", () => {
    const conditions = ["Ready", "StoreReachable", "RootExecutable", "PortsFree", "Reachable"].map((type) => aCondition(type));
    expect(whyOf({ conditions: [...conditions, aCondition("DiskPressure", { status: "False" })] })).to.equal("-");
  });

  it("tells which check keeps sessions away, and which fault there is", () => {
    const failed = aCondition("RootExecutable", { status: "False", reason: "MountedNoexec", message: "It is mounted noexec." });
    expect(whyOf({ conditions: [failed, aCondition("DiskPressure", { reason: "Full", message: "The disk is full." })] }))
      .to.equal("not RootExecutable (MountedNoexec) It is mounted noexec.; DiskPressure (Full) The disk is full.");
  });

  it("tells what keeps sessions away besides conditions", () => {
    const unschedulable = { reason: "Cordoned", message: "The node is cordoned." };
    expect(whyOf({ conditions: [], capacity: { slots: 2, used: 0, schedulable: false, unschedulable } })).to.equal("The node is cordoned.");
  });
});
