import { expect } from "chai";
import type { Condition } from "#contracts/crd/kind.ts";
import { saveNoticeOf } from "#api/gameSessions/recording/saveNotice.ts";
import { aCondition, aGameSession, aRunningStatus } from "#test/factories/gameSession.ts";
import { saveReasons } from "#contracts/crd/gameSessionReasons.ts";

describe("saveNoticeOf", () => {
  const told = (
    reason: string,
    isPlayed: boolean,
    status: Condition["status"] = "True",
  ): string | undefined =>
    saveNoticeOf(
      aGameSession({
        status: aRunningStatus({ conditions: [aCondition("SavePersisted", { reason, status })] }),
      }),
      isPlayed,
    );

  it("returns undefined if the save is stored or still pending", () => {
    const harmless = [
      saveReasons.stored,
      saveReasons.unchanged,
      saveReasons.nothingToSave,
      saveReasons.playing,
      saveReasons.storeUnreachable,
    ];
    for (const reason of harmless)
      expect([told(reason, true), told(reason, false)], reason).to.deep.equal([undefined, undefined]);
  });

  it("states what is lost, during play and afterwards", () => {
    for (const reason of [
      saveReasons.saveTooLarge,
      saveReasons.saveMissing,
      saveReasons.saveUnreadable,
      saveReasons.spoolUnreadable,
      saveReasons.spoolFull,
      saveReasons.spoolFailed,
    ]) {
      expect(told(reason, true), reason).to.match(/(are kept|lost)/);
      expect(told(reason, false), reason).to.contain("Your last stored save is kept");
    }
  });

  it("says that nothing was saved yet, and omits this after the end", () => {
    expect(told(saveReasons.nothingToSave, true, "False")).to.contain("not saved anything yet");
    expect(told(saveReasons.nothingToSave, false, "False")).to.equal(undefined);
  });

  it("states the age of the save when the pod was removed abruptly", () => {
    expect(told(saveReasons.lastAutosave, false)).to.contain("a few seconds before");
    expect(told(saveReasons.lastAutosave, true)).to.equal(undefined);
  });
});
