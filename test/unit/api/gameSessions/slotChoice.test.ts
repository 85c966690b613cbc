import { expect } from "chai";
import { chooseSlot, type Slot } from "#api/gameSessions/slotChoice.ts";

function aSlot(number: number): Slot {
  return { id: `slot-${number}`, number, objectKey: null, sha256: null, bytes: null, unpackedBytes: null, generation: 0, isPending: false };
}

describe("chooseSlot", () => {
  it("goes on in the most recently played slot when nothing is asked", () => {
    expect(chooseSlot([aSlot(3), aSlot(1)], {})).to.deep.equal({ kind: "continue", slot: aSlot(3) });
    expect(chooseSlot([aSlot(3), aSlot(1)], { fresh: false })).to.deep.equal({ kind: "continue", slot: aSlot(3) });
  });

  it("starts in slot 1 when there is nothing to go on with", () => {
    expect(chooseSlot([], {})).to.deep.equal({ kind: "fresh", number: 1 });
  });

  it("takes the lowest empty slot for a fresh start", () => {
    expect(chooseSlot([aSlot(3), aSlot(1)], { fresh: true })).to.deep.equal({ kind: "fresh", number: 2 });
    expect(chooseSlot([aSlot(2)], { fresh: true })).to.deep.equal({ kind: "fresh", number: 1 });
  });

  it("never overwrites a slot for a fresh start", () => {
    expect(chooseSlot([aSlot(2), aSlot(1), aSlot(3)], { fresh: true })).to.deep.equal({ kind: "full" });
  });

  it("continues the slot that is named, and knows no other", () => {
    expect(chooseSlot([aSlot(1), aSlot(2)], { saveSlotId: "slot-2" })).to.deep.equal({ kind: "continue", slot: aSlot(2) });
    expect(chooseSlot([aSlot(1)], { saveSlotId: "slot-2" })).to.deep.equal({ kind: "unknown" });
  });
});
