import { expect } from "chai";
import { clockOffset } from "#kube/client/transport.ts";

describe("clockOffset", () => {
  const at = (seconds: number): Date => new Date(Date.UTC(2030, 0, 1, 10, 0, 0) + seconds * 1000);
  const cases: [what: string, sent: number, received: number, offsetMs: number][] = [
    ["clocks that agree", 0.4, 0.5, 0],
    ["a response within the header's second", 0.9, 1.2, 0],
    ["a response that took long", -20, 30, 0],
    ["a clock that is ahead", 90, 90.1, 89_000],
    ["a clock that is behind", -90, -89.5, -89_500],
  ];
  for (const [what, sent, received, offsetMs] of cases) {
    it(`returns the certain part of the offset for ${what}`, () =>
      expect(
        clockOffset("Tue, 01 Jan 2030 10:00:00 GMT", at(sent), at(received)) ?? Number.NaN,
      ).to.be.closeTo(offsetMs, 0));
  }

  it("returns undefined without a date", () => {
    expect([clockOffset(undefined, at(0), at(0)), clockOffset("today", at(0), at(0))]).to.deep.equal([
      undefined,
      undefined,
    ]);
  });
});
