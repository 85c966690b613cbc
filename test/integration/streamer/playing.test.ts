import { expect } from "chai";
import type { Browser } from "playwright-core";
import layout from "../../../games/testcard/layout.json" with { type: "json" };
import { eventually } from "#test/support/clocks/eventually.ts";
import {
  buildGame,
  imageBuildMs,
  prepareSessionImages,
  type SessionImages,
} from "#test/support/session/containers.ts";
import { startSessionPair, type SessionPair } from "#test/support/session/sessionPair.ts";
import { launchBrowser, openViewer, type Viewer } from "#test/support/session/viewer.ts";
import { TestCard } from "#test/support/browser/testCard.ts";

describe("a streamed game", () => {
  let images: SessionImages;
  let archive: string;
  let browser: Browser;
  let pair: SessionPair;
  let viewer: Viewer;

  before(async function () {
    this.timeout(imageBuildMs);
    images = await prepareSessionImages();
    archive = await buildGame("testcard", images.game);
    browser = await launchBrowser();
    pair = await startSessionPair({ images, game: { archive, launcher: "testcard.sh" } });
    viewer = await openViewer(browser, pair);
    expect(await viewer.connect()).to.include({ status: 201 });
  });
  after(async () => {
    await viewer.close();
    await pair.remove();
    await browser.close();
  });

  it("is seen and heard, in H.264 and Opus", async () => {
    await new TestCard(viewer).shows(layout.keyBlock, "red");
    await eventually(
      async () => {
        const { video, audio } = await viewer.stats();
        return (
          video?.codec === "video/H264" &&
          video.framesPerSecond > 0 &&
          audio?.codec === "audio/opus" &&
          audio.audioLevel > 0.05
        );
      },
      { timeoutMs: 20_000, what: "frames and a tone" },
    );
  });

  it("reports picture format and connection quality to the player", async () => {
    await eventually(async () => (await viewer.notices()).some(({ t }) => t === "rate"), {
      what: "a rate notice",
    });
    expect((await viewer.notices())[0]).to.deep.equal({
      t: "hello",
      width: 1280,
      height: 720,
      fps: 60,
      codec: "h264",
      encoder: "x264enc",
      gamepad: false,
    });
  });

  it("answers a ping immediately", async () => {
    await viewer.send({ t: "ping", n: 7 });
    await eventually(async () =>
      (await viewer.notices()).some((notice) => notice.t === "pong" && notice.n === 7),
    );
  });

  it("counts a key once however long it is held, and shows that it is held", async () => {
    await viewer.send({ t: "key", c: "Space", d: 1 });
    await new TestCard(viewer).shows(layout.heldBlock, "white");
    await new TestCard(viewer).shows(layout.keyBlock, "green");
    await viewer.send({ t: "key", c: "Space", d: 0 });
    await new TestCard(viewer).shows(layout.heldBlock, "dark");
    await viewer.press("ArrowLeft");
    await new TestCard(viewer).shows(layout.keyBlock, "blue");
  });

  it("follows the mouse, absolute and relative, with buttons and wheel", async () => {
    const at = (x: number, y: number) => ({ x: x - 8, y: y - 8, width: 16, height: 16 });
    await viewer.send({
      t: "move",
      x: Math.round((65_535 * 300) / 1_279),
      y: Math.round((65_535 * 200) / 719),
    });
    await new TestCard(viewer).shows(at(296, 196), "orange");
    await viewer.send({ t: "rel", x: 40, y: -30 });
    await new TestCard(viewer).shows(at(336, 166), "orange");
    await viewer.send({ t: "btn", b: 0, d: 1 }, { t: "btn", b: 0, d: 0 });
    await new TestCard(viewer).shows(layout.clickBlock, "white");
    await viewer.send({ t: "wheel", x: 0, y: 2 });
    await new TestCard(viewer).shows(layout.wheelBlock, "blue");
    await viewer.send({ t: "wheel", x: 0, y: -1 });
    await new TestCard(viewer).shows(layout.wheelBlock, "green");
  });

  it("has a gamepad without any device on the machine", async () => {
    await viewer.send({ t: "pad", s: [32_767, 0, 0, 0], l: 0, r: 0, b: 1 });
    await new TestCard(viewer).shows(layout.padBlock, "white");
    await new TestCard(viewer).shows({ x: 800, y: 600, width: 40, height: 40 }, "white");
    await viewer.send({ t: "release" });
    await new TestCard(viewer).shows(layout.padBlock, "dark");
    await new TestCard(viewer).shows({ x: 620, y: 600, width: 40, height: 40 }, "white");
  });

  it("drops and counts malformed messages and continues", async () => {
    for (const text of [
      "",
      "{",
      "[]",
      "null",
      '{"t":"key"}',
      '{"t":"key","c":"Space","d":2}',
      '{"t":"move","x":1e9,"y":0}',
      "x".repeat(5_000),
    ]) {
      await viewer.sendRaw(text);
    }
    await eventually(
      async () => /^joypod_streamer_input_messages_rejected_total 8$/m.test(await pair.metrics()),
      { what: "8 rejected messages" },
    );
    await new TestCard(viewer).showsPressOf(() => viewer.press("KeyB"));
  });

  it("continues in the same connection after the media process died", async () => {
    await pair.inStreamer("sh", "-c", "kill -KILL $(pidof -s -x /usr/local/bin/node -o 1)");
    await eventually(async () => (await pair.status()).mediaRestarts === 1, {
      what: "a restarted media process",
    });
    const { video } = await viewer.stats();
    await eventually(
      async () => ((await viewer.stats()).video?.framesDecoded ?? 0) > (video?.framesDecoded ?? 0) + 30,
      {
        timeoutMs: 10_000,
        what: "30 more decoded frames",
      },
    );
    expect((await viewer.stats()).state).to.equal("connected");
    await new TestCard(viewer).showsPressOf(() => viewer.press("KeyC"));
  });
});
