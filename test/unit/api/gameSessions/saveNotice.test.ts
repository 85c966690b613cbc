import { expect } from "chai";
import { saveReasons } from "#contracts/crd/reasons.ts";
import { saveNoticeOf } from "#api/gameSessions/saveNotice.ts";
import { aCondition, aGameSession, aRunningStatus } from "#test/factories/gameSession.ts";

describe("What a player is told of a save", () => {
  const told = (reason: string, isPlayed: boolean): string | undefined =>
    saveNoticeOf(aGameSession({ status: aRunningStatus({ conditions: [aCondition("SavePersisted", { reason })] }) }), isPlayed);

  it("is nothing when all is well, or is about to be", () => {
    const well = [saveReasons.stored, saveReasons.unchanged, saveReasons.nothingToSave, saveReasons.playing, saveReasons.storeUnreachable];
    for (const reason of well) expect([told(reason, true), told(reason, false)], reason).to.deep.equal([undefined, undefined]);
  });

  it("is what is lost, while it can be helped and after it", () => {
    for (const reason of [saveReasons.saveTooLarge, saveReasons.saveMissing, saveReasons.saveUnreadable, saveReasons.spoolUnreadable, saveReasons.spoolFull, saveReasons.spoolFailed]) {
      expect(told(reason, true), reason).to.match(/ (stays|lost)/);
      expect(told(reason, false), reason).to.contain("you have what was saved before that");
    }
  });

  it("is the age of the save when the pod was torn away", () => {
    expect(told(saveReasons.lastAutosave, false)).to.contain("some seconds before");
    expect(told(saveReasons.lastAutosave, true)).to.equal(undefined);
  });
});
