import { expect } from "chai";
import { saveReasons } from "#contracts/crd/reasons.ts";
import { saveNoticeOf } from "#api/gameSessions/saveNotice.ts";
import { aCondition, aGameSession, aRunningStatus } from "#test/factories/gameSession.ts";

describe("The save notice of an ended session", () => {
  const told = (reason: string, isPlayed: boolean): string | undefined =>
    saveNoticeOf(aGameSession({ status: aRunningStatus({ conditions: [aCondition("SavePersisted", { reason })] }) }), isPlayed);

  it("is undefined when the save is stored, or is about to be", () => {
    const harmless = [saveReasons.stored, saveReasons.unchanged, saveReasons.nothingToSave, saveReasons.playing, saveReasons.storeUnreachable];
    for (const reason of harmless) expect([told(reason, true), told(reason, false)], reason).to.deep.equal([undefined, undefined]);
  });

  it("names what is lost, while that can be helped and afterwards", () => {
    for (const reason of [saveReasons.saveTooLarge, saveReasons.saveMissing, saveReasons.saveUnreadable, saveReasons.spoolUnreadable, saveReasons.spoolFull, saveReasons.spoolFailed]) {
      expect(told(reason, true), reason).to.match(/ (stays|lost)/);
      expect(told(reason, false), reason).to.contain("you have what was saved before that");
    }
  });

  it("states the age of the save when the pod was removed abruptly", () => {
    expect(told(saveReasons.lastAutosave, false)).to.contain("some seconds before");
    expect(told(saveReasons.lastAutosave, true)).to.equal(undefined);
  });
});
