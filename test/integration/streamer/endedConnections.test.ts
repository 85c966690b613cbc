import { expect } from "chai";
import { countKeptConnections } from "#test/support/session/endedConnections.ts";

const count = 5;

describe("a connection that has ended", function () {
  this.timeout(60_000);

  for (const whoEnds of ["streamer", "browser"] as const) {
    it(`leaves nothing in the streamer's memory: a player's, ended by the ${whoEnds}`, async () => {
      expect(await countKeptConnections("viewer", whoEnds, count)).to.equal(0);
    });

    it(`leaves nothing in the responder's memory: a test's, ended by the ${whoEnds === "streamer" ? "responder" : whoEnds}`, async () => {
      expect(await countKeptConnections("test", whoEnds, count)).to.equal(0);
    });
  }
});
