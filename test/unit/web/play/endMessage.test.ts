import { expect } from "chai";
import { GameSessionEndReason } from "#contracts/http/gameSessions.ts";
import { describeEnd, describeGameError, slotToContinue } from "#web/play/endMessage.ts";

describe("describeEnd", () => {
  it("returns a different title for every reason", () => {
    const titles = GameSessionEndReason.options.map(
      (endReason) => describeEnd({ status: "stopped", endReason }).title,
    );
    expect(new Set(titles).size).to.equal(titles.length);
    expect(describeEnd({ status: "error", message: "The download failed." }).text).to.equal(
      "The download failed.",
    );
  });

  it("says that the game is no longer available, not that it did not start", () => {
    expect(describeEnd({ status: "error", endReason: "game_unavailable" }).title).to.equal(
      "This game is no longer available",
    );
  });

  it("returns the API's message for a cancelled launch", () => {
    const message = "The launch was cancelled. Your saves are unchanged.";
    expect(describeEnd({ status: "stopped", endReason: "user_requested", message })).to.deep.equal({
      title: "See you soon",
      text: message,
    });
    expect(describeEnd({ status: "stopped", endReason: "user_requested" }).text).to.equal(
      "Your progress is saved.",
    );
  });

  it("does not claim saved progress when some of it was lost", () => {
    const saveNotice = "The save grew too large.";
    const texts = GameSessionEndReason.options.map(
      (endReason) =>
        describeEnd({ status: "stopped", endReason, message: "Something else.", saveNotice }).text,
    );
    for (const text of texts) expect(text).to.contain(saveNotice).and.not.contain("is saved");
  });

  it("says that the game failed, however the session ended", () => {
    const end = { status: "error", message: "The game ended with an error.", gameError: {} } as const;
    expect(describeEnd(end)).to.deep.equal({
      title: "The game ended with an error",
      text: "The game ended with an error.",
    });
  });
});

describe("slotToContinue", () => {
  const slots = [
    { id: "a", lastPlayedAt: "2026-11-28T10:00:00.000Z" },
    { id: "b", lastPlayedAt: "2026-11-29T10:00:00.000Z" },
    { id: null, lastPlayedAt: null },
  ];

  it("returns the slot of the launch, or the one that was played last", () => {
    expect(slotToContinue(slots, { saveSlotId: "a" })?.id).to.equal("a");
    expect(slotToContinue(slots, {})?.id).to.equal("b");
  });

  it("returns no slot for a new game, and if all are empty", () => {
    expect(slotToContinue(slots, { fresh: true })).to.equal(undefined);
    expect(slotToContinue(slots.slice(2), {})).to.equal(undefined);
    expect(slotToContinue(slots, { saveSlotId: "gone" })).to.equal(undefined);
  });
});

describe("describeGameError", () => {
  const session = { sessionId: "gs-1", gameTitle: "Drift", startedAt: "2026-11-29T10:00:00.000Z" };

  it("returns what a player can tell the developer", () => {
    expect(describeGameError({ ...session, gameError: { exitCode: 139, signal: "SIGSEGV" } })).to.equal(
      "Drift, exit code 139 (SIGSEGV), session gs-1, started 2026-11-29T10:00:00.000Z",
    );
    expect(describeGameError({ ...session, gameError: { exitCode: 3 } })).to.contain("exit code 3,");
    expect(describeGameError({ ...session, gameError: {} })).to.not.contain("exit code");
    expect(describeGameError(session)).to.be.undefined;
  });
});
