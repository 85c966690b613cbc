import { expect } from "chai";
import type { Browser } from "playwright-core";
import { eventually } from "#test/support/clocks/eventually.ts";
import { openBottleneck, type Bottleneck } from "#test/support/session/bottleneck.ts";
import { buildGame, imageBuildMs, prepareSessionImages } from "#test/support/session/containers.ts";
import { startSessionPair, type SessionPair } from "#test/support/session/sessionPair.ts";
import { launchBrowser, openViewer, type Viewer } from "#test/support/session/viewer.ts";

const limitKbps = 2_000;
const delayMs = 50;
const wideKbps = 10_000;
const narrowKbps = 1_000;
const samplesPerSecond = 48_000;

describe("a narrow network path to the player", function () {
  this.timeout(90_000);
  let browser: Browser;
  let pair: SessionPair;
  let way: Bottleneck;
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
    });
    way = await openBottleneck(pair.udpPort);
    viewer = await openViewer(browser, pair, { mediaPort: way.port });
    expect(await viewer.connect()).to.include({ status: 201 });
  });
  after(async () => {
    await viewer.close();
    way.close();
    await pair.remove();
    await browser.close();
  });

  const decoded = async () => (await viewer.stats()).video?.framesDecoded ?? 0;

  it("gets a stream that fits, and a higher bitrate when it widens", async () => {
    await eventually(async () => (await pair.status()).kbps > limitKbps, {
      timeoutMs: 20_000,
      what: "more than fits",
    });
    way.limit(limitKbps, delayMs);
    await eventually(async () => (await pair.status()).kbps < limitKbps && way.queueMs() < 100, {
      timeoutMs: 10_000,
      intervalMs: 200,
      what: "a rate below the limit and an empty queue",
    });

    const before = await decoded();
    const droppedBefore = way.dropped();
    const queues: number[] = [];
    await eventually(
      async () => {
        queues.push(way.queueMs());
        return (await decoded()) > before + 100;
      },
      { timeoutMs: 10_000, intervalMs: 100, what: "100 more decoded frames" },
    );
    expect(Math.max(...queues), "longest queue in ms").to.be.below(300);
    expect(way.dropped() - droppedBefore, "dropped packets").to.be.below(50);
    const { kbps } = await pair.status();
    expect(kbps).to.be.within(200, limitKbps * 1.1);

    way.limit(undefined);
    await eventually(async () => (await pair.status()).kbps > 1.1 * limitKbps, {
      timeoutMs: 25_000,
      intervalMs: 200,
      what: "the rate to recover",
    });
    expect((await viewer.stats()).state).to.equal("connected");
  });

  it("does not fill up with retransmissions when most capacity is lost", async () => {
    way.limit(wideKbps);
    await eventually(async () => (await pair.status()).kbps > 2 * narrowKbps, {
      timeoutMs: 30_000,
      intervalMs: 200,
      what: "much more than fits later",
    });
    const droppedBefore = way.dropped();
    way.limit(narrowKbps);
    await eventually(async () => (await pair.status()).kbps < narrowKbps && way.queueMs() < 50, {
      timeoutMs: 10_000,
      intervalMs: 100,
      what: "an empty queue",
    });
    const frames = await decoded();
    await eventually(async () => (await decoded()) > frames + 60, {
      timeoutMs: 10_000,
      intervalMs: 100,
      what: "60 more decoded frames",
    });
    expect(way.dropped() - droppedBefore, "dropped packets").to.be.below(500);
  });

  it("loses every fifth packet, and little of the sound", async () => {
    way.limit(undefined);
    way.lose(0.2);
    const sound = async () => {
      const { concealedSamples = 0, totalSamplesReceived = 0 } = (await viewer.stats()).audio ?? {};
      return { concealedSamples, totalSamplesReceived };
    };
    // A busy browser also conceals some sound for a moment.
    await eventually(
      async () => {
        const before = await sound();
        await eventually(
          async () =>
            (await sound()).totalSamplesReceived > before.totalSamplesReceived + 2 * samplesPerSecond,
          { intervalMs: 200, what: "two seconds of sound" },
        );
        const after = await sound();
        return (
          (after.concealedSamples - before.concealedSamples) /
            (after.totalSamplesReceived - before.totalSamplesReceived) <
          0.1
        );
      },
      { timeoutMs: 40_000, intervalMs: 0, what: "two seconds with less than a tenth of the sound concealed" },
    );
  });
});
