import { expect } from "chai";
import { aGame, aUser, type TestUser } from "#test/factories/catalog.ts";
import { TestApi } from "#test/support/http/api.ts";
import { expectErrorResponse, type ApiResponse } from "#test/support/http/apiClient.ts";
import { eventually } from "#test/support/clocks/eventually.ts";
import { FakeStreamer } from "#test/support/session/fakeStreamer.ts";
import { operatorOf, type FakeOperator } from "#test/support/cluster/fakeOperator.ts";
import { loopbackIp } from "#test/support/processes/loopbackIp.ts";

/** Loopback addresses that stand for pods: every pod's streamer has the same port. */
const podIp = loopbackIp();
const deadPodIp = loopbackIp();
const sdp = { "content-type": "application/sdp" };

describe("/api/stream", function () {
  this.timeout(60_000);
  let api: TestApi;
  let operator: FakeOperator;
  let streamer: FakeStreamer;
  let owner: TestUser;
  let id: string;

  before(async () => {
    api = await TestApi.start({ kube: true });
    operator = operatorOf(api);
    await operator.addNode(100);
    await eventually(() => api.deps.cluster.gameNodes.cache.size > 0);
    streamer = await FakeStreamer.at(podIp);
  });
  beforeEach(async () => {
    streamer.reset();
    owner = await aUser(api.deps);
    id = await launched(owner, podIp);
  });
  after(async () => {
    streamer.stop();
    await operator.removeNodes();
    await api.stop();
  });

  async function launched(user: TestUser, ip: string): Promise<string> {
    const game = await aGame(api.deps);
    const response = await api.as(user).post("/api/game/launch", { gameSlug: game.slug });
    const { sessionId } = response.json<{ sessionId: string }>();
    await operator.makeReady(sessionId, { podIp: ip });
    await eventually(
      async () =>
        (await api.deps.postgres.prisma.gameSession.findUniqueOrThrow({ where: { id: sessionId } }))
          .status === "running",
    );
    return sessionId;
  }

  function offer(
    user: TestUser | undefined,
    path = `/api/stream/${id}`,
    body = "v=0 offer",
    headers: Record<string, string> = sdp,
  ): Promise<ApiResponse> {
    return (user === undefined ? api.anonymous() : api.as(user)).post(path, body, headers);
  }

  it("forwards the offer to the session's pod and returns its SDP answer", async () => {
    const response = await offer(owner, `/api/stream/${id}?client=client-1234&takeover=true`);
    expect(response.status, response.text).to.equal(201);
    expect(response.text).to.equal("v=0 answer");
    expect(response.headers.get("content-type")).to.match(/^application\/sdp/);
    expect(response.headers.get("location")).to.equal(`${api.url}/api/stream/${id}/connection-1`);
    expect(streamer.seen).to.have.length(1);
    expect(streamer.seen[0]).to.include({
      method: "POST",
      url: "/whep?client=client-1234&takeover=true",
      body: "v=0 offer",
    });
    expect(streamer.seen[0]!.headers).to.not.have.any.keys("cookie");
  });

  it("keeps an offer pending while its session starts, and answers it when the session runs", async () => {
    const player = await aUser(api.deps);
    const { slug } = await aGame(api.deps);
    const { sessionId } = (await api.as(player).post("/api/game/launch", { gameSlug: slug })).json<{
      sessionId: string;
    }>();
    let hasResponse = false;
    const held = offer(player, `/api/stream/${sessionId}`).finally(() => {
      hasResponse = true;
    });
    await eventually(() => api.deps.cluster.gameSession(sessionId) !== undefined);
    expect((await api.as(player).get(`/api/game/session-status?sessionId=${sessionId}`)).json()).to.include({
      status: "starting",
    });
    expect(hasResponse).to.equal(false);
    await operator.makeReady(sessionId, { podIp });
    expect((await held).status).to.equal(201);
    expect(streamer.seen.map(({ body }) => body)).to.deep.equal(["v=0 offer"]);
  });

  it("rejects the pending offer if the session ends before it runs", async () => {
    const player = await aUser(api.deps);
    const { slug } = await aGame(api.deps);
    const { sessionId } = (await api.as(player).post("/api/game/launch", { gameSlug: slug })).json<{
      sessionId: string;
    }>();
    const held = offer(player, `/api/stream/${sessionId}`);
    await eventually(() => api.deps.cluster.gameSession(sessionId) !== undefined);
    await operator.finish(sessionId);
    expectErrorResponse(await held, 409, "not_running");
  });

  describe("for a starting session", () => {
    let player: TestUser;
    let sessionId: string;

    beforeEach(async () => {
      player = await aUser(api.deps);
      const { slug } = await aGame(api.deps);
      ({ sessionId } = (await api.as(player).post("/api/game/launch", { gameSlug: slug })).json<{
        sessionId: string;
      }>());
      await eventually(() => api.deps.cluster.gameSession(sessionId) !== undefined);
    });

    const status = async () =>
      (await api.as(player).get(`/api/game/session-status?sessionId=${sessionId}`)).json<{ status: string }>()
        .status;

    it("answers the owner's offer once the streamer runs, and hangs up", async () => {
      const path = `/api/stream/${sessionId}`;
      const held = offer(player, path);
      await operator.startStreamer(sessionId, podIp);
      expect((await held).status).to.equal(201);
      expect(await status()).to.equal("starting");
      expect(streamer.seen[0]?.headers).to.include({ "joypod-session": sessionId });
      expectErrorResponse(await offer(undefined, path), 401, "unauthorized");
      expectErrorResponse(await offer(await aUser(api.deps), path), 404, "not_found");
      expect(streamer.seen).to.have.length(1);
      streamer.response = { status: 200, headers: {}, body: "" };
      expect((await api.as(player).delete(`${path}/connection-1`)).status).to.equal(200);
    });

    it("retries the offer while the streamer is unreachable or not ready", async () => {
      streamer.response = {
        status: 503,
        headers: { "content-type": "application/json" },
        body: JSON.stringify({ error: "not_ready", message: "Soon." }),
      };
      await operator.startStreamer(sessionId, deadPodIp);
      const held = offer(player, `/api/stream/${sessionId}`);
      await operator.startStreamer(sessionId, podIp);
      await eventually(() => streamer.seen.length > 1, { what: "another try" });
      streamer.response = {
        status: 201,
        headers: { "content-type": "application/sdp", location: "/whep/connection-1" },
        body: "v=0 late answer",
      };
      expect((await held).text).to.equal("v=0 late answer");
    });

    it("returns the pod's conflict when another window plays", async () => {
      streamer.response = {
        status: 409,
        headers: { "content-type": "application/json" },
        body: JSON.stringify({ error: "viewer_active", message: "Taken." }),
      };
      await operator.startStreamer(sessionId, podIp);
      expectErrorResponse(await offer(player, `/api/stream/${sessionId}`), 409, "viewer_active");
    });

    it("does not return an SDP answer that came after the stop", async () => {
      const { promise, resolve } = Promise.withResolvers<undefined>();
      streamer.hold = promise;
      await operator.startStreamer(sessionId, podIp);
      const held = offer(player, `/api/stream/${sessionId}`);
      await eventually(() => streamer.seen.length === 1, { what: "the offer at the streamer" });
      const stopped = api.as(player).post("/api/game/stop", { sessionId });
      await eventually(() => api.deps.cluster.gameSession(sessionId)?.spec.desiredState === "Stopped");
      resolve(undefined);
      expectErrorResponse(await held, 409, "not_running");
      await operator.finish(sessionId);
      expect((await stopped).status).to.equal(200);
    });

    it("rejects the offer if the session fails before it runs", async () => {
      await operator.startStreamer(sessionId, deadPodIp);
      const held = offer(player, `/api/stream/${sessionId}`);
      await operator.finish(sessionId, {
        failure: { reason: "StreamerFailed", message: "The streamer failed." },
      });
      expectErrorResponse(await held, 409, "not_running");
      expectErrorResponse(await offer(player, `/api/stream/${sessionId}`), 409, "not_running");
    });

    it("cancels the offer when the page leaves", async () => {
      streamer.hold = new Promise(() => undefined);
      await operator.startStreamer(sessionId, podIp);
      const client = api.as(player);
      await client.get("/api/auth/session");
      const cookie = [...client.cookies].map((pair) => pair.join("=")).join("; ");
      const leaving = new AbortController();
      const held = fetch(`${api.url}/api/stream/${sessionId}`, {
        method: "POST",
        body: "v=0 offer",
        signal: leaving.signal,
        headers: { ...sdp, cookie },
      }).catch((error: unknown) => error);
      await eventually(() => streamer.seen.length === 1, { what: "the offer at the streamer" });
      leaving.abort();
      await held;
      await eventually(() => streamer.leavers === 1, { what: "the streamer to be left" });
      expect(streamer.seen).to.have.length(1);
    });
  });

  it("forwards a hang-up to the session's pod", async () => {
    streamer.response = { status: 200, headers: {}, body: "" };
    expect((await api.as(owner).delete(`/api/stream/${id}/connection-1`)).status).to.equal(200);
    expect(streamer.seen[0]).to.include({ method: "DELETE", url: "/whep/connection-1" });
    expect(streamer.seen[0]!.headers).to.not.have.any.keys("cookie");
    streamer.response = {
      status: 403,
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ error: "forbidden", message: "Another's." }),
    };
    expectErrorResponse(await api.as(owner).delete(`/api/stream/${id}/connection-1`), 403, "forbidden");
  });

  it("returns the pod's conflict when another viewer is connected", async () => {
    streamer.response = {
      status: 409,
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ error: "viewer_active", message: "Taken." }),
    };
    const response = await offer(owner);
    expect(response.status).to.equal(409);
    expect(response.json()).to.include({ error: "viewer_active" });
  });

  it("drops headers and bodies that a pod must not send to a browser", async () => {
    streamer.response = {
      status: 302,
      headers: { location: "https://evil.example", "set-cookie": "a=b" },
      body: "",
    };
    const redirected = await offer(owner);
    expectErrorResponse(redirected, 503, "unavailable");
    expect(redirected.headers.get("location")).to.be.null;
    streamer.response = {
      status: 201,
      headers: { "content-type": "text/html", "set-cookie": "a=b", location: "https://evil.example/" },
      body: "<script>",
    };
    const page = await offer(owner);
    expectErrorResponse(page, 503, "unavailable");
    streamer.response = {
      status: 409,
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ error: "session_active", message: "Not mine to say." }),
    };
    expectErrorResponse(await offer(owner), 503, "unavailable");
    expect(page.headers.get("location")).to.be.null;
    expect(page.setCookies.join()).not.to.contain("a=b");
  });

  it("admits only the owner of a running session", async () => {
    expectErrorResponse(await offer(undefined), 401, "unauthorized");
    expectErrorResponse(await offer(await aUser(api.deps)), 404, "not_found");
    expectErrorResponse(await offer(owner, "/api/stream/gs-none"), 404, "not_found");
    expectErrorResponse(
      await api.as(await aUser(api.deps)).delete(`/api/stream/${id}/connection-1`),
      404,
      "not_found",
    );
    await operator.finish(id);
    await eventually(async () => (await offer(owner)).status === 409);
    expectErrorResponse(await offer(owner), 409, "not_running");
    expectErrorResponse(await api.as(owner).delete(`/api/stream/${id}/connection-1`), 409, "not_running");
  });

  it("rejects other content types, long offers and unknown query parameters", async () => {
    expectErrorResponse(
      await offer(owner, undefined, "{}", { "content-type": "application/json" }),
      415,
      "unsupported_media_type",
    );
    expectErrorResponse(await offer(owner, undefined, "v".repeat(65_537)), 413, "payload_too_large");
    expectErrorResponse(await offer(owner, `/api/stream/${id}?client=x`), 400, "invalid_request");
    expectErrorResponse(await offer(owner, `/api/stream/${id}?other=1`), 400, "invalid_request");
    expect(streamer.seen).to.have.length(0);
  });

  it("returns a retryable error for a running session without a known pod", async () => {
    await operator.withdrawPod(id);
    await eventually(() => api.deps.cluster.gameSession(id)?.status?.podIp === undefined, {
      what: "the pod to be unknown",
    });
    await expectTryAgain(api);
  });

  it("returns a retryable error at a replica that has not synced with the cluster", async () => {
    const replica = await TestApi.start({
      database: api.database,
      redisUrl: api.deps.config.redis.url,
      env: { BASE_URL: api.url },
    });
    try {
      await expectTryAgain(replica);
    } finally {
      await replica.stop();
    }
  });

  async function expectTryAgain(at: TestApi): Promise<void> {
    const viewer = api.as(owner, at);
    for (const response of [
      await viewer.post(`/api/stream/${id}`, "v=0 offer", sdp),
      await viewer.delete(`/api/stream/${id}/connection-1`),
    ]) {
      expectErrorResponse(response, 503, "unavailable");
      expect(response.headers.get("retry-after")).to.equal("1");
    }
    expect(streamer.seen).to.have.length(0);
  }

  it("returns not_ready for a hang-up of a starting session without a pod", async () => {
    const player = api.as(await aUser(api.deps));
    const { slug } = await aGame(api.deps);
    const { sessionId } = (await player.post("/api/game/launch", { gameSlug: slug })).json<{
      sessionId: string;
    }>();
    expectErrorResponse(await player.delete(`/api/stream/${sessionId}/connection-1`), 503, "not_ready");
  });

  it("returns 503 if the pod does not respond", async () => {
    const other = await aUser(api.deps);
    const path = `/api/stream/${await launched(other, deadPodIp)}`;
    expectErrorResponse(await offer(other, path), 503, "unavailable");
  });
});
