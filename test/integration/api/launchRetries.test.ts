import { expect } from "chai";
import { aUser } from "#test/factories/catalog.ts";
import { expectErrorResponse } from "#test/support/http/apiClient.ts";
import { LaunchFixture } from "#test/support/fixtures/launchFixture.ts";

const path = "/api/game/launch";

describe("launches of a player who asks again as Retry-After says", function () {
  this.timeout(60_000);
  let fixture: LaunchFixture;

  before(async () => {
    fixture = await LaunchFixture.start({ slots: 0, env: { LAUNCHES_PER_HOUR: "2" } });
  });
  after(() => fixture.stop());

  it("use up nothing of the hour while all game servers are taken", async () => {
    await fixture.newPlayer();
    for (let count = 0; count < 3; count++) {
      const response = await fixture.player.post(path, { gameSlug: fixture.game.slug });
      expectErrorResponse(response, 503, "no_servers");
      expect(response.headers.get("ratelimit"), "what the response says is left").to.contain('"launchHourly";r=2');
    }
    await fixture.addNode(1);
    await fixture.launched();
  });

  it("use it up where asking again is of no use", async () => {
    const player = fixture.api.as(await aUser(fixture.api.deps));
    for (let count = 0; count < 2; count++) expectErrorResponse(await player.post(path, { gameSlug: "no-such" }), 404, "not_found");
    expectErrorResponse(await player.post(path, { gameSlug: "no-such" }), 429, "rate_limited");
  });
});
