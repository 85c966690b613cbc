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
import { LateRemoval } from "#test/support/session/lateRemoval.ts";
import {
  lightStream,
  startSessionPair,
  startStreamer,
  type SessionPair,
  type SessionPairOptions,
} from "#test/support/session/sessionPair.ts";
import { launchBrowser, openViewer, type Viewer } from "#test/support/session/viewer.ts";
import { TestCard } from "#test/support/browser/testCard.ts";

describe("the end of a session", () => {
  const removal = new LateRemoval();
  let images: SessionImages;
  let testcardGame: SessionPairOptions["game"];
  let browser: Browser;
  let pairs: SessionPair[];
  let viewers: Viewer[];

  before(async function () {
    this.timeout(imageBuildMs);
    images = await prepareSessionImages();
    testcardGame = { archive: await buildGame("testcard", images.game), launcher: "testcard.sh" };
    browser = await launchBrowser();
  });
  after(async () => {
    await browser.close();
    await removal.end();
  });
  beforeEach(() => {
    pairs = [];
    viewers = [];
  });
  afterEach(async () => {
    for (const viewer of viewers) await viewer.close();
    const ended = pairs.toReversed();
    await removal.begin(async () => {
      for (const pair of ended) await pair.remove();
    });
  });

  async function start(options: Partial<SessionPairOptions> = {}): Promise<SessionPair> {
    const pair = await startSessionPair({ images, game: testcardGame, streamerEnv: lightStream, ...options });
    pairs.push(pair);
    return pair;
  }
  async function play(pair: SessionPair): Promise<Viewer> {
    const viewer = await openViewer(browser, pair);
    viewers.push(viewer);
    expect(await viewer.connect()).to.include({ status: 201 });
    return viewer;
  }
  async function endNotice(viewer: Viewer, by: "game" | "streamer") {
    return eventually(
      async () => (await viewer.notices()).find((notice) => notice.t === "ended" && notice.by === by),
      { what: `the ${by}'s end` },
    );
  }

  it("comes immediately when requested while the streamer is starting", async () => {
    let endedBefore = 0;
    // On a busy machine some streamers are ready before the signal arrives. One that delays its end until it
    // is ready always is.
    for (let round = 0; round < 10 && endedBefore < 3; round++) {
      const streamer = await startStreamer(images);
      try {
        await streamer.signal("TERM");
        await eventually(() => streamer.hasExited(), {
          what: `the streamer's end in round ${round}`,
          timeoutMs: 20_000,
        });
        if (!(await streamer.log()).includes("The streamer is ready.")) endedBefore++;
      } finally {
        await streamer.remove();
      }
    }
    expect(endedBefore, "streamers that ended before they were ready").to.equal(3);
  });

  it("stops the game first, notifies the player and leaves both termination reports", async () => {
    const startedMs = Date.now();
    const pair = await start();
    const viewer = await play(pair);
    await new TestCard(viewer).shows(layout.keyBlock, "red");
    await pair.signalGame("TERM");
    expect(await pair.gameExit()).to.equal(0);
    expect(await endNotice(viewer, "game")).to.deep.equal({
      t: "ended",
      by: "game",
      reason: "stopped",
      exitCode: 0,
    });
    await pair.signalStreamer("TERM");
    expect(await pair.streamerExit()).to.equal(0);

    const game = await pair.gameMessage();
    expect(game).to.include({ state: "ended", reason: "stopped", exitCode: 0, oomKills: 0 });
    expect(game?.cpuSeconds).to.be.greaterThan(0);
    expect(game?.peakMemoryBytes).to.be.greaterThan(500_000);
    const streamer = await pair.streamerMessage();
    expect(streamer).to.include({ state: "ended", reason: "stopped", connections: 1 });
    expect(streamer?.game).to.deep.equal(game);
    expect(streamer?.stream).to.include({ width: 1280, height: 720 });
    expect(streamer?.stream?.averageFps).to.be.greaterThan(1);
    expect(streamer?.stream?.averageKbps).to.be.greaterThan(1);
    expect(Date.parse(streamer?.stream?.firstPictureAt ?? "")).to.be.within(startedMs, Date.now());
  });

  it("notifies the player when the streamer is stopped while the game runs", async () => {
    const pair = await start();
    const viewer = await play(pair);
    await pair.signalStreamer("TERM");
    expect(await endNotice(viewer, "streamer")).to.include({ reason: "unknown" });
    expect(await pair.streamerExit()).to.equal(0);
  });

  it("reports the exit code of a game that exits", async () => {
    const pair = await start();
    const viewer = await play(pair);
    await new TestCard(viewer).shows(layout.keyBlock, "red");
    await viewer.press("KeyX");
    expect(await endNotice(viewer, "game")).to.include({ reason: "exited", exitCode: 3 });
    expect(await pair.gameExit()).to.equal(3);
    expect(await pair.gameMessage()).to.include({ state: "ended", reason: "exited", exitCode: 3 });
  });

  it("leaves the game's progress in the saves for the next session", async () => {
    const first = await start();
    const viewer = await play(first);
    await new TestCard(viewer).shows(layout.keyBlock, "red");
    for (let presses = 0; presses < 5; presses++) await viewer.press("Space");
    await new TestCard(viewer).shows(layout.keyBlock, "magenta");
    await first.signalGame("TERM");
    await first.gameExit();

    const second = await start({ saves: first.saves });
    const later = await play(second);
    await new TestCard(later).shows(layout.keyBlock, "magenta");
    await new TestCard(later).showsPresses(5);
  });

  it("kills a game that does not stop within its grace", async () => {
    const pair = await start({
      game: { script: "#!/bin/sh\ntrap '' TERM\nwhile :; do sleep 1; done\n" },
      gameEnv: { GAME_GRACE_SECONDS: "1" },
    });
    await eventually(async () => (await pair.gameMessage())?.state === "running");
    await pair.signalGame("TERM");
    expect(await pair.gameExit()).to.equal(0);
    expect(await pair.gameMessage()).to.include({
      state: "ended",
      reason: "stopped-by-kill",
      endedBy: "sigkill",
    });
  });

  it("reports folders that were full, and what ended the game", async () => {
    const fill = "dd if=/dev/zero of=/tmp/full bs=1M count=4096";
    const pair = await start({
      game: { script: `#!/bin/sh\n${fill}; sleep 1; rm /tmp/full; exec sleep 600\n` },
    });
    await eventually(async () => (await pair.gameMessage())?.fullFolders?.includes("tmp"), {
      what: "a report of the full folder",
    });
    await pair.signalGame("TERM");
    expect(await pair.gameExit()).to.equal(0);
    expect(await pair.gameMessage()).to.deep.include({
      reason: "stopped",
      endedBy: "sigterm",
      fullFolders: ["tmp"],
    });
  });

  it("reports the signal of a game that crashed", async () => {
    const pair = await start({ game: { script: "#!/bin/sh\nkill -SEGV $$\n" } });
    expect(await pair.gameExit()).to.equal(139);
    expect(await pair.gameMessage()).to.include({ state: "ended", reason: "signal-11", exitCode: 139 });
  });

  it("reports a game that ran out of memory", async () => {
    const pair = await start({ game: { script: "#!/bin/sh\ntail /dev/zero\n" }, gameMemory: "64m" });
    expect(await pair.gameExit()).to.equal(137);
    const message = await pair.gameMessage();
    expect(message).to.include({ state: "ended", reason: "out-of-memory", exitCode: 137 });
    expect(message?.peakMemoryBytes).to.be.within(50_000_000, 68_000_000);
  });

  it("leaves a last termination report when the supervisor is killed", async () => {
    const pair = await start();
    await eventually(async () => ((await pair.gameMessage())?.wallSeconds ?? 0) > 2, {
      what: "a second account",
    });
    await pair.signalGame("KILL");
    expect(await pair.gameExit()).to.equal(137);
    expect(await pair.gameMessage()).to.include({ state: "running", reason: null });
  });

  it("sends no end notice when the sound server dies and the game continues, because the next streamer may show it", async () => {
    const pair = await start({ game: { script: "#!/bin/sh\nexec sleep 600\n" } });
    const viewer = await play(pair);
    await eventually(async () => (await viewer.notices()).some(({ t }) => t === "hello"), {
      what: "the first notice",
    });
    await pair.inStreamer("sh", "-c", "kill -KILL $(pidof pulseaudio)");
    expect(await pair.streamerExit()).to.equal(1);
    expect(await pair.streamerMessage()).to.include({ state: "ended", reason: "sound-failed" });
    expect((await viewer.notices()).filter(({ t }) => t === "ended")).to.deep.equal([]);
  });

  it("reports a display that died and notifies the player", async () => {
    const pair = await start();
    const viewer = await play(pair);
    await eventually(async () => (await viewer.notices()).some(({ t }) => t === "hello"), {
      what: "the first notice",
    });
    await pair.inStreamer("sh", "-c", "kill -KILL $(pidof Xvfb)");
    await eventually(async () => (await viewer.notices()).some(({ t }) => t === "ended"), {
      what: "the notice of the end",
    });
    expect(await pair.streamerExit()).to.equal(1);
    expect(await pair.streamerMessage()).to.include({ state: "ended", reason: "display-failed" });
  });
});
