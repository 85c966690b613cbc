import { expect } from "chai";
import { limits } from "#contracts/limits.ts";
import { aUser } from "#test/factories/catalog.ts";
import { TestApi } from "#test/support/http/api.ts";
import type { ApiClient, ApiResponse } from "#test/support/http/apiClient.ts";
import { postSignIn } from "#test/support/http/authForms.ts";
import { sendTraffic } from "#test/support/http/traffic.ts";

const session = { sessionId: "gs-0000000000000000000a" };

describe("rate limits", () => {
  let api: TestApi;
  let player: ApiClient;

  before(async () => {
    api = await TestApi.start();
    player = api.as(await aUser(api.deps));
  });
  after(() => api.stop());

  async function statusesOf(
    requests: number,
    send: (index: number) => Promise<ApiResponse>,
  ): Promise<Record<string, number>> {
    return (await sendTraffic(requests, send)).statuses;
  }

  it("do not let catalogue requests block a session's polls or stop, nor polls block the stop", async () => {
    expect(await statusesOf(125, () => player.get("/api/games"))).to.deep.equal({ 200: 120, 429: 5 });
    const poll = (index: number): Promise<ApiResponse> =>
      index % 2 === 0
        ? player.post("/api/game/keepalive", session)
        : player.get(`/api/game/session-status?sessionId=${session.sessionId}`);
    expect(await statusesOf(125, poll)).to.deep.equal({ 404: 120, 429: 5 });
    expect(await statusesOf(35, () => player.post("/api/game/stop", session))).to.deep.equal({
      404: 30,
      429: 5,
    });
  });

  it("count launches per hour in addition to those per minute", async () => {
    const strict = await TestApi.start({ env: { LAUNCHES_PER_MINUTE: "100" } });
    try {
      const eager = strict.as(await aUser(strict.deps));
      expect(await statusesOf(65, () => eager.post("/api/game/launch", { gameSlug: "none" }))).to.deep.equal({
        404: 60,
        429: 5,
      });
    } finally {
      await strict.stop();
    }
  });

  it("count error reports of pages per address", async () => {
    const most = limits.auth.postsPerIpPerMinute;
    expect(
      await statusesOf(most + 3, () => api.anonymous().post("/api/auth/_log", { code: "x" })),
    ).to.deep.equal({ 204: most, 429: 3 });
  });

  it("count sign-in requests and failures per address, with the configured limit", async () => {
    const site = await TestApi.start({
      env: { AUTH_READS_PER_MINUTE: "10", AUTH_POSTS_PER_MINUTE: "7", SIGN_IN_FAILURES_PER_ADDRESS: "3" },
    });
    try {
      const signIn = (index: number): Promise<ApiResponse> =>
        postSignIn(site.anonymous(), { email: `nobody-${index}@example.test`, password: "wrong" });
      expect(await statusesOf(5, signIn), "one read and one post each").to.deep.equal({ 401: 3, 429: 2 });
      expect(await statusesOf(6, () => site.anonymous().get("/api/auth/providers"))).to.deep.equal({
        200: 5,
        429: 1,
      });
      expect(await statusesOf(3, () => site.anonymous().post("/api/auth/_log", { code: "x" }))).to.deep.equal(
        { 204: 2, 429: 1 },
      );
    } finally {
      await site.stop();
    }
  });
});
