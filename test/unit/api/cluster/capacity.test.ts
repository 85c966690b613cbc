import { expect } from "chai";
import { offeredSlots } from "#api/cluster/capacity.ts";
import { aCondition, aGameSession, aRunningStatus } from "../../../factories/gameSession.ts";
import { aGameNode } from "../../../factories/gameNode.ts";

function aNode(slots: number, schedulable = true) {
  return aGameNode(`node-${slots}`, { status: { capacity: { slots, used: 0, schedulable } } });
}

describe("offeredSlots", () => {
  it("is the sum over the nodes that take sessions", () => {
    expect(offeredSlots([], [])).to.equal(0);
    expect(offeredSlots([aNode(2), aNode(3), aNode(5, false), aGameNode("new")], [])).to.equal(5);
  });

  it("excludes slots of an admin's own sessions, until they end", () => {
    const foreign = aGameSession({ metadata: { finalizers: [] }, status: aRunningStatus() });
    const finished = aGameSession({ metadata: { finalizers: [] }, status: aRunningStatus({ conditions: [aCondition("Finished")] }) });
    expect(offeredSlots([aNode(3)], [foreign, finished, aGameSession()])).to.equal(2);
  });
});
