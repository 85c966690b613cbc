import { expect } from "chai";
import fc from "fast-check";
import type { StoredSaveObject } from "#api/saves/saveObjectStore.ts";
import { planSweep, type SlotRecord } from "#api/saves/sweepPlan.ts";
import { isEarlier, parseSaveKey, saveKey } from "#contracts/objectKeys.ts";

const hourMs = 3600_000;
const now = new Date("2030-01-31T00:00:00Z");

/** An object of the slot that was stored so many hours ago. */
function anObject(session: string, sequence: number, hoursAgo: number, attempt = 1): StoredSaveObject {
  return {
    key: saveKey("slot-1", { generation: 1, gameSession: `gs-${session}`, sequence, attempt }),
    storedAt: hoursBefore(hoursAgo),
  };
}

function hoursBefore(hours: number): Date {
  return new Date(now.getTime() - hours * hourMs);
}

/**
 * What is recorded of a slot whose versions are these objects, the first of them its own; each was recorded
 * so many hours ago.
 */
function aRecord(versions: [StoredSaveObject, number][], overrides: Partial<SlotRecord> = {}): SlotRecord {
  const named = versions.map(([{ key }, hoursAgo]) => {
    const { gameSession, sequence, attempt } = parseSaveKey(key)!;
    return { objectKey: key, gameSession, sequence, attempt, storedAt: hoursBefore(hoursAgo) };
  });
  const [own] = named;
  return {
    objectKey: own?.objectKey ?? null,
    generation: 1,
    savedBySession: own?.gameSession ?? null,
    sequence: own?.sequence ?? 0,
    attempt: own?.attempt ?? 0,
    owner: null,
    seenKey: null,
    versions: named,
    ...overrides,
  };
}

describe("planSweep", () => {
  it("removes a session's earlier saves when a later one has been recorded for an hour", () => {
    const [first, second, last] = [anObject("a", 1, 5), anObject("a", 2, 4), anObject("a", 2, 3, 2)];
    expect(planSweep([first, second, last], aRecord([[last, 2]]), now)).to.deep.equal({
      superseded: [first.key, second.key],
      unrecorded: [],
      unfinished: new Set(),
    });
    expect(planSweep([first, second, last], aRecord([[last, 0.5]]), now)).to.deep.equal({
      superseded: [],
      unrecorded: [],
      unfinished: new Set(["gs-a"]),
    });
  });

  it("removes the saves of a constantly saving session that the slot had moved on from at the previous sweep", () => {
    const [first, second, third] = [anObject("a", 1, 5), anObject("a", 2, 4), anObject("a", 3, 3)];
    expect(
      planSweep([first, second, third], aRecord([[third, 0]], { seenKey: second.key }), now).superseded,
    ).to.deep.equal([first.key]);
  });

  it("keeps objects younger than an hour, by the object store's clock", () => {
    const [young, last] = [anObject("a", 1, 0.9), anObject("a", 2, 0.8)];
    expect(planSweep([young, last], aRecord([[last, 2]]), now)).to.deep.equal({
      superseded: [],
      unrecorded: [],
      unfinished: new Set(["gs-a"]),
    });
  });

  it("finds the last saves of unrecorded sessions, except the owner's", () => {
    const [own, lost, earlier, awaited] = [
      anObject("a", 1, 9),
      anObject("b", 7, 2),
      anObject("b", 6, 3),
      anObject("c", 1, 2),
    ];
    const plan = planSweep([own, lost, earlier, awaited], aRecord([[own, 9]], { owner: "gs-c" }), now);
    expect(plan.unrecorded.map(({ key }) => key)).to.deep.equal([lost.key]);
    expect(plan.superseded).to.deep.equal([]);
    expect(plan.unfinished).to.deep.equal(new Set(["gs-b", "gs-c"]));
  });

  it("removes objects with unknown names after an hour", () => {
    const [stray, young] = [
      { key: "saves/slot-1/notes.txt", storedAt: hoursBefore(2) },
      { key: "saves/slot-1/new.txt", storedAt: hoursBefore(0.5) },
    ];
    expect(planSweep([stray, young], aRecord([]), now).superseded).to.deep.equal([stray.key]);
  });

  it("never removes the last save of a session in the object store, or a referenced one", () => {
    const object = fc
      .record({
        session: fc.constantFrom("a", "b", "c"),
        sequence: fc.integer({ min: 1, max: 4 }),
        attempt: fc.integer({ min: 1, max: 2 }),
        hoursAgo: fc.nat(5),
      })
      .map(({ session, sequence, attempt, hoursAgo }) => anObject(session, sequence, hoursAgo, attempt));
    const objects = fc.uniqueArray(object, { selector: ({ key }) => key });
    fc.assert(
      fc.property(objects, fc.array(fc.nat(20)), fc.option(fc.nat(20)), (all, recorded, seen) => {
        const record = aRecord(
          recorded.flatMap((index) => (all[index] === undefined ? [] : [[all[index], 3]])),
          { seenKey: seen === null ? null : (all[seen]?.key ?? null) },
        );
        const { superseded, unrecorded } = planSweep(all, record, now);
        const kept = all.filter(({ key }) => !superseded.includes(key));
        for (const { key } of all) {
          const name = parseSaveKey(key)!;
          const others = kept
            .map((each) => parseSaveKey(each.key)!)
            .filter(({ gameSession }) => gameSession === name.gameSession);
          expect(
            others.some((other) => !isEarlier(other, name)),
            `a later save than ${key}, or itself`,
          ).to.be.true;
        }
        expect(
          superseded.filter((key) => record.versions.some(({ objectKey }) => objectKey === key)),
        ).to.deep.equal([]);
        expect(unrecorded.filter(({ key }) => superseded.includes(key))).to.deep.equal([]);
      }),
    );
  });
});
