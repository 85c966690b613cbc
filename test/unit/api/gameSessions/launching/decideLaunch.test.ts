import { expect } from "chai";
import { chooseSlot, newGameSessionId } from "#api/gameSessions/launching/decideLaunch.ts";
import type { Slot } from "#api/gameSessions/launching/launchQueries.ts";

describe("newGameSessionId", () => {
  /** What the network plugin of EKS has one set of rules for, on each node. */
  const withoutLastPart = (id: string): string => id.slice(0, id.lastIndexOf("-"));

  it("returns distinct ids with the same prefix for sessions without network", () => {
    const [one, other] = [newGameSessionId("none"), newGameSessionId("none")];
    expect(one)
      .to.match(/^gs-[0-9a-z]{20}$/)
      .and.not.equal(other);
    expect(withoutLastPart(one)).to.equal(withoutLastPart(other));
  });

  it("returns another prefix for sessions with internet access", () => {
    const id = newGameSessionId("internet");
    expect(id).to.match(/^gs-net-[0-9a-z]{20}$/);
    expect(withoutLastPart(id)).to.not.equal(withoutLastPart(newGameSessionId("none")));
  });
});

function aSlot(number: number): Slot {
  return {
    id: `slot-${number}`,
    number,
    objectKey: null,
    sha256: null,
    bytes: null,
    unpackedBytes: null,
    generation: 0,
    isPending: false,
    isUnreadable: false,
    isNewer: false,
  };
}

describe("chooseSlot", () => {
  it("continues the most recently played slot unless the request names one", () => {
    expect(chooseSlot([aSlot(3), aSlot(1)], {})).to.deep.equal({ kind: "continue", slot: aSlot(3) });
    expect(chooseSlot([aSlot(3), aSlot(1)], { fresh: false })).to.deep.equal({
      kind: "continue",
      slot: aSlot(3),
    });
  });

  it("starts in slot 1 when no slot has a save", () => {
    expect(chooseSlot([], {})).to.deep.equal({ kind: "fresh", number: 1 });
  });

  it("takes the lowest empty slot for a fresh start", () => {
    expect(chooseSlot([aSlot(3), aSlot(1)], { fresh: true })).to.deep.equal({ kind: "fresh", number: 2 });
    expect(chooseSlot([aSlot(2)], { fresh: true })).to.deep.equal({ kind: "fresh", number: 1 });
  });

  it("never overwrites a slot for a fresh start", () => {
    expect(chooseSlot([aSlot(2), aSlot(1), aSlot(3)], { fresh: true })).to.deep.equal({ kind: "full" });
  });

  it("continues the named slot, and reports an unknown one", () => {
    expect(chooseSlot([aSlot(1), aSlot(2)], { saveSlotId: "slot-2" })).to.deep.equal({
      kind: "continue",
      slot: aSlot(2),
    });
    expect(chooseSlot([aSlot(1)], { saveSlotId: "slot-2" })).to.deep.equal({ kind: "unknown" });
  });
});
