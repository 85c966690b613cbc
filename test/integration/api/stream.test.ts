import { expect } from "chai";
import { randomBytes } from "node:crypto";
import { StreamTickets } from "#api/auth/streamTickets.ts";
import type { StreamTicketResponse } from "#contracts/http/gameSessions.ts";
import { limits } from "#contracts/limits.ts";
import { bearerTicket, readTicket, ticketVerifyingKey, type TicketClaims } from "#contracts/streamTicket.ts";
import { createServer, type IncomingMessage, type Server } from "node:http";
import { aGame, aUser, type TestUser } from "../../factories/catalog.ts";
import { TestApi } from "../../support/http/api.ts";
import { expectErrorResponse, type ApiResponse } from "../../support/http/apiClient.ts";
import { eventually } from "../../support/clocks/eventually.ts";
import { startReplica, stopReplica } from "../../support/http/replica.ts";
import { sendTraffic } from "../../support/http/traffic.ts";
import { operatorOf, type FakeOperator } from "../../support/cluster/fakeOperator.ts";

/** Loopback addresses that stand for pods: every pod's streamer has the same port. */
const podIp = "127.77.0.1";
const deadPodIp = "127.77.0.2";
const sdp = { "content-type": "application/sdp" };

interface SeenRequest {
  method: string | undefined;
  url: string | undefined;
  headers: IncomingMessage["headers"];
  body: string;
}

describe("/api/stream", function () {
  this.timeout(60_000);
  let api: TestApi;
  let operator: FakeOperator;
  let streamer: Server;
  let seen: SeenRequest[];
  let streamerResponse: { status: number; headers: Record<string, string>; body: string };
  /** The streamer answers when this resolves. */
  let hold: Promise<undefined> | undefined;
  let leavers: number;
  let owner: TestUser;
  let id: string;

  before(async () => {
    api = await TestApi.start({ kube: true });
    operator = operatorOf(api);
    await operator.addNode(100);
    await eventually(() => api.deps.cluster.gameNodes.cache.size > 0);
    streamer = createServer((request, response) => {
      const chunks: Buffer[] = [];
      request.on("data", (chunk: Buffer) => chunks.push(chunk));
      request.on("end", () => {
        seen.push({ method: request.method, url: request.url, headers: request.headers, body: Buffer.concat(chunks).toString() });
        void (hold ?? Promise.resolve(undefined)).then(() => response.writeHead(streamerResponse.status, streamerResponse.headers).end(streamerResponse.body));
      });
      response.on("close", () => {
        if (!response.writableEnded) leavers++;
      });
    });
    await new Promise<void>((resolve) => streamer.listen(8080, podIp, resolve));
  });
  beforeEach(async () => {
    seen = [];
    hold = undefined;
    leavers = 0;
    streamerResponse = { status: 201, headers: { "content-type": "application/sdp", location: "/whep/connection-1" }, body: "v=0 answer" };
    owner = await aUser(api.deps);
    id = await launched(owner, podIp);
  });
  after(async () => {
    streamer.close();
    streamer.closeAllConnections();
    await operator.removeNodes();
    await api.stop();
  });

  async function launched(user: TestUser, ip: string): Promise<string> {
    const game = await aGame(api.deps);
    const response = await api.as(user).post("/api/game/launch", { gameSlug: game.slug });
    const { sessionId } = response.json<{ sessionId: string }>();
    await operator.makeReady(sessionId, { podIp: ip });
    await eventually(async () => (await api.deps.postgres.prisma.gameSession.findUniqueOrThrow({ where: { id: sessionId } })).status === "running");
    return sessionId;
  }

  function offer(user: TestUser | undefined, path = `/api/stream/${id}`, body = "v=0 offer", headers: Record<string, string> = sdp): Promise<ApiResponse> {
    return (user === undefined ? api.anonymous() : api.as(user)).post(path, body, headers);
  }

  /** What a request's ticket says to a streamer that knows the key in its session's spec. */
  async function ticketOf(request: SeenRequest | undefined, sessionId: string): Promise<TicketClaims | undefined> {
    const { ticketPublicKey } = (await operator.session(sessionId)).spec;
    const ticket = bearerTicket(request?.headers.authorization);
    return ticket === undefined || ticketPublicKey === undefined ? undefined : readTicket(ticket, ticketVerifyingKey(ticketPublicKey), new Date());
  }

  it("passes the offer to the session's pod and returns its SDP answer", async () => {
    const response = await offer(owner, `/api/stream/${id}?client=client-1234&takeover=true`);
    expect(response.status, response.text).to.equal(201);
    expect(response.text).to.equal("v=0 answer");
    expect(response.headers.get("content-type")).to.match(/^application\/sdp/);
    expect(response.headers.get("location")).to.equal(`${api.url}/api/stream/${id}/connection-1`);
    expect(seen).to.have.length(1);
    expect(seen[0]).to.include({ method: "POST", url: "/whep?client=client-1234&takeover=true", body: "v=0 offer" });
    expect(seen[0]!.headers).to.not.have.any.keys("cookie");
    expect(await ticketOf(seen[0], id)).to.include({ aud: id, sub: owner.id, role: "play" });
  });

  it("keeps an offer pending while its session starts, and answers it the moment that runs", async () => {
    const player = await aUser(api.deps);
    const { slug } = await aGame(api.deps);
    const { sessionId } = (await api.as(player).post("/api/game/launch", { gameSlug: slug })).json<{ sessionId: string }>();
    let hasResponse = false;
    const held = offer(player, `/api/stream/${sessionId}`).finally(() => {
      hasResponse = true;
    });
    await eventually(() => api.deps.cluster.gameSession(sessionId) !== undefined);
    expect((await api.as(player).get(`/api/game/session-status?sessionId=${sessionId}`)).json()).to.include({ status: "starting" });
    expect(hasResponse).to.equal(false);
    await operator.makeReady(sessionId, { podIp });
    expect((await held).status).to.equal(201);
    expect(seen.map(({ body }) => body)).to.deep.equal(["v=0 offer"]);
  });

  it("refuses the pending offer when the session ends before it ran", async () => {
    const player = await aUser(api.deps);
    const { slug } = await aGame(api.deps);
    const { sessionId } = (await api.as(player).post("/api/game/launch", { gameSlug: slug })).json<{ sessionId: string }>();
    const held = offer(player, `/api/stream/${sessionId}`);
    await eventually(() => api.deps.cluster.gameSession(sessionId) !== undefined);
    await operator.finish(sessionId);
    expectErrorResponse(await held, 409, "not_running");
  });

  describe("of a session that starts", () => {
    let player: TestUser;
    let sessionId: string;

    beforeEach(async () => {
      player = await aUser(api.deps);
      const { slug } = await aGame(api.deps);
      ({ sessionId } = (await api.as(player).post("/api/game/launch", { gameSlug: slug })).json<{ sessionId: string }>());
      await eventually(() => api.deps.cluster.gameSession(sessionId) !== undefined);
    });

    const status = async () => (await api.as(player).get(`/api/game/session-status?sessionId=${sessionId}`)).json<{ status: string }>().status;

    it("answers the offer once its streamer runs, to its owner alone, and hangs up", async () => {
      const path = `/api/stream/${sessionId}`;
      const held = offer(player, path);
      await operator.startStreamer(sessionId, podIp);
      expect((await held).status).to.equal(201);
      expect(await status()).to.equal("starting");
      expect(seen[0]?.headers).to.include({ "joypod-session": sessionId });
      expectErrorResponse(await offer(undefined, path), 401, "unauthorized");
      expectErrorResponse(await offer(await aUser(api.deps), path), 404, "not_found");
      expect(seen).to.have.length(1);
      streamerResponse = { status: 200, headers: {}, body: "" };
      expect((await api.as(player).delete(`${path}/connection-1`)).status).to.equal(200);
    });

    it("offers again while the streamer cannot be reached or is not ready", async () => {
      streamerResponse = { status: 503, headers: { "content-type": "application/json" }, body: JSON.stringify({ error: "not_ready", message: "Soon." }) };
      await operator.startStreamer(sessionId, deadPodIp);
      const held = offer(player, `/api/stream/${sessionId}`);
      await operator.startStreamer(sessionId, podIp);
      await eventually(() => seen.length > 1, { what: "another try" });
      streamerResponse = { status: 201, headers: { "content-type": "application/sdp", location: "/whep/connection-1" }, body: "v=0 late answer" };
      expect((await held).text).to.equal("v=0 late answer");
    });

    it("returns the pod's conflict when another window plays", async () => {
      streamerResponse = { status: 409, headers: { "content-type": "application/json" }, body: JSON.stringify({ error: "viewer_active", message: "Taken." }) };
      await operator.startStreamer(sessionId, podIp);
      expectErrorResponse(await offer(player, `/api/stream/${sessionId}`), 409, "viewer_active");
    });

    it("does not return an SDP answer that came after the stop", async () => {
      const { promise, resolve } = Promise.withResolvers<undefined>();
      hold = promise;
      await operator.startStreamer(sessionId, podIp);
      const held = offer(player, `/api/stream/${sessionId}`);
      await eventually(() => seen.length === 1, { what: "the offer at the streamer" });
      const stopped = api.as(player).post("/api/game/stop", { sessionId });
      await eventually(() => api.deps.cluster.gameSession(sessionId)?.spec.desiredState === "Stopped");
      resolve(undefined);
      expectErrorResponse(await held, 409, "not_running");
      await operator.finish(sessionId);
      expect((await stopped).status).to.equal(200);
    });

    it("fails the offer when the session fails before it ran", async () => {
      await operator.startStreamer(sessionId, deadPodIp);
      const held = offer(player, `/api/stream/${sessionId}`);
      await operator.finish(sessionId, { failure: { reason: "StreamerFailed", message: "The streamer failed." } });
      expectErrorResponse(await held, 409, "not_running");
      expectErrorResponse(await offer(player, `/api/stream/${sessionId}`), 409, "not_running");
    });

    it("cancels the offer when the page leaves", async () => {
      hold = new Promise(() => undefined);
      await operator.startStreamer(sessionId, podIp);
      const client = api.as(player);
      await client.get("/api/auth/session");
      const cookie = [...client.cookies].map((pair) => pair.join("=")).join("; ");
      const leaving = new AbortController();
      const held = fetch(`${api.url}/api/stream/${sessionId}`, {
        method: "POST", body: "v=0 offer", signal: leaving.signal, headers: { ...sdp, cookie },
      }).catch((error: unknown) => error);
      await eventually(() => seen.length === 1, { what: "the offer at the streamer" });
      leaving.abort();
      await held;
      await eventually(() => leavers === 1, { what: "the streamer to be left" });
      expect(seen).to.have.length(1);
    });
  });

  it("passes a hang-up on to the session's pod", async () => {
    streamerResponse = { status: 200, headers: {}, body: "" };
    expect((await api.as(owner).delete(`/api/stream/${id}/connection-1`)).status).to.equal(200);
    expect(seen[0]).to.include({ method: "DELETE", url: "/whep/connection-1" });
    expect(await ticketOf(seen[0], id)).to.include({ aud: id, sub: owner.id, role: "play" });
    expect(seen[0]!.headers).to.not.have.any.keys("cookie");
    streamerResponse = { status: 403, headers: { "content-type": "application/json" }, body: JSON.stringify({ error: "forbidden", message: "Another's." }) };
    expectErrorResponse(await api.as(owner).delete(`/api/stream/${id}/connection-1`), 403, "forbidden");
  });

  it("does not tell the page to sign in again when the streamer refuses our ticket, but the log", async () => {
    for (const [status, error] of [[401, "unauthorized"], [403, "forbidden"]] as const) {
      streamerResponse = { status, headers: { "content-type": "application/json" }, body: JSON.stringify({ error, message: "No." }) };
      expectErrorResponse(await offer(owner), 503, "unavailable");
    }
    expect(api.logLines.filter((line) => line.includes(id) && line.includes("refused the API's ticket"))).to.have.length(2);
  });

  it("passes offers on without a ticket where the session's streamer asks for none", async () => {
    const { metadata: { name, namespace }, spec: { ticketPublicKey, ...spec } } = await operator.session(id);
    expect(ticketPublicKey).to.equal(api.deps.streamTickets.publicKey);
    await operator.vanish(name);
    await operator.sessions.create({ metadata: { name, namespace: namespace ?? "" }, spec });
    await operator.makeReady(name, { podIp });
    await eventually(async () => (await offer(owner)).status === 201, { what: "the session of an earlier version to be known" });
    expect(seen.at(-1)!.headers).to.not.have.any.keys("authorization");
  });

  describe("with a ticket instead of a cookie", () => {
    async function ticketFor(user: TestUser, body: Record<string, string>): Promise<StreamTicketResponse> {
      const response = await api.as(user).post("/api/game/stream-ticket", body);
      expect(response.status, response.text).to.equal(200);
      return response.json<StreamTicketResponse>();
    }
    const bearing = (ticket: string): Record<string, string> => ({ authorization: `Bearer ${ticket}` });
    const offerWith = (ticket: string, path = `/api/stream/${id}`): Promise<ApiResponse> => api.anonymous().post(path, "v=0 offer", { ...sdp, ...bearing(ticket) });

    it("plays and hangs up, and signs nobody in", async () => {
      const { ticket, role, expiresAt, url } = await ticketFor(owner, { sessionId: id });
      expect({ role, url }).to.deep.equal({ role: "play", url: `${api.url}/api/stream/${id}` });
      expect(Date.parse(expiresAt) - Date.now()).to.be.within(590_000, 600_000);
      const response = await offerWith(ticket);
      expect(response.status, response.text).to.equal(201);
      expect(response.setCookies).to.deep.equal([]);
      streamerResponse = { status: 200, headers: {}, body: "" };
      expect((await api.anonymous().delete(new URL(response.headers.get("location")!).pathname, bearing(ticket))).status).to.equal(200);
      expect(seen.map(({ method }) => method)).to.deep.equal(["POST", "DELETE"]);
      for (const request of seen) expect(await ticketOf(request, id)).to.include({ aud: id, sub: owner.id, role: "play" });
      expectErrorResponse(await api.anonymous().get("/api/game/sessions", bearing(ticket)), 401, "unauthorized");
    });

    it("watches by a ticket to watch, beside the owner's cookie as well", async () => {
      const { ticket } = await ticketFor(owner, { sessionId: id, role: "watch" });
      expect((await offerWith(ticket)).status).to.equal(201);
      expect((await api.as(owner).post(`/api/stream/${id}`, "v=0 offer", { ...sdp, ...bearing(ticket) })).status).to.equal(201);
      for (const request of seen) expect(await ticketOf(request, id)).to.include({ role: "watch" });
    });

    it("may come from a page of any site, because browsers add no ticket by themselves", async () => {
      const { ticket } = await ticketFor(owner, { sessionId: id });
      const elsewhere = { ...sdp, "origin": "https://player.test", "sec-fetch-site": "cross-site" };
      expect((await api.anonymous().post(`/api/stream/${id}`, "v=0 offer", { ...elsewhere, ...bearing(ticket) })).status).to.equal(201);
      expectErrorResponse(await offer(owner, `/api/stream/${id}`, "v=0 offer", elsewhere), 403, "forbidden");
    });

    it("is refused when it is forged or expired, and for another session", async () => {
      const forged = new StreamTickets(new Map([["other", Buffer.alloc(32, 7)]]), api.deps.clock);
      const old = new StreamTickets(api.deps.config.auth.signingKeys, { ...api.deps.clock, now: () => new Date(Date.now() - 1_260_000) });
      const grant = { sessionId: id, userId: owner.id, role: "play" } as const;
      for (const tickets of [forged, old]) {
        const response = await offerWith(tickets.issue(grant, 600, tickets.publicKey)!.ticket);
        expectErrorResponse(response, 401, "unauthorized");
        expect(response.headers.get("www-authenticate")).to.match(/^Bearer /);
      }
      const other = await aUser(api.deps);
      const { ticket } = await ticketFor(other, { sessionId: await launched(other, podIp) });
      expectErrorResponse(await offerWith(ticket), 403, "forbidden");
      expectErrorResponse(await api.anonymous().delete(`/api/stream/${id}/connection-1`, bearing(ticket)), 403, "forbidden");
      expect(seen).to.have.length(0);
    });

    it("is given to the owner of an active session only, so many times a minute", async () => {
      const stranger = api.as(await aUser(api.deps));
      expectErrorResponse(await api.anonymous().post("/api/game/stream-ticket", { sessionId: id }), 401, "unauthorized");
      expectErrorResponse(await stranger.post("/api/game/stream-ticket", { sessionId: id }), 404, "not_found");
      expectErrorResponse(await api.as(owner).post("/api/game/stream-ticket", { sessionId: id, role: "operate" }), 400, "invalid_request");
      await operator.finish(id);
      await eventually(async () => (await api.as(owner).post("/api/game/stream-ticket", { sessionId: id })).status === 409, { what: "the end to be known" });
      const { statuses } = await sendTraffic(limits.streamTicket.perMinute + 1, () => stranger.post("/api/game/stream-ticket", { sessionId: id }));
      expect(statuses[429], JSON.stringify(statuses)).to.be.above(0);
    });

    it("still opens sessions that were launched before the signing key changed", async () => {
      const rotated = await startReplica(api, { env: { SIGNING_KEYS: `new:${randomBytes(32).toString("base64")},${keysOf(api)}` } });
      try {
        expect(rotated.deps.streamTickets.publicKey).to.not.equal(api.deps.streamTickets.publicKey);
        expect((await rotated.as(owner).post(`/api/stream/${id}`, "v=0 offer", sdp)).status).to.equal(201);
        expect(await ticketOf(seen[0], id)).to.include({ aud: id, role: "play" });
        const { ticket } = (await rotated.as(owner).post("/api/game/stream-ticket", { sessionId: id })).json<StreamTicketResponse>();
        expect((await offerWith(ticket)).status, "at a process that does not have the new key yet").to.equal(201);
      } finally {
        await stopReplica(rotated);
      }
    });
  });

  it("returns the pod's conflict when another viewer is connected", async () => {
    streamerResponse = { status: 409, headers: { "content-type": "application/json" }, body: JSON.stringify({ error: "viewer_active", message: "Taken." }) };
    const response = await offer(owner);
    expect(response.status).to.equal(409);
    expect(response.json()).to.include({ error: "viewer_active" });
  });

  it("does not pass on headers and bodies that a pod must not send to a browser", async () => {
    streamerResponse = { status: 302, headers: { location: "https://evil.example", "set-cookie": "a=b" }, body: "" };
    const redirected = await offer(owner);
    expectErrorResponse(redirected, 503, "unavailable");
    expect(redirected.headers.get("location")).to.be.null;
    streamerResponse = { status: 201, headers: { "content-type": "text/html", "set-cookie": "a=b", location: "https://evil.example/" }, body: "<script>" };
    const page = await offer(owner);
    expectErrorResponse(page, 503, "unavailable");
    streamerResponse = { status: 409, headers: { "content-type": "application/json" }, body: JSON.stringify({ error: "session_active", message: "Not mine to say." }) };
    expectErrorResponse(await offer(owner), 503, "unavailable");
    expect(page.headers.get("location")).to.be.null;
    expect(page.setCookies.join()).not.to.contain("a=b");
  });

  it("is for the owner of a running session only", async () => {
    expectErrorResponse(await offer(undefined), 401, "unauthorized");
    expectErrorResponse(await offer(await aUser(api.deps)), 404, "not_found");
    expectErrorResponse(await offer(owner, "/api/stream/gs-none"), 404, "not_found");
    expectErrorResponse(await api.as(await aUser(api.deps)).delete(`/api/stream/${id}/connection-1`), 404, "not_found");
    await operator.finish(id);
    await eventually(async () => (await offer(owner)).status === 409);
    expectErrorResponse(await offer(owner), 409, "not_running");
    expectErrorResponse(await api.as(owner).delete(`/api/stream/${id}/connection-1`), 409, "not_running");
  });

  it("refuses other types, long offers and odd queries", async () => {
    expectErrorResponse(await offer(owner, undefined, "{}", { "content-type": "application/json" }), 415, "unsupported_media_type");
    expectErrorResponse(await offer(owner, undefined, "v".repeat(65_537)), 413, "payload_too_large");
    expectErrorResponse(await offer(owner, `/api/stream/${id}?client=x`), 400, "invalid_request");
    expectErrorResponse(await offer(owner, `/api/stream/${id}?other=1`), 400, "invalid_request");
    expect(seen).to.have.length(0);
  });

  it("answers 503 when the pod does not respond", async () => {
    const other = await aUser(api.deps);
    const path = `/api/stream/${await launched(other, deadPodIp)}`;
    expectErrorResponse(await offer(other, path), 503, "unavailable");
  });
});

function keysOf({ deps }: TestApi): string {
  return [...deps.config.auth.signingKeys].map(([kid, key]) => `${kid}:${key.toString("base64")}`).join();
}
