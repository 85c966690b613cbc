import { createHmac, randomBytes } from "node:crypto";
import { expect } from "chai";
import { StreamTickets } from "#api/auth/streamTickets.ts";
import { newGameSessionId } from "#api/gameSessions/launching/decideLaunch.ts";
import type { StreamTicketResponse } from "#contracts/http/gameSessions.ts";
import type { IceServersResponse } from "#contracts/http/iceServers.ts";
import { limits } from "#contracts/limits.ts";
import { bearerTicket, readTicket, ticketVerifyingKey, type TicketClaims } from "#contracts/streamTicket.ts";
import { aGame, aGameSessionRow, aUser, type TestUser } from "#test/factories/catalog.ts";
import { aGameSessionSpec } from "#test/factories/gameSession.ts";
import { TestApi } from "#test/support/http/api.ts";
import { expectErrorResponse, type ApiResponse } from "#test/support/http/apiClient.ts";
import { eventually } from "#test/support/clocks/eventually.ts";
import { startReplica, stopReplica } from "#test/support/http/replica.ts";
import { sendTraffic } from "#test/support/http/traffic.ts";
import { FakeStreamer, type SeenRequest } from "#test/support/session/fakeStreamer.ts";
import { operatorOf, type FakeOperator } from "#test/support/cluster/fakeOperator.ts";
import { loopbackIp } from "#test/support/processes/loopbackIp.ts";

/** A loopback address that stands for the pods. */
const podIp = loopbackIp();
const sdp = { "content-type": "application/sdp" };

const relays = ["turn:turn.example.com:3478?transport=udp", "turns:turn.example.com:443?transport=tcp"];
const relaySecret = randomBytes(32).toString("base64");

describe("stream tickets", function () {
  this.timeout(60_000);
  let api: TestApi;
  let operator: FakeOperator;
  let streamer: FakeStreamer;
  let owner: TestUser;
  let id: string;

  before(async () => {
    api = await TestApi.start({ kube: true, env: { TURN_URLS: relays.join(","), TURN_SECRET: relaySecret } });
    operator = operatorOf(api);
    await operator.addNode(100);
    await eventually(() => api.deps.cluster.gameNodes.cache.size > 0);
    streamer = await FakeStreamer.at(podIp);
  });
  beforeEach(async () => {
    streamer.reset();
    owner = await aUser(api.deps);
    id = await launched(owner);
  });
  after(async () => {
    streamer.stop();
    await operator.removeNodes();
    await api.stop();
  });

  async function launched(user: TestUser, at = api): Promise<string> {
    const { slug } = await aGame(api.deps);
    const { sessionId } = (await at.as(user).post("/api/game/launch", { gameSlug: slug })).json<{
      sessionId: string;
    }>();
    await operator.makeReady(sessionId, { podIp });
    await eventually(
      async () =>
        (await api.deps.postgres.prisma.gameSession.findUniqueOrThrow({ where: { id: sessionId } }))
          .status === "running",
    );
    return sessionId;
  }

  function offer(user: TestUser, headers: Record<string, string> = {}): Promise<ApiResponse> {
    return api.as(user).post(`/api/stream/${id}`, "v=0 offer", { ...sdp, ...headers });
  }

  /** What a request's ticket says to a streamer that knows the key in its session's spec. */
  async function ticketOf(
    request: SeenRequest | undefined,
    sessionId: string,
  ): Promise<TicketClaims | undefined> {
    const { ticketPublicKey } = (await operator.session(sessionId)).spec;
    const ticket = bearerTicket(request?.headers.authorization);
    return ticket === undefined || ticketPublicKey === undefined
      ? undefined
      : readTicket(ticket, ticketVerifyingKey(ticketPublicKey), new Date());
  }

  /** What a relay that knows the secret wants as the password of such a user. */
  function passwordOf(username: string | undefined): string {
    return createHmac("sha1", relaySecret)
      .update(username ?? "")
      .digest("base64");
  }

  it("come with relays and the player's credentials for an hour", async () => {
    const askedAt = Date.now() / 1_000;
    const {
      iceServers: [server],
      expiresInSeconds,
    } = (await api.as(owner).get("/api/stream/ice-servers")).json<IceServersResponse>();
    expect(expiresInSeconds).to.equal(3_600);
    expect(server?.urls).to.deep.equal(relays);
    const [expiry, name] = server?.username?.split(":") ?? [];
    expect(name).to.equal(owner.id);
    expect(Number(expiry)).to.be.within(askedAt + 3_599, Date.now() / 1_000 + 3_601);
    expect(server?.credential).to.equal(passwordOf(server?.username));
    expectErrorResponse(await api.anonymous().get("/api/stream/ice-servers"), 401, "unauthorized");
  });

  it("give WHEP players the relays in Link headers, of the response and of OPTIONS with a ticket", async () => {
    const response = await offer(owner);
    const { ticket } = (
      await api.as(owner).post("/api/game/stream-ticket", { sessionId: id })
    ).json<StreamTicketResponse>();
    const options = await api
      .anonymous()
      .request("OPTIONS", `/api/stream/${id}`, { headers: { authorization: `Bearer ${ticket}` } });
    for (const { headers } of [response, options]) {
      const links = (headers.get("link") ?? "").split(", ");
      expect(links).to.have.length(relays.length);
      links.forEach((link, index) => {
        const [, url, username, credential] =
          /^<([^>]+)>; rel="ice-server"; username="([^"]+)"; credential="([^"]+)"; credential-type="password"$/.exec(
            link,
          ) ?? [];
        expect(url).to.equal(relays[index]);
        expect(username).to.match(new RegExp(`^\\d+:${owner.id}$`));
        expect(credential).to.equal(passwordOf(username));
      });
    }
    for (const authorization of [undefined, "Bearer forged"]) {
      const refused = await api.anonymous().request("OPTIONS", `/api/stream/${id}`, {
        headers: { ...(authorization !== undefined && { authorization }) },
      });
      expect(refused.headers.get("link")).to.equal(null);
      expect(refused.headers.get("accept-post")).to.equal("application/sdp");
    }
  });

  it("give watchers another name at the relays than the player's, only with a ticket for the session in the path", async () => {
    const { ticket } = (
      await api.as(owner).post("/api/game/stream-ticket", { sessionId: id, role: "watch" })
    ).json<StreamTicketResponse>();
    const authorization = `Bearer ${ticket}`;
    const optionsOf = (sessionId: string): Promise<ApiResponse> =>
      api.anonymous().request("OPTIONS", `/api/stream/${sessionId}`, { headers: { authorization } });
    for (const { headers } of [
      await api.anonymous().post(`/api/stream/${id}`, "v=0 offer", { ...sdp, authorization }),
      await optionsOf(id),
    ]) {
      expect(headers.get("link"))
        .to.match(new RegExp(`username="\\d+:${owner.id}\\.watch"`))
        .and.not.contain(`:${owner.id}"`);
    }
    expect((await optionsOf(newGameSessionId("none"))).headers.get("link")).to.equal(null);
  });

  it("are added to the offers and hang-ups of signed-in players on their way to the pod", async () => {
    expect((await operator.session(id)).spec.ticketPublicKey).to.equal(api.deps.streamTickets.publicKey);
    expect((await offer(owner)).status).to.equal(201);
    streamer.response = { status: 200, headers: {}, body: "" };
    expect((await api.as(owner).delete(`/api/stream/${id}/connection-1`)).status).to.equal(200);
    expect(streamer.seen.map(({ method }) => method)).to.deep.equal(["POST", "DELETE"]);
    for (const request of streamer.seen) {
      expect(await ticketOf(request, id)).to.include({ aud: id, sub: owner.id, role: "play" });
      expect(request.headers).to.not.have.any.keys("cookie");
    }
  });

  it("that a streamer refuses are logged, and do not make the page sign in again", async () => {
    for (const [status, error] of [
      [401, "unauthorized"],
      [403, "forbidden"],
    ] as const) {
      streamer.response = {
        status,
        headers: { "content-type": "application/json" },
        body: JSON.stringify({ error, message: "No." }),
      };
      expectErrorResponse(await offer(owner), 503, "unavailable");
    }
    expect(
      api.logLines.filter((line) => line.includes(id) && line.includes("rejected the API's ticket")),
    ).to.have.length(2);
  });

  it("are omitted if the session's streamer does not require them", async () => {
    const [player, game] = [await aUser(api.deps), await aGame(api.deps)];
    const older = newGameSessionId("none");
    await operator.sessions.create({
      metadata: { name: older, namespace: api.kube!.sessionsNamespace },
      spec: aGameSessionSpec({ userId: player.id }),
    });
    await operator.makeReady(older, { podIp });
    await aGameSessionRow(api.deps, { user: player, game }, { id: older });
    const offerTo = async (): Promise<ApiResponse> =>
      api.as(player).post(`/api/stream/${older}`, "v=0 offer", sdp);
    await eventually(async () => (await offerTo()).status === 201, {
      what: "the session of an earlier version to be known",
    });
    expect(streamer.seen.at(-1)!.headers).to.not.have.any.keys("authorization");
  });

  describe("instead of a cookie", () => {
    async function ticketFor(user: TestUser, body: Record<string, string>): Promise<StreamTicketResponse> {
      const response = await api.as(user).post("/api/game/stream-ticket", body);
      expect(response.status, response.text).to.equal(200);
      return response.json<StreamTicketResponse>();
    }
    const bearing = (ticket: string): Record<string, string> => ({ authorization: `Bearer ${ticket}` });
    const offerWith = (ticket: string, path = `/api/stream/${id}`): Promise<ApiResponse> =>
      api.anonymous().post(path, "v=0 offer", { ...sdp, ...bearing(ticket) });

    it("plays and hangs up without signing anybody in", async () => {
      const askedAt = Date.now();
      const { ticket, role, expiresAt, url } = await ticketFor(owner, { sessionId: id });
      expect({ role, url }).to.deep.equal({ role: "play", url: `${api.url}/api/stream/${id}` });
      expect(Date.parse(expiresAt)).to.be.within(askedAt + 599_000, Date.now() + 600_000);
      const response = await offerWith(ticket);
      expect(response.status, response.text).to.equal(201);
      expect(response.setCookies).to.deep.equal([]);
      streamer.response = { status: 200, headers: {}, body: "" };
      expect(
        (await api.anonymous().delete(new URL(response.headers.get("location")!).pathname, bearing(ticket)))
          .status,
      ).to.equal(200);
      expect(streamer.seen.map(({ method }) => method)).to.deep.equal(["POST", "DELETE"]);
      for (const request of streamer.seen)
        expect(await ticketOf(request, id)).to.include({ aud: id, sub: owner.id, role: "play" });
      expectErrorResponse(
        await api.anonymous().get("/api/game/sessions", bearing(ticket)),
        401,
        "unauthorized",
      );
    });

    it("watches with a watch ticket, even next to the owner's cookie", async () => {
      const { ticket } = await ticketFor(owner, { sessionId: id, role: "watch" });
      expect((await offerWith(ticket)).status).to.equal(201);
      expect(
        (await api.as(owner).post(`/api/stream/${id}`, "v=0 offer", { ...sdp, ...bearing(ticket) })).status,
      ).to.equal(201);
      for (const request of streamer.seen) expect(await ticketOf(request, id)).to.include({ role: "watch" });
    });

    it("counts watchers against their own rate limit", async () => {
      const { ticket } = await ticketFor(owner, { sessionId: id, role: "watch" });
      const { statuses } = await sendTraffic(limits.gameSession.pollsPerMinute + 1, () => offerWith(ticket));
      expect(statuses[429], JSON.stringify(statuses)).to.be.above(0);
      const response = await offer(owner);
      expect(response.status, response.text).to.equal(201);
      expect((await api.as(owner).get("/api/stream/ice-servers")).status).to.equal(200);
    });

    it("accepts tickets from pages of any site", async () => {
      const { ticket } = await ticketFor(owner, { sessionId: id });
      const elsewhere = { ...sdp, origin: "https://player.test", "sec-fetch-site": "cross-site" };
      expect(
        (await api.anonymous().post(`/api/stream/${id}`, "v=0 offer", { ...elsewhere, ...bearing(ticket) }))
          .status,
      ).to.equal(201);
      expectErrorResponse(await offer(owner, elsewhere), 403, "forbidden");
    });

    it("rejects forged, expired and foreign tickets", async () => {
      const forged = new StreamTickets(new Map([["other", Buffer.alloc(32, 7)]]), api.deps.clock);
      const old = new StreamTickets(api.deps.config.auth.signingKeys, {
        ...api.deps.clock,
        now: () => new Date(Date.now() - 1_260_000),
      });
      const grant = { sessionId: id, userId: owner.id, role: "play" } as const;
      for (const tickets of [forged, old]) {
        const response = await offerWith(tickets.issue(grant, 600, tickets.publicKey)!.ticket);
        expectErrorResponse(response, 401, "unauthorized");
        expect(response.headers.get("www-authenticate")).to.match(/^Bearer /);
      }
      const other = await aUser(api.deps);
      const { ticket } = await ticketFor(other, { sessionId: await launched(other) });
      expectErrorResponse(await offerWith(ticket), 403, "forbidden");
      expectErrorResponse(
        await api.anonymous().delete(`/api/stream/${id}/connection-1`, bearing(ticket)),
        403,
        "forbidden",
      );
      expect(streamer.seen).to.have.length(0);
    });

    it("issues rate-limited tickets to the owner of an active session only", async () => {
      const stranger = api.as(await aUser(api.deps));
      expectErrorResponse(
        await api.anonymous().post("/api/game/stream-ticket", { sessionId: id }),
        401,
        "unauthorized",
      );
      expectErrorResponse(
        await stranger.post("/api/game/stream-ticket", { sessionId: id }),
        404,
        "not_found",
      );
      expectErrorResponse(
        await api.as(owner).post("/api/game/stream-ticket", { sessionId: id, role: "operate" }),
        400,
        "invalid_request",
      );
      await operator.finish(id);
      await eventually(
        async () => (await api.as(owner).post("/api/game/stream-ticket", { sessionId: id })).status === 409,
        { what: "the end to be known" },
      );
      const { statuses } = await sendTraffic(limits.streamTicket.perMinute + 1, () =>
        stranger.post("/api/game/stream-ticket", { sessionId: id }),
      );
      expect(statuses[429], JSON.stringify(statuses)).to.be.above(0);
    });

    it("opens sessions launched before the signing key changed", async () => {
      const rotated = await startReplica(api, {
        env: { SIGNING_KEYS: `new:${randomBytes(32).toString("base64")},${keysOf(api)}` },
      });
      try {
        expect(rotated.deps.streamTickets.publicKey).to.not.equal(api.deps.streamTickets.publicKey);
        expect((await rotated.as(owner).post(`/api/stream/${id}`, "v=0 offer", sdp)).status).to.equal(201);
        expect(await ticketOf(streamer.seen[0], id)).to.include({ aud: id, role: "play" });
        const { ticket } = (
          await rotated.as(owner).post("/api/game/stream-ticket", { sessionId: id })
        ).json<StreamTicketResponse>();
        expect((await offerWith(ticket)).status, "at a process that does not have the new key yet").to.equal(
          201,
        );
      } finally {
        await stopReplica(rotated);
      }
    });

    it("opens at each replica what another has launched, while one of them signs with a new key that both know", async () => {
      const key = `new:${randomBytes(32).toString("base64")}`;
      const before = await startReplica(api, { env: { SIGNING_KEYS: `${keysOf(api)},${key}` } });
      const after = await startReplica(api, { env: { SIGNING_KEYS: `${key},${keysOf(api)}` } });
      try {
        for (const [launching, other] of [
          [before, after],
          [after, before],
        ] as const) {
          const player = await aUser(api.deps);
          const sessionId = await launched(player, launching);
          const { ticketPublicKey } = (await operator.session(sessionId)).spec;
          expect(ticketPublicKey)
            .to.equal(launching.deps.streamTickets.publicKey)
            .and.not.equal(other.deps.streamTickets.publicKey);
          const path = `/api/stream/${sessionId}`;
          for (const replica of [launching, other]) {
            await eventually(
              async () => (await replica.as(player).post(path, "v=0 offer", sdp)).status === 201,
              { what: "the replica to know the session's pod" },
            );
            expect(await ticketOf(streamer.seen.at(-1), sessionId)).to.include({
              aud: sessionId,
              role: "play",
            });
          }
          const { ticket } = (
            await other.as(player).post("/api/game/stream-ticket", { sessionId })
          ).json<StreamTicketResponse>();
          expect(
            (await launching.anonymous().post(path, "v=0 offer", { ...sdp, ...bearing(ticket) })).status,
          ).to.equal(201);
        }
      } finally {
        await stopReplica(after);
        await stopReplica(before);
      }
    });
  });
});

function keysOf({ deps }: TestApi): string {
  return [...deps.config.auth.signingKeys].map(([kid, key]) => `${kid}:${key.toString("base64")}`).join();
}
