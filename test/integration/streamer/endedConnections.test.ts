import { expect } from "chai";
import { keptConnections } from "#test/support/session/endedConnections.ts";

const count = 5;

describe("a connection that has ended", function () {
  this.timeout(120_000);

  for (const [whoEnds, how] of [
    ["streamer", "by the streamer"],
    ["browser", "by the browser"],
    ["hasty browser", "by the browser, before the streamer had heard of its channels"],
  ] as const) {
    it(`leaves nothing in memory when a player's connection was ended ${how}`, async () => {
      expect(await keptConnections("viewer", whoEnds, count)).to.deep.equal([]);
    });

    it(`leaves nothing in memory when a test's connection was ended ${how}`, async () => {
      expect(await keptConnections("test", whoEnds, count)).to.deep.equal([]);
    });
  }
});
