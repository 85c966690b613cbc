import { expect } from "chai";
import fc from "fast-check";
import { keptVersions } from "#api/saves/sweepPlan.ts";
import type { SaveVersion } from "#api/saves/saveVersionQueries.ts";

const hourMs = 3600_000;
const dayMs = 24 * hourMs;
const now = new Date("2030-01-31T12:00:00Z");
const rule = { versionsKept: 3, dailyVersionsDays: 5, retentionMs: 2 * dayMs };

type Version = Pick<SaveVersion, "id" | "kind" | "storedAt" | "supersededAt">;

/** A version that came so many hours ago and was superseded at once, unless said otherwise. */
function aVersion(hoursAgo: number, overrides: Partial<Version> = {}): Version {
  const storedAt = new Date(now.getTime() - hoursAgo * hourMs);
  return {
    id: `${overrides.kind ?? "played"} ${hoursAgo}`,
    kind: "played",
    storedAt,
    supersededAt: overrides.kind === "conflict" ? null : storedAt,
    ...overrides,
  };
}

function keptOf(versions: Version[]): string[] {
  return keptVersions(versions, rule, now).map(({ id }) => id);
}

describe("keptVersions", () => {
  const lastThree = [aVersion(2), aVersion(3), aVersion(4)];

  it("keeps the last ones of any kind, newest first", () => {
    const versions = [
      aVersion(5),
      aVersion(4, { kind: "requested" }),
      aVersion(3, { kind: "restored" }),
      aVersion(2, { kind: "imported" }),
    ];
    expect(keptOf(versions)).to.deep.equal(["imported 2", "restored 3", "requested 4"]);
  });

  it("keeps the last one of each earlier day, in UTC, for the configured number of days", () => {
    const noon = [24, 25, 48, 59, 61, 100, 119, 121].map((hoursAgo) => aVersion(hoursAgo));
    expect(keptOf([...lastThree, ...noon])).to.deep.equal([
      "played 2",
      "played 3",
      "played 4",
      "played 24",
      "played 48",
      "played 61",
      "played 100",
      "played 119",
    ]);
  });

  it("keeps the slot's current version, however old it is", () => {
    const own = aVersion(1000, { supersededAt: null });
    expect(keptOf([...lastThree, aVersion(999), own])).to.deep.equal([
      "played 2",
      "played 3",
      "played 4",
      own.id,
    ]);
  });

  it("keeps conflict copies for the retention from their arrival, and then like any other", () => {
    const [young, old] = [aVersion(47, { kind: "conflict" }), aVersion(49, { kind: "conflict" })];
    const others = [aVersion(37), aVersion(46), aVersion(48.5)];
    expect(keptOf([...lastThree, young, old, ...others]))
      .to.include(young.id)
      .and.not.include(old.id);
  });

  it("keeps superseded versions for an hour", () => {
    const moment = aVersion(1000, { supersededAt: new Date(now.getTime() - hourMs / 2) });
    expect(keptOf([...lastThree, moment])).to.include(moment.id);
    expect(keptVersions([...lastThree, moment], rule, new Date(now.getTime() + hourMs))).to.not.include(
      moment,
    );
  });

  it("never keeps a version that it dropped before, whatever was removed or added since", () => {
    const version = fc
      .record({
        hoursAgo: fc.integer({ min: 0, max: 300 }),
        kind: fc.constantFrom("played", "conflict", "requested", "imported"),
      })
      .map(({ hoursAgo, kind }) => aVersion(hoursAgo, { kind }));
    fc.assert(
      fc.property(
        fc.uniqueArray(version, { selector: ({ storedAt }) => storedAt.getTime() }),
        fc.nat(300),
        fc.boolean(),
        (versions, hours, isSwept) => {
          const kept = keptVersions(versions, rule, now);
          const unkept = versions.filter((each) => !kept.includes(each));
          const later = new Date(now.getTime() + hours * hourMs);
          const added = aVersion(-hours / 2 - 0.5);
          const keptLater = keptVersions([...(isSwept ? kept : versions), added], rule, later);
          expect(keptLater.filter((each) => unkept.includes(each))).to.deep.equal([]);
          expect(kept.length).to.be.at.least(Math.min(versions.length, rule.versionsKept));
        },
      ),
    );
  });
});
