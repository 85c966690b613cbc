import { expect } from "chai";
import { allowanceOf, limitsFor, presentPlayLimits } from "#api/gameSessions/playLimits/playAllowance.ts";

const hour = 3600;
const now = new Date("2030-05-31T22:30:00Z");
const played = {
  now,
  dayEndsAt: new Date("2030-06-01T00:00:00Z"),
  monthEndsAt: new Date("2030-06-01T00:00:00Z"),
  daySeconds: 1.5 * hour,
  monthSeconds: 39 * hour + 0.4,
};

describe("presentPlayLimits", () => {
  it("returns nothing without limits", () => {
    const none = { daySeconds: undefined, monthSeconds: undefined, timeZone: "UTC" };
    expect(presentPlayLimits(none, played)).to.deep.equal([]);
  });

  it("returns what is left of each limit, never less than nothing", () => {
    const limits = { daySeconds: hour, monthSeconds: 40 * hour, timeZone: "UTC" };
    expect(presentPlayLimits(limits, played)).to.deep.equal([
      {
        period: "day",
        limitSeconds: hour,
        playedSeconds: 1.5 * hour,
        remainingSeconds: 0,
        resetsAt: "2030-06-01T00:00:00.000Z",
      },
      {
        period: "month",
        limitSeconds: 40 * hour,
        playedSeconds: 39 * hour,
        remainingSeconds: hour - 1,
        resetsAt: "2030-06-01T00:00:00.000Z",
      },
    ]);
  });
});

describe("limitsFor", () => {
  const site = { daySeconds: hour, monthSeconds: undefined, timeZone: "UTC" };

  it("replaces the site's limit of each period by the groups'", () => {
    expect(limitsFor(site, { daySeconds: null, monthSeconds: null })).to.deep.equal(site);
    const groups = { daySeconds: 2 * hour, monthSeconds: 40 * hour };
    expect(limitsFor(site, groups)).to.deep.equal({ ...site, ...groups });
  });
});

describe("allowanceOf", () => {
  const limit = { period: "day", limitSeconds: 2 * hour, playedSeconds: 0 } as const;
  const resetsAt = played.dayEndsAt.toISOString();

  it("is what is left of the day", () => {
    expect(allowanceOf({ ...limit, remainingSeconds: hour, resetsAt }, now)).to.equal(hour);
  });

  it("includes the next day's time if the session outlasts the day", () => {
    expect(allowanceOf({ ...limit, remainingSeconds: 2 * hour, resetsAt }, now)).to.equal(3.5 * hour);
  });
});
