import { expect } from "chai";
import { countRow, isAsDecided, table, type BenchRow } from "#test/bench/row.ts";

/** A count that misses its target of 9. */
function missed(writes: number): BenchRow {
  return {
    ...countRow("writes", writes, 9),
    accepted: { bound: "≤ 13", isKept: writes <= 13, decision: 36 },
  };
}

describe("a row of the bench", () => {
  it("fails when its target is missed", () => {
    const row = countRow("writes", 10, 9);
    expect(isAsDecided(row)).to.equal(false);
    expect(table([row])).to.match(/FAIL$/);
  });

  it("passes when its target holds", () => {
    expect(isAsDecided(missed(9))).to.equal(true);
    expect(table([missed(9)])).to.match(/PASS$/);
  });

  it("tells a missed target that a decision accepts, and does not call it passed", () => {
    expect(isAsDecided(missed(13))).to.equal(true);
    expect(table([missed(13)])).to.match(/missed; ≤ 13 is accepted \(decision 36\)$/);
  });

  it("fails beyond what the decision accepts", () => {
    expect(isAsDecided(missed(14))).to.equal(false);
    expect(table([missed(14)])).to.match(/FAIL, also of ≤ 13 \(decision 36\)$/);
  });
});
