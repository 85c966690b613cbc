import { expect } from "chai";
import { StopReason } from "#contracts/crd/gameSessionSpec.ts";
import { GameSessionEndReason } from "#contracts/http/gameSessions.ts";
import { publicEndOf } from "#api/gameSessions/stopCause.ts";

describe("publicEndOf", () => {
  it("has a public word for every reason of the cluster", () => {
    const words = StopReason.options.map((reason) => publicEndOf(reason, true)!.endReason);
    expect(words.toSorted()).to.deep.equal(GameSessionEndReason.options.toSorted());
  });

  it("explains every end of what was played but the player's own wish", () => {
    for (const reason of StopReason.options) {
      expect(publicEndOf(reason, true)!.message === undefined, reason).to.equal(reason === "UserRequested");
    }
  });

  it("says of a launch that the player cancelled what became of their saves, as none was played", () => {
    expect(publicEndOf("UserRequested", false)).to.deep.equal({
      endReason: "user_requested",
      message: "The launch was cancelled; your saves are as they were.",
    });
  });

  it("tells a launch that failed apart from a game that failed", () => {
    expect(publicEndOf("Failed", false)!.message).not.to.equal(publicEndOf("Failed", true)!.message);
  });

  it("says what can be done about a save that could not be restored", () => {
    for (const reason of ["ChecksumMismatch", "SaveMissing"])
      expect(publicEndOf("Failed", false, reason)!.message).to.contain("restore the version before it");
    expect(publicEndOf("Failed", true, "SaveMissing")).to.deep.equal(publicEndOf("Failed", true));
  });

  it("says nothing before there is an end", () => {
    expect(publicEndOf(null, true)).to.be.undefined;
    expect(publicEndOf("Nonsense", true)).to.be.undefined;
  });
});
