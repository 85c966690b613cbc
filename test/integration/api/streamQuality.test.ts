import { expect } from "chai";
import { limits } from "#contracts/limits.ts";
import { aUser, type TestUser } from "#test/factories/catalog.ts";
import { TestApi } from "#test/support/http/api.ts";
import { expectErrorResponse } from "#test/support/http/apiClient.ts";

describe("a player's stream quality", () => {
  let api: TestApi;
  let user: TestUser;

  before(async () => {
    api = await TestApi.start();
  });
  after(() => api.stop());
  beforeEach(async () => {
    user = await aUser(api.deps);
  });

  const path = "/api/account/stream-quality";
  const maximum = { width: 1280, height: 720, fps: 60, maxKbps: 8000 };

  it("is the site's default at first, and then the player's choice", async () => {
    const player = api.as(user);
    expect((await player.get(path)).json()).to.deep.equal({ quality: {}, maximum });
    const quality = { preset: "sharp", width: 3840, height: 2160, fps: 120 };
    expect((await player.put(path, quality)).json()).to.deep.equal({ quality, maximum });
    expect((await player.get(path)).json()).to.deep.equal({ quality, maximum });
    await player.put(path, {});
    expect((await player.get(path)).json()).to.deep.equal({ quality: {}, maximum });
  });

  it("is separate for each player, and requires a sign-in", async () => {
    await api.as(user).put(path, { preset: "dataSaver" });
    expect((await api.as(await aUser(api.deps)).get(path)).json()).to.deep.equal({ quality: {}, maximum });
    expectErrorResponse(await api.anonymous().get(path), 401, "unauthorized");
    expectErrorResponse(await api.anonymous().put(path, { preset: "auto" }), 401, "unauthorized");
  });

  it("is refused if it is invalid, and the stored one stays", async () => {
    await api.as(user).put(path, { preset: "dataSaver" });
    for (const body of [{ preset: "best" }, { fps: 1 }, { height: 720 }, { startKbps: 1000 }]) {
      expectErrorResponse(await api.as(user).put(path, body), 400, "invalid_request");
    }
    expect((await api.as(user).get(path)).json<{ quality: object }>().quality).to.deep.equal({
      preset: "dataSaver",
    });
  });

  it("has a rate limit", async () => {
    const player = api.as(user);
    const statuses = new Set<number>();
    for (let i = 0; i <= limits.auth.accountChangesPerMinute; i += 1)
      statuses.add((await player.put(path, { preset: "auto" })).status);
    expect([...statuses]).to.deep.equal([200, 429]);
  });
});
