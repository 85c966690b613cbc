import { expect } from "chai";
import { connect } from "node:net";
import { TicketError, whep, WhepError } from "#contracts/stream.ts";
import type { TicketClaims } from "#contracts/streamTicket.ts";
import { eventually } from "#test/support/clocks/eventually.ts";
import { imageBuildMs, prepareSessionImages, type SessionImages } from "#test/support/session/containers.ts";
import { startSessionPair, type SessionPair } from "#test/support/session/sessionPair.ts";
import { bearing, TestTickets } from "#test/support/session/tickets.ts";
import { expectDocumented } from "#test/support/metrics/metricsDocument.ts";

const offerLines = [
  "v=0",
  "o=- 1 2 IN IP4 127.0.0.1",
  "s=-",
  "t=0 0",
  "a=group:BUNDLE 0",
  "m=video 9 UDP/TLS/RTP/SAVPF 96",
  "c=IN IP4 0.0.0.0",
  "a=mid:0",
  "a=recvonly",
  "a=rtcp-mux",
  "a=setup:actpass",
  "a=ice-ufrag:abcd",
  "a=ice-pwd:abcdefghijklmnopqrstuvwx",
  `a=fingerprint:sha-256 ${new Array(32).fill("AB").join(":")}`,
  "a=rtpmap:96 VP8/90000",
];
const offer = (lines = offerLines) => lines.join("\r\n") + "\r\n";
const without = (prefix: string) => offer(offerLines.filter((line) => !line.startsWith(prefix)));

describe("signalling of a session", () => {
  const game = { script: "#!/bin/sh\nexec sleep 600\n" };
  let images: SessionImages;
  let pair: SessionPair;

  before(async function () {
    this.timeout(imageBuildMs);
    images = await prepareSessionImages();
    pair = await startSessionPair({
      images,
      game,
      streamerEnv: { ANNOUNCE_ADDRESS: "192.0.2.7", SESSION_ID: "gs-own" },
    });
  });
  after(() => pair.remove());

  const playing = (claims: Partial<TicketClaims> = {}) => bearing(pair.tickets.viewer(claims));
  async function post(
    body: string,
    {
      query = "",
      type = "application/sdp",
      headers = {},
    }: { query?: string; type?: string; headers?: Record<string, string> } = {},
  ) {
    const response = await fetch(`${pair.signalUrl}${whep.path}${query}`, {
      method: "POST",
      headers: { "content-type": type, ...playing(), ...headers },
      body,
    });
    return {
      status: response.status,
      text: await response.text(),
      location: response.headers.get("location"),
    };
  }
  async function errorOf(response: ReturnType<typeof post>) {
    const { status, text } = await response;
    return { status, error: WhepError.parse(JSON.parse(text)).error };
  }

  it("answers with the announced address as the only candidate", async () => {
    const { status, text, location } = await post(offer());
    expect(status).to.equal(201);
    expect(location).to.match(/^\/whep\/[0-9a-f-]{36}$/);
    const candidates = text.split("\r\n").filter((line) => line.startsWith("a=candidate:"));
    expect(candidates).to.have.length(1);
    expect(candidates[0]).to.match(/^a=candidate:1 1 UDP \d+ 192\.0\.2\.7 \d+ typ host$/);
    expect(text).to.contain("a=end-of-candidates");
    const hangUp = async (headers?: Record<string, string>) =>
      (await fetch(pair.signalUrl + (location ?? ""), { method: "DELETE", headers: { ...headers } })).status;
    expect(await hangUp()).to.equal(401);
    expect(await hangUp(playing({ role: "watch" }))).to.equal(403);
    expect(await hangUp(playing({ sub: "another player" }))).to.equal(403);
    expect(await hangUp(playing())).to.equal(200);
  });

  it("holds an offer that arrives while it starts", async () => {
    const starting = await startSessionPair({ images, game, isReady: false });
    try {
      const headers = { "content-type": whep.contentType, ...bearing(starting.tickets.viewer()) };
      const postOffer = async () =>
        fetch(starting.signalUrl + whep.path, { method: "POST", headers, body: offer() });
      const response = await eventually(postOffer, {
        timeoutMs: 30_000,
        intervalMs: 5,
        what: "somebody who listens",
      });
      expect(response.status, await response.text()).to.equal(201);
      expect(await starting.streamerLogs()).to.match(/The streamer is ready.*A viewer was answered/s);
    } finally {
      await starting.remove();
    }
  });

  it("rejects an offer that names another session", async () => {
    const postFor = async (session: string) => {
      const headers = { "content-type": whep.contentType, [whep.sessionHeader]: session, ...playing() };
      return fetch(pair.signalUrl + whep.path, { method: "POST", headers, body: offer() });
    };
    expect((await postFor("gs-other")).status).to.equal(503);
    const taken = await postFor("gs-own");
    expect(taken.status).to.equal(201);
    await fetch(pair.signalUrl + (taken.headers.get("location") ?? ""), {
      method: "DELETE",
      headers: playing(),
    });
  });

  const nowSeconds = (): number => Math.floor(Date.now() / 1_000);
  const refused: [what: string, status: 401 | 403, headers: () => Record<string, string>][] = [
    ["without a ticket", 401, () => ({})],
    ["with the session's id as a ticket", 401, () => ({ authorization: "Bearer gs-own" })],
    ["with a forged ticket", 401, () => bearing(new TestTickets("gs-own").viewer())],
    ["with an expired ticket", 401, () => playing({ iat: nowSeconds() - 700, exp: nowSeconds() - 660 })],
    [
      "with a ticket of a time to come",
      401,
      () => playing({ iat: nowSeconds() + 660, exp: nowSeconds() + 700 }),
    ],
    ["with the operator's role by the viewers' key", 401, () => playing({ role: "operate" })],
    ["with another session's ticket", 403, () => playing({ aud: "gs-other" })],
    ["with the operator's ticket", 403, () => bearing(pair.tickets.operator())],
  ];
  for (const [what, status, headers] of refused) {
    it(`rejects viewers ${what}`, async () => {
      const requests: [method: string, path: string][] = [
        ["POST", whep.path],
        ["POST", `${whep.path}?takeover=true`],
        ["PATCH", `${whep.path}/x`],
        ["DELETE", `${whep.path}/x`],
      ];
      for (const [method, path] of requests) {
        const response = await fetch(pair.signalUrl + path, {
          method,
          headers: { "content-type": whep.contentType, ...headers() },
          ...(method === "POST" && { body: offer() }),
        });
        const { error } = TicketError.parse(await response.json());
        expect([response.status, error], `${method} ${path}`).to.deep.equal([
          status,
          status === 401 ? "unauthorized" : "forbidden",
        ]);
        expect(response.headers.get("www-authenticate")?.startsWith("Bearer ") ?? false).to.equal(
          status === 401,
        );
      }
      expect((await pair.status()).viewers).to.equal(0);
    });
  }

  it("accepts a ticket whose signer's clock is some minutes off", async () => {
    for (const minutes of [-9, 9]) {
      const seconds = nowSeconds() + 60 * minutes;
      expect(
        (await post("", { headers: playing({ iat: seconds, exp: seconds + 1 }) })).status,
        `${minutes} minutes`,
      ).to.equal(400);
    }
  });

  it("serves status and metrics only to the operator, even locally, and probes to everyone", async () => {
    const seen = async (path: string, headers: Record<string, string> = {}) =>
      (await fetch(pair.signalUrl + path, { headers })).status;
    for (const path of ["/status", "/metrics"]) {
      expect(await seen(path), path).to.equal(401);
      expect(await seen(path, bearing(new TestTickets("gs-own").operator())), path).to.equal(401);
      expect(await seen(path, bearing(pair.tickets.operator({ role: "play" }))), path).to.equal(401);
      expect(await seen(path, playing({ role: "operate" })), path).to.equal(401);
      expect(
        await seen(
          path,
          bearing(pair.tickets.operator({ iat: nowSeconds() - 700, exp: nowSeconds() - 660 })),
        ),
        path,
      ).to.equal(401);
      expect(await seen(path, bearing(pair.tickets.operator({ aud: "gs-other" }))), path).to.equal(403);
      expect(await seen(path, playing()), path).to.equal(403);
      expect(await seen(path, bearing(pair.tickets.operator())), path).to.equal(200);
    }
    for (const path of ["/healthz", "/readyz"]) expect(await seen(path), path).to.equal(200);
  });

  it("accepts offers without tickets for a session without tickets, and still serves status only to the operator", async () => {
    const older = await startSessionPair({ images, game, streamerEnv: { TICKET_PUBLIC_KEY: "none" } });
    try {
      const response = await fetch(older.signalUrl + whep.path, {
        method: "POST",
        headers: { "content-type": whep.contentType },
        body: offer(),
      });
      expect(response.status, await response.text()).to.equal(201);
      expect((await fetch(`${older.signalUrl}/status`)).status).to.equal(401);
    } finally {
      await older.remove();
    }
  });

  it("falls back to a working encoder when the GPU's do not work", async () => {
    const other = await startSessionPair({ images, game, streamerEnv: { PROFILE: "gpu" } });
    try {
      expect(await other.status()).to.include({ encoder: "x264enc", codec: "h264" });
      expect(await other.streamerLogs()).to.match(/"encoder":"nvh264enc","works":false/);
    } finally {
      await other.remove();
    }
  });

  const malformed: [what: string, body: string][] = [
    ["nothing", ""],
    ["other text", "hello"],
    ["control characters", offer().replace("s=-", "s=\u0000")],
    ["no fingerprint", without("a=fingerprint")],
    ["no video", without("m=video")],
    ["no mid", without("a=mid")],
    ["no codec that is sent", without("a=rtpmap")],
    ["two videos", offer([...offerLines, ...offerLines.slice(5)])],
    ["an unusable fingerprint", offer().replace("AB:AB", "zz:zz")],
    [
      "too many sections",
      offer([
        ...offerLines,
        ...new Array<string>(40).fill("m=application 9 UDP/DTLS/SCTP webrtc-datachannel"),
      ]),
    ],
  ];
  for (const [what, body] of malformed) {
    it(`rejects an offer with ${what}`, async () => {
      expect(await errorOf(post(body))).to.deep.equal({ status: 400, error: "invalid_offer" });
    });
  }

  it("rejects other media types, wrong parameters and endless offers", async () => {
    expect(await errorOf(post(offer(), { type: "application/json" }))).to.deep.equal({
      status: 415,
      error: "unsupported_media_type",
    });
    expect(await errorOf(post(offer(), { query: "?client=a" }))).to.deep.equal({
      status: 400,
      error: "invalid_query",
    });
    expect(await errorOf(post(offer(), { query: "?takeover=maybe" }))).to.deep.equal({
      status: 400,
      error: "invalid_query",
    });
    expect(await errorOf(post("v=0\r\n".repeat(100_000)))).to.deep.equal({
      status: 413,
      error: "offer_too_large",
    });
  });

  it("responds 404 to other paths and 405 to other methods", async () => {
    const of = async (path: string, method: string) =>
      (await fetch(pair.signalUrl + path, { method, headers: playing() })).status;
    expect(await of("/whep/unknown", "DELETE")).to.equal(404);
    expect(await of("/whep", "GET")).to.equal(405);
    expect(await of("/whep/x", "PATCH")).to.equal(405);
    expect(await of("/", "GET")).to.equal(404);
    expect(await of("/status", "POST")).to.equal(405);
  });

  it("serves probes, status and metrics after hostile requests", async () => {
    await new Promise<void>((resolve) => {
      const { port, hostname } = new URL(pair.signalUrl);
      const socket = connect(Number(port), hostname, () =>
        socket.end("POST /whep HTTP/1.1\r\nHost: x\r\nContent-Length: 99999999999999\r\n\r\nxx"),
      );
      socket
        .on("error", () => resolve())
        .on("close", () => resolve())
        .resume();
    });
    expect((await fetch(`${pair.signalUrl}/healthz`)).status).to.equal(200);
    expect((await fetch(`${pair.signalUrl}/readyz`)).status).to.equal(200);
    await eventually(async () => (await pair.status()).game === "running");
    const metrics = await pair.metrics();
    expect(metrics).to.match(/^joypod_streamer_viewers 0$/m);
    expectDocumented(metrics, ["Streamer"]);
  });
});
