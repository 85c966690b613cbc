import { expect } from "chai";
import fc from "fast-check";
import { findSupersededSaves, type StoredSaveObject } from "#api/saves/supersededSaves.ts";
import { parseSaveKey, saveKey, type SaveName } from "#contracts/objectKeys.ts";

const hourMs = 3600_000;
const dayMs = 24 * hourMs;
const now = new Date("2030-01-31T00:00:00Z");
const retentionMs = 7 * dayMs;

/** A save of the slot, stored so many hours ago. */
function aSave(generation: number, session: string, sequence: number, hoursAgo: number, attempt = 0): StoredSaveObject {
  return { key: saveKey("slot-1", { generation, gameSession: `gs-${session}`, sequence, attempt }), storedAt: new Date(now.getTime() - hoursAgo * hourMs) };
}

/** Larger for what a session stored later. */
function orderOf({ sequence, attempt }: SaveName): number {
  return sequence * 1000 + attempt;
}

describe("findSupersededSaves", () => {
  function supersededOf(saves: StoredSaveObject[], current: StoredSaveObject | undefined): { removed: StoredSaveObject[]; nextInHours: number | undefined } {
    const { keys, nextAt } = findSupersededSaves(saves, current?.key ?? null, { now, retentionMs });
    return { removed: saves.filter(({ key }) => keys.includes(key)), nextInHours: nextAt && (nextAt.getTime() - now.getTime()) / hourMs };
  }

  it("removes a session's earlier saves an hour after the next one came", () => {
    const [first, second, third, last] = [aSave(1, "a", 1, 4), aSave(1, "a", 2, 2), aSave(1, "a", 3, 0.5), aSave(1, "a", 4, 0.25)];
    expect(supersededOf([first, second, third, last], last)).to.deep.equal({ removed: [first], nextInHours: 0.5 });
  });

  it("treats the packer's later attempt as newer where two have the same sequence", () => {
    const [former, later] = [aSave(1, "a", 2, 3, 1), aSave(1, "a", 2, 2, 2)];
    expect(supersededOf([former, later], later)).to.deep.equal({ removed: [former], nextInHours: undefined });
    expect(supersededOf([former, later], former), "about to be recorded").to.deep.equal({ removed: [], nextInHours: undefined });
    const next = aSave(1, "a", 3, 2, 1);
    expect(supersededOf([aSave(1, "a", 2, 3, 9), next], next).removed, "the sequence comes first").to.have.length(1);
  });

  it("keeps an earlier session's last save for its retention after the next session's first one", () => {
    const [old, recent] = [aSave(1, "a", 5, 5000), aSave(2, "b", 3, 24)];
    expect(supersededOf([aSave(1, "a", 4, 5001), old, recent], recent)).to.deep.equal({ removed: [aSave(1, "a", 4, 5001)], nextInHours: 6 * 24 });
    const current = aSave(2, "b", 3, 7 * 24);
    expect(supersededOf([old, current], current).removed).to.deep.equal([old]);
  });

  it("keeps a save newer than the slot's, which is about to be recorded", () => {
    const current = aSave(2, "b", 1, 100);
    expect(supersededOf([current, aSave(2, "b", 2, 90), aSave(3, "c", 1, 5000)], current)).to.deep.equal({ removed: [], nextInHours: undefined });
  });

  it("removes an old save that lost the race for the slot", () => {
    const [current, late] = [aSave(2, "b", 1, 200), aSave(2, "a", 7, 24)];
    expect(supersededOf([current, late], current)).to.deep.equal({ removed: [], nextInHours: 6 * 24 });
    expect(supersededOf([current, aSave(2, "a", 7, 200)], current).removed).to.have.length(1);
  });

  it("keeps everything when the slot has no save, or its own is not there", () => {
    const saves = [aSave(1, "a", 1, 5000), aSave(1, "a", 2, 4000), aSave(2, "b", 1, 3000)];
    expect(supersededOf(saves, undefined)).to.deep.equal({ removed: [], nextInHours: undefined });
    expect(supersededOf(saves, aSave(3, "c", 1, 0))).to.deep.equal({ removed: [], nextInHours: undefined });
  });

  it("keeps objects whose names are not a save's", () => {
    const current = aSave(2, "b", 1, 5000);
    const strange = ["saves/slot-1/notes.txt", "saves/slot-1/1-gs-a-1.tar.gz.bak", "saves/slot-1/x/1-gs-a-1.tar.gz"].map((key) => ({ key, storedAt: new Date(0) }));
    expect(supersededOf([current, ...strange], current).removed).to.be.empty;
  });

  it("never removes the slot's own save, a newer one, or all that a recent session left", () => {
    const anySave = fc.record({ generation: fc.integer({ min: 1, max: 4 }), session: fc.constantFrom("a", "b", "c"), sequence: fc.integer({ min: 1, max: 4 }), attempt: fc.integer({ min: 0, max: 2 }), hoursAgo: fc.integer({ min: 0, max: 1000 }) })
      .map(({ generation, session, sequence, attempt, hoursAgo }) => aSave(generation, session, sequence, hoursAgo, attempt));
    fc.assert(fc.property(fc.uniqueArray(anySave, { selector: ({ key }) => key, minLength: 1, maxLength: 20 }), fc.nat(), (saves, choice) => {
      const current = saves[choice % saves.length]!;
      const slot = parseSaveKey(current.key)!;
      const { removed } = supersededOf(saves, current);
      for (const save of removed) {
        const name = parseSaveKey(save.key)!;
        expect(name.generation).to.be.at.most(slot.generation);
        if (name.generation === slot.generation && name.gameSession === slot.gameSession) expect(orderOf(name)).to.be.below(orderOf(slot));
        const isLastOfSession = saves.every((other) => {
          const known = parseSaveKey(other.key)!;
          return known.generation !== name.generation || known.gameSession !== name.gameSession || orderOf(known) <= orderOf(name);
        });
        if (isLastOfSession) expect(saves.some(({ storedAt }) => storedAt.getTime() <= now.getTime() - retentionMs)).to.be.true;
      }
    }));
  });
});
