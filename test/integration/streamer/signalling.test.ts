import { expect } from "chai";
import { connect } from "node:net";
import { whep, WhepError } from "#contracts/stream.ts";
import { eventually } from "#test/support/clocks/eventually.ts";
import { imageBuildMs, prepareSessionImages, type SessionImages } from "#test/support/session/containers.ts";
import { startSessionPair, type SessionPair } from "#test/support/session/sessionPair.ts";

const offerLines = [
  "v=0", "o=- 1 2 IN IP4 127.0.0.1", "s=-", "t=0 0", "a=group:BUNDLE 0",
  "m=video 9 UDP/TLS/RTP/SAVPF 96", "c=IN IP4 0.0.0.0", "a=mid:0", "a=recvonly", "a=rtcp-mux", "a=setup:actpass",
  "a=ice-ufrag:abcd", "a=ice-pwd:abcdefghijklmnopqrstuvwx", `a=fingerprint:sha-256 ${new Array(32).fill("AB").join(":")}`,
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
    pair = await startSessionPair({ images, game, streamerEnv: { ANNOUNCE_ADDRESS: "192.0.2.7", SESSION_ID: "gs-own" } });
  });
  after(() => pair.remove());

  async function post(body: string, { query = "", type = "application/sdp" } = {}) {
    const response = await fetch(`${pair.signalUrl}${whep.path}${query}`, { method: "POST", headers: { "content-type": type }, body });
    return { status: response.status, text: await response.text(), location: response.headers.get("location") };
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
    const hungUp = await fetch(pair.signalUrl + (location ?? ""), { method: "DELETE" });
    expect(hungUp.status).to.equal(200);
  });

  it("holds an offer that comes while it starts", async () => {
    const starting = await startSessionPair({ images, game, isReady: false });
    try {
      const postOffer = async () => fetch(starting.signalUrl + whep.path, { method: "POST", headers: { "content-type": whep.contentType }, body: offer() });
      const response = await eventually(postOffer, { timeoutMs: 30_000, intervalMs: 5, what: "somebody who listens" });
      expect(response.status, await response.text()).to.equal(201);
      expect(await starting.streamerLogs()).to.match(/The streamer is ready.*A viewer was answered/s);
    } finally {
      await starting.remove();
    }
  });

  it("refuses an offer that names another session", async () => {
    const postFor = async (session: string) => {
      const headers = { "content-type": whep.contentType, [whep.sessionHeader]: session };
      return fetch(pair.signalUrl + whep.path, { method: "POST", headers, body: offer() });
    };
    expect((await postFor("gs-other")).status).to.equal(503);
    const taken = await postFor("gs-own");
    expect(taken.status).to.equal(201);
    await fetch(pair.signalUrl + (taken.headers.get("location") ?? ""), { method: "DELETE" });
  });

  it("falls back to an encoder that works where the GPU's do not", async () => {
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
    ["too many sections", offer([...offerLines, ...new Array<string>(40).fill("m=application 9 UDP/DTLS/SCTP webrtc-datachannel")])],
  ];
  for (const [what, body] of malformed) {
    it(`refuses an offer with ${what}`, async () => {
      expect(await errorOf(post(body))).to.deep.equal({ status: 400, error: "invalid_offer" });
    });
  }

  it("refuses other media types, wrong parameters and endless offers", async () => {
    expect(await errorOf(post(offer(), { type: "application/json" }))).to.deep.equal({ status: 415, error: "unsupported_media_type" });
    expect(await errorOf(post(offer(), { query: "?client=a" }))).to.deep.equal({ status: 400, error: "invalid_query" });
    expect(await errorOf(post(offer(), { query: "?takeover=maybe" }))).to.deep.equal({ status: 400, error: "invalid_query" });
    expect(await errorOf(post("v=0\r\n".repeat(100_000)))).to.deep.equal({ status: 413, error: "offer_too_large" });
  });

  it("is 404 at any other path, and 405 with any other method", async () => {
    const of = async (path: string, method: string) => (await fetch(pair.signalUrl + path, { method })).status;
    expect(await of("/whep/unknown", "DELETE")).to.equal(404);
    expect(await of("/whep", "GET")).to.equal(405);
    expect(await of("/whep/x", "PATCH")).to.equal(405);
    expect(await of("/", "GET")).to.equal(404);
    expect(await of("/status", "POST")).to.equal(405);
  });

  it("serves probes, status and metrics, also after hostile requests", async () => {
    await new Promise<void>((resolve) => {
      const { port, hostname } = new URL(pair.signalUrl);
      const socket = connect(Number(port), hostname, () => socket.end("POST /whep HTTP/1.1\r\nHost: x\r\nContent-Length: 99999999999999\r\n\r\nxx"));
      socket.on("error", () => resolve()).on("close", () => resolve()).resume();
    });
    expect((await fetch(`${pair.signalUrl}/healthz`)).status).to.equal(200);
    expect((await fetch(`${pair.signalUrl}/readyz`)).status).to.equal(200);
    await eventually(async () => (await pair.status()).game === "running");
    expect(await pair.metrics()).to.match(/^joypod_streamer_viewers 0$/m);
  });
});
