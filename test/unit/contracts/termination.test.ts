import { expect } from "chai";
import { parseGameTermination, parseStreamerTermination } from "#contracts/termination.ts";

const game = {
  state: "ended",
  reason: "exited",
  exitCode: 3,
  oomKills: 0,
  cpuSeconds: 1.5,
  peakMemoryBytes: 4_096,
  wallSeconds: 9,
};

describe("termination messages", () => {
  it("are parsed as they were written", () => {
    expect(parseGameTermination(JSON.stringify(game))).to.deep.equal(game);
    const streamer = {
      state: "ended",
      reason: "stopped",
      connections: 2,
      game,
      cpuSeconds: 1,
      peakMemoryBytes: 1,
      wallSeconds: 1,
    };
    expect(parseStreamerTermination(JSON.stringify(streamer))).to.deep.equal(streamer);
  });

  it("name a signal by its number", () => {
    const withReason = (reason: string) => parseGameTermination(JSON.stringify({ ...game, reason }))?.reason;
    expect(withReason("signal-11")).to.equal("signal-11");
    expect(withReason("signal-")).to.equal(undefined);
    expect(withReason("signal-x")).to.equal(undefined);
  });

  it("are undefined if another program wrote them or they are truncated", () => {
    for (const text of ["", "panic: oh", "{}", JSON.stringify(game).slice(0, 40), "null"])
      expect(parseGameTermination(text)).to.equal(undefined);
  });
});
