import { expect } from "chai";
import { type Condition, findCondition, isConditionTrue, setCondition } from "#kube/api/conditions.ts";

const early = new Date("2030-01-01T10:00:00.750Z");
const late = new Date("2030-01-01T11:00:00Z");
const update = {
  type: "Ready",
  status: "False",
  reason: "Starting",
  message: "",
  observedGeneration: 1,
} as const;

describe("setCondition", () => {
  it("adds a missing condition with its time in whole seconds", () => {
    expect(setCondition(undefined, update, early)).to.deep.equal([
      { ...update, lastTransitionTime: "2030-01-01T10:00:00Z" },
    ]);
  });

  it("changes the time only when the status changes", () => {
    const first = setCondition<Condition>([], update, early);
    const sameStatus = setCondition<Condition>(
      first,
      { ...update, reason: "Pulling", observedGeneration: 2 },
      late,
    );
    expect(findCondition(sameStatus, "Ready")).to.include({
      reason: "Pulling",
      observedGeneration: 2,
      lastTransitionTime: "2030-01-01T10:00:00Z",
    });
    const changed = setCondition<Condition>(sameStatus, { ...update, status: "True" }, late);
    expect(findCondition(changed, "Ready")?.lastTransitionTime).to.equal("2030-01-01T11:00:00Z");
    expect(isConditionTrue(changed, "Ready")).to.equal(true);
  });

  it("keeps the order and the other conditions, and does not modify the given list", () => {
    const two = setCondition<Condition>(
      setCondition<Condition>([], update, early),
      { ...update, type: "Stored" },
      early,
    );
    const next = setCondition<Condition>(two, { ...update, status: "True" }, late);
    expect(next.map(({ type, status }) => `${type} ${status}`)).to.deep.equal(["Ready True", "Stored False"]);
    expect(two[0]?.status).to.equal("False");
    expect(next[1]).to.equal(two[1]);
  });
});
