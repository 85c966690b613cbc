import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { expect } from "chai";
import type { Browser } from "playwright-core";
import layout from "../../../games/testcard/layout.json" with { type: "json" };
import { sessionUserId } from "#contracts/nodeLayout.ts";
import { eventually } from "#test/support/clocks/eventually.ts";
import { openBottleneck } from "#test/support/session/bottleneck.ts";
import {
  buildGame,
  imageBuildMs,
  prepareSessionImages,
  type SessionImages,
} from "#test/support/session/containers.ts";
import { LateRemoval } from "#test/support/session/lateRemoval.ts";
import { lightStream, startSessionPair, type SessionPair } from "#test/support/session/sessionPair.ts";
import { launchBrowser, openViewer, type Viewer } from "#test/support/session/viewer.ts";
import { TestCard } from "#test/support/browser/testCard.ts";

const thisTab = "tab-aaaaaaaa";
const otherTab = "tab-bbbbbbbb";

/** A process of the sessions' user that sends descriptors which nobody receives. It ends with the test. */
async function holdDescriptorsInFlight(): Promise<ChildProcess> {
  const script =
    "import socket, time\nheld = [socket.socketpair() for _ in range(4)]\nfor near, far in held: socket.send_fds(near, [b'x'], [0] * 200)\nprint('held', flush=True)\ntime.sleep(60)";
  const identity = [`--reuid=${sessionUserId}`, `--regid=${sessionUserId}`, "--clear-groups"];
  const holder = spawn("setpriv", ["--pdeathsig=KILL", ...identity, "--", "/usr/bin/python3", "-c", script], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  await Promise.race([
    once(holder.stdout, "data"),
    once(holder, "exit").then(() => {
      throw new Error("Nothing holds descriptors in flight.");
    }),
  ]);
  return holder;
}

/** Pauses the media process, like a driver that hangs. */
const freezeMedia = `const { readdirSync, readFileSync } = require("node:fs");
for (const pid of readdirSync("/proc").filter((name) => /^[0-9]+$/.test(name) && Number(name) !== process.pid)) {
  if (readFileSync("/proc/" + pid + "/cmdline", "utf8").includes("mediaChild.ts")) process.kill(Number(pid), "SIGSTOP");
}`;

/**
 * Resolves after a second of play, by when the browser has sent several reports; otherwise its silence would
 * not be detected.
 */
async function played(viewer: Viewer): Promise<void> {
  await eventually(async () => ((await viewer.stats()).audio?.packetsReceived ?? 0) > 100, {
    what: "a second of play",
  });
}

describe("viewers of a session", function () {
  this.timeout(60_000); // capture continues for some seconds after a viewer has left
  const removal = new LateRemoval();
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
  });
  after(async () => {
    await browser.close();
    await removal.end();
  });
  beforeEach(async () => {
    pair = await startSessionPair({
      images,
      game: { archive, launcher: "testcard.sh" },
      streamerEnv: lightStream,
    });
    viewer = await openViewer(browser, pair);
  });
  afterEach(async () => {
    await viewer.close();
    await removal.begin(() => pair.remove());
  });

  it("reconnect after a reload, several times", async () => {
    for (const color of ["green", "blue", "yellow"] as const) {
      expect(await viewer.connect({ client: thisTab })).to.include({ status: 201 });
      await viewer.press("Space");
      await new TestCard(viewer).shows(layout.keyBlock, color);
      await viewer.reload();
    }
    expect((await pair.status()).connections).to.equal(3);
  });

  it("leave no key or button pressed when they disconnect", async () => {
    await viewer.connect({ client: thisTab });
    await viewer.send({ t: "key", c: "KeyW", d: 1 }, { t: "pad", s: [0, 0, 0, 0], l: 0, r: 0, b: 1 });
    await new TestCard(viewer).shows(layout.heldBlock, "white");
    await new TestCard(viewer).shows(layout.padBlock, "white");
    await viewer.reload();
    await viewer.connect({ client: thisTab });
    await new TestCard(viewer).shows(layout.heldBlock, "dark");
    await new TestCard(viewer).shows(layout.padBlock, "dark");
  });

  it("release keys and buttons a few seconds after losing their network, and continue in the same connection when it is back", async function () {
    this.timeout(90_000);
    const way = await openBottleneck(pair.udpPort);
    const remote = await openViewer(browser, pair, { mediaPort: way.port });
    try {
      expect(await remote.connect({ client: thisTab })).to.include({ status: 201 });
      const card = new TestCard(remote);
      await remote.send({ t: "key", c: "KeyW", d: 1 }, { t: "pad", s: [0, 0, 0, 0], l: 0, r: 0, b: 1 });
      await card.shows(layout.heldBlock, "white");
      await card.shows(layout.padBlock, "white");
      await played(remote);
      way.lose(1);
      // Only the log shows this, because no picture arrives either.
      await eventually(async () => (await pair.streamerLogs()).includes("A viewer fell silent"), {
        timeoutMs: 15_000,
        intervalMs: 500,
        what: "the silence to be noticed",
      });
      way.lose(0);
      await card.shows(layout.heldBlock, "dark");
      await card.shows(layout.padBlock, "dark");
      await eventually(async () => (await remote.notices()).some(({ t }) => t === "released"), {
        what: "the notice of it",
      });
      await remote.send({ t: "key", c: "KeyW", d: 1 });
      await card.shows(layout.heldBlock, "white");
      expect(await pair.status()).to.include({ viewers: 1, connections: 1 });
    } finally {
      await remote.close();
      way.close();
    }
  });

  it("see and hear the game although another session holds many descriptors in flight, which the kernel counts across sessions", async () => {
    const holder = await holdDescriptorsInFlight();
    try {
      expect(await viewer.connect({ client: thisTab })).to.include({ status: 201 });
      await new TestCard(viewer).shows(layout.keyBlock, "red");
      await eventually(async () => ((await viewer.stats()).audio?.packetsReceived ?? 0) > 50, {
        what: "the game's sound",
      });
      expect((await pair.status()).mediaRestarts).to.equal(0);
    } finally {
      holder.kill("SIGKILL");
    }
  });

  it("see the game again when the capture hangs in a driver", async () => {
    await viewer.connect({ client: thisTab });
    const card = new TestCard(viewer);
    await card.shows(layout.keyBlock, "red");
    const before = (await pair.status()).mediaRestarts;
    await pair.inStreamer("node", "-e", freezeMedia);
    await eventually(async () => (await pair.status()).mediaRestarts > before, {
      timeoutMs: 20_000,
      what: "another media child",
    });
    await viewer.press("Space");
    await card.shows(layout.keyBlock, "green");
  });

  it("take over from another tab only on request, and the other tab is notified", async () => {
    await viewer.connect({ client: thisTab });
    const other = await openViewer(browser, pair);
    try {
      const refused = await other.connect({ client: otherTab });
      expect(refused.status).to.equal(409);
      expect(JSON.parse(refused.body)).to.include({ error: "viewer_active" });
      expect(await other.connect({ client: otherTab, takeover: true })).to.include({ status: 201 });
      await eventually(async () => (await viewer.notices()).some(({ t }) => t === "taken-over"), {
        what: "the notice in the first tab",
      });
      await other.press("Space");
      await new TestCard(other).shows(layout.keyBlock, "green");
    } finally {
      await other.close();
    }
  });

  it("see the game with a ticket to watch, but cannot play, take over or end the player's connection", async () => {
    const watching = await openViewer(browser, pair, { role: "watch" });
    try {
      expect(await watching.connect({ client: thisTab })).to.include({ status: 201 });
      await new TestCard(watching).shows(layout.keyBlock, "red");
      await watching.press("Space");
      await watching.send({ t: "key", c: "KeyW", d: 1 }, { t: "ping", n: 9 });
      await eventually(
        async () => (await watching.notices()).some((notice) => notice.t === "pong" && notice.n === 9),
        { what: "all messages to be handled" },
      );
      expect(await pair.status()).to.include({ viewers: 1, lastInputAt: null });
      await new TestCard(watching).shows(layout.keyBlock, "red");
      await new TestCard(watching).shows(layout.heldBlock, "dark");

      expect(await viewer.connect({ client: thisTab, takeover: true })).to.include({ status: 201 });
      await viewer.press("Space");
      await new TestCard(viewer).shows(layout.keyBlock, "green");
      await watching.reload();
      for (const query of [{ client: otherTab, takeover: true }, { client: thisTab }]) {
        const { status, body } = await watching.connect(query);
        expect({ status, error: (JSON.parse(body) as { error: string }).error }).to.deep.equal({
          status: 409,
          error: "viewer_active",
        });
      }
    } finally {
      await watching.close();
    }
  });

  it("are not replaced by a viewer who only watches while their network is down for some seconds", async function () {
    this.timeout(90_000);
    const way = await openBottleneck(pair.udpPort);
    const remote = await openViewer(browser, pair, { mediaPort: way.port });
    const watching = await openViewer(browser, pair, { role: "watch" });
    try {
      expect(await remote.connect({ client: thisTab })).to.include({ status: 201 });
      await new TestCard(remote).shows(layout.keyBlock, "red");
      await played(remote);
      way.lose(1);
      await eventually(async () => (await pair.streamerLogs()).includes("A viewer fell silent"), {
        timeoutMs: 15_000,
        intervalMs: 500,
        what: "the silence to be noticed",
      });
      expect(await watching.connect({ client: otherTab })).to.include({ status: 409 });
      way.lose(0);
      await remote.press("Space");
      await new TestCard(remote).shows(layout.keyBlock, "green");
      expect(await pair.status()).to.include({ viewers: 1, connections: 1 });
    } finally {
      await watching.close();
      await remote.close();
      way.close();
    }
  });

  it("hang up with DELETE, after which the next one is admitted immediately", async () => {
    await viewer.connect({ client: thisTab });
    expect(await viewer.hangUp()).to.equal(200);
    expect(await viewer.hangUp()).to.equal(404);
    const next = await openViewer(browser, pair);
    try {
      expect(await next.connect({ client: otherTab })).to.include({ status: 201 });
    } finally {
      await next.close();
    }
  });

  it("get VP8 when that is what their browser decodes", async () => {
    expect(await viewer.connect({ codec: "video/vp8" })).to.include({ status: 201 });
    await new TestCard(viewer).shows(layout.keyBlock, "red");
    expect((await viewer.stats()).video?.codec).to.equal("video/VP8");
  });

  it("cause capture only while somebody watches", async () => {
    await viewer.connect({ client: thisTab });
    await eventually(async () => (await pair.status()).fps > 10, { what: "a running capture" });
    await viewer.hangUp();
    await eventually(async () => (await pair.status()).fps === 0, {
      timeoutMs: 15_000,
      what: "a capture at rest",
    });
    await viewer.reload();
    expect(await viewer.connect({ client: thisTab })).to.include({ status: 201 });
    await new TestCard(viewer).shows(layout.keyBlock, "red");
  });
});
