import { expect } from "chai";
import type { GameSessionStatusResponse } from "#contracts/http/gameSessions.ts";
import { newerOf } from "#web/play/newerOf.ts";

describe("newerOf", () => {
  function session(
    status: GameSessionStatusResponse["status"],
    stage?: GameSessionStatusResponse["stage"],
  ): GameSessionStatusResponse {
    return {
      sessionId: "gs-a",
      status,
      serverUrl: null,
      containerUrl: null,
      gameTitle: "Game",
      startedAt: "2030-01-01T00:00:00.000Z",
      ...(stage && { stage }),
    };
  }

  it("returns the received report when its status is the same or later", () => {
    expect(newerOf(undefined, session("stopped")).status).to.equal("stopped");
    expect(newerOf(session("starting", "scheduling"), session("starting", "booting")).stage).to.equal(
      "booting",
    );
    expect(newerOf(session("running"), session("error")).status).to.equal("error");
  });

  it("returns the known report when the received status is earlier", () => {
    expect(newerOf(session("running"), session("starting", "booting")).status).to.equal("running");
    expect(newerOf(session("stopped"), session("stopping")).status).to.equal("stopped");
  });
});
