import { expect } from "chai";
import type { Browser } from "playwright-core";
import layout from "../../../games/testcard/layout.json" with { type: "json" };
import type { StreamNotice } from "#contracts/stream.ts";
import { eventually } from "#test/support/clocks/eventually.ts";
import { waitForColor } from "#test/support/browser/picture.ts";
import { buildGame, imageBuildMs, prepareSessionImages } from "#test/support/session/containers.ts";
import { startSessionPair, type SessionPair } from "#test/support/session/sessionPair.ts";
import { launchBrowser, openViewer, type Viewer } from "#test/support/session/viewer.ts";

type Wish = Record<string, string | number>;
/** An encoder meets its bitrate over several seconds, not in each second. */
const margin = 1.15;

type Held = Extract<StreamNotice, { t: "quality" }>;

describe("the quality of a stream", function () {
  this.timeout(90_000);
  let browser: Browser;
  let pair: SessionPair;
  let viewer: Viewer;

  before(async function () {
    this.timeout(imageBuildMs);
    const images = await prepareSessionImages();
    const archive = await buildGame("testcard", images.game);
    browser = await launchBrowser();
    pair = await startSessionPair({
      images,
      game: { archive, launcher: "testcard.sh" },
      gameEnv: { TESTCARD_NOISE: "500" },
      streamerEnv: {
        FPS: "30",
        MAX_FPS: "60",
        QUALITY_PRESET: "auto",
        QUALITY_WIDTH: "640",
        QUALITY_HEIGHT: "640",
      },
    });
    viewer = await openViewer(browser, pair);
    expect(await viewer.connect()).to.include({ status: 201 });
  });
  after(async () => {
    await viewer.close();
    await pair.remove();
    await browser.close();
  });

  const heldQualities = async () =>
    (await viewer.notices()).filter((notice): notice is Held => notice.t === "quality");
  const shows = (width: number, height: number) =>
    eventually(
      async () => {
        const { frameWidth, frameHeight } = (await viewer.stats()).video ?? {};
        if (frameWidth !== width || frameHeight !== height)
          throw new Error(`the browser shows ${frameWidth} × ${frameHeight}`);
        return true;
      },
      { timeoutMs: 10_000, what: `a picture of ${width} × ${height}` },
    );
  const comesAtMost = (most: number) =>
    eventually(
      async () => {
        const { framesPerSecond = 0 } = (await viewer.stats()).video ?? {};
        if (framesPerSecond === 0 || framesPerSecond > most)
          throw new Error(`${framesPerSecond} frames a second`);
        return true;
      },
      { timeoutMs: 20_000, intervalMs: 200, what: `${most} frames a second at most` },
    );

  /** Requests a quality and returns the streamer's notice once it is in effect. */
  async function wish(wished: Wish): Promise<Held | undefined> {
    const before = (await heldQualities()).length;
    await viewer.sendRaw(JSON.stringify({ t: "quality", ...wished }));
    await eventually(async () => (await heldQualities()).length > before, {
      timeoutMs: 10_000,
      what: "a response",
    });
    return (await heldQualities()).at(-1);
  }

  /** Returns the video bitrate in kbit/s that the browser receives in the next two seconds. */
  async function receivedKbps(of = viewer): Promise<number> {
    const before = (await of.stats()).video;
    return eventually(
      async () => {
        const now = (await of.stats()).video;
        const ms = (now?.timestamp ?? 0) - (before?.timestamp ?? 0);
        return ms >= 2_000 && (8 * ((now?.bytesReceived ?? 0) - (before?.bytesReceived ?? 0))) / ms;
      },
      { timeoutMs: 10_000, what: "two seconds" },
    );
  }

  it("starts as launched, and the player learns the current and maximum quality", async () => {
    const notices = await viewer.notices();
    expect(notices[0]).to.include({ t: "hello", width: 640, height: 360, fps: 30 });
    expect(notices[1]).to.deep.equal({
      t: "quality",
      preset: "auto",
      width: 640,
      height: 360,
      fps: 30,
      maxKbps: 8_000,
      maximum: { width: 1_280, height: 720, fps: 60, maxKbps: 8_000 },
    });
    await shows(640, 360);
  });

  it("changes size, rate and bitrate in one connection", async () => {
    expect(await wish({ preset: "sharp" })).to.include({
      preset: "sharp",
      width: 1_280,
      height: 720,
      fps: 30,
      maxKbps: 8_000,
    });
    await shows(1_280, 720);
    await eventually(async () => (await receivedKbps()) > 2_000, {
      timeoutMs: 20_000,
      what: "more than data saver's cap",
    });

    expect(await wish({ preset: "dataSaver" })).to.include({
      preset: "dataSaver",
      width: 854,
      height: 480,
      fps: 30,
      maxKbps: 1_500,
    });
    await shows(854, 480);
    await eventually(async () => (await receivedKbps()) < 1_500 * margin, {
      timeoutMs: 8_000,
      what: "a bitrate under the cap",
    });

    expect(await wish({ preset: "dataSaver", fps: 15 })).to.include({ width: 854, fps: 15, maxKbps: 1_500 });
    await comesAtMost(18);
    expect(await wish({ preset: "auto", fps: 30, width: 640, height: 360, maxKbps: 900 })).to.include({
      preset: "auto",
      width: 640,
      height: 360,
      fps: 30,
      maxKbps: 900,
    });
    await shows(640, 360);
    await comesAtMost(34);
    await eventually(async () => (await receivedKbps()) < 900 * margin, {
      timeoutMs: 8_000,
      what: "a bitrate under the lower cap",
    });

    expect(await viewer.stats()).to.include({ state: "connected" });
    expect(await pair.status()).to.include({ connections: 1, mediaRestarts: 0, hasWindow: true });
  });

  it("keeps the game's display, so that pointing in a smaller picture reaches the right place", async () => {
    await shows(640, 360);
    await viewer.send({
      t: "move",
      x: Math.round((65_535 * 300) / 1_279),
      y: Math.round((65_535 * 650) / 719),
    });
    // At half the size the pointer's colour blends with its surroundings.
    await waitForColor(viewer, { x: 292, y: 642, width: 16, height: 16 }, layout.pointer.color, {
      tolerance: 110,
    });
  });

  it("never exceeds the session's maximum, and reports it", async () => {
    expect(
      await wish({ preset: "lowLatency", width: 3_840, height: 2_160, fps: 120, maxKbps: 100_000 }),
    ).to.include({ preset: "lowLatency", width: 1_280, height: 720, fps: 60, maxKbps: 8_000 });
    await shows(1_280, 720);
  });

  it("follows the last of many requests", async () => {
    const before = (await heldQualities()).length;
    // 40 at once. Changes a second apart would all be made.
    await viewer.page.evaluate(
      '(() => { for (let fps = 20; fps < 60; fps += 1) sendRaw(JSON.stringify({ t: "quality", preset: "dataSaver", fps })); })()',
    );
    await eventually(async () => (await heldQualities()).at(-1)?.fps === 59, {
      timeoutMs: 10_000,
      what: "the last wish",
    });
    expect((await heldQualities()).length - before).to.be.within(1, 39);
  });

  it("cannot be changed by viewers who only watch", async () => {
    await viewer.hangUp();
    const watcher = await openViewer(browser, pair, { role: "watch" });
    try {
      expect(await watcher.connect()).to.include({ status: 201 });
      await watcher.sendRaw(JSON.stringify({ t: "quality", preset: "auto" }));
      await watcher.send({ t: "ping", n: 1 });
      await eventually(async () => (await watcher.notices()).some(({ t }) => t === "pong"), {
        what: "a pong",
      });
      expect((await watcher.notices()).filter(({ t }) => t === "quality")).to.have.lengthOf(1);
      expect(await pair.metrics()).to.match(/^joypod_streamer_input_messages_rejected_total 1$/m);
    } finally {
      await watcher.close();
    }
  });

  it("is kept for the player's next connection", async () => {
    await viewer.reload();
    expect(await viewer.connect({ takeover: true })).to.include({ status: 201 });
    await viewer.sendRaw(JSON.stringify({ t: "quality", preset: "dataSaver", fps: 45 }));
    await eventually(async () => (await heldQualities()).at(-1)?.fps === 45, {
      timeoutMs: 10_000,
      what: "the wish to hold",
    });
    const next = await openViewer(browser, pair);
    try {
      expect(await next.connect({ takeover: true })).to.include({ status: 201 });
      expect((await next.notices()).find(({ t }) => t === "quality")).to.include({
        preset: "dataSaver",
        fps: 45,
        maxKbps: 1_500,
      });
      await eventually(async () => (await next.stats()).video?.frameWidth === 854, {
        what: "a picture of that size",
      });
      await eventually(async () => (await receivedKbps(next)) < 1_500 * margin, {
        timeoutMs: 8_000,
        what: "a bitrate under the cap",
      });
    } finally {
      await next.close();
    }
  });
});
