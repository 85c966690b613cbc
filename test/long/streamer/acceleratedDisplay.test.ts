import { execFileSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
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
  startSessionPair,
  type SessionPair,
  type SessionPairOptions,
} from "#test/support/session/sessionPair.ts";
import { launchBrowser, openViewer, type Viewer } from "#test/support/session/viewer.ts";
import { waitForColor } from "#test/support/browser/picture.ts";
import { TestCard } from "#test/support/browser/testCard.ts";
import { temporaryFolder } from "#test/support/processes/temporaryFolder.ts";

const forced = { DISPLAY_SERVER: "xwayland" };
/** Game environment of a GPU pod, without software rendering. */
const gpuGame = { LIBGL_ALWAYS_SOFTWARE: "", LP_NUM_THREADS: "" };
/** Mesa's software renderer; without it there is no device. */
const vulkanDriver = "/usr/share/vulkan/icd.d/lvp_icd.json";
const compositor = "/usr/bin/cage";
/** Mesa's per-program settings. */
const driverSettings = "/usr/share/drirc.d/00-mesa-defaults.conf";
const withoutRed =
  '<driconf><device><application name="probe" executable="displayprobe"><option name="pp_nored" value="1"/></application></device></driconf>';
const empty = "/dev/null";
const printsEnvironment = { script: "#!/bin/sh\nenv\nexec sleep 600\n" };

describe("the accelerated display with Mesa's software renderer", () => {
  const removal = new LateRemoval();
  let images: SessionImages;
  let testcard: string;
  let rendercard: string;
  let browser: Browser;
  let pair: SessionPair | undefined;
  let viewer: Viewer | undefined;

  before(async function () {
    this.timeout(imageBuildMs);
    images = await prepareSessionImages();
    testcard = await buildGame("testcard", images.game);
    rendercard = await buildGame("rendercard", images.game);
    browser = await launchBrowser();
  });
  after(async () => {
    await browser.close();
    await removal.end();
  });
  afterEach(async () => {
    await viewer?.close();
    const ended = pair;
    [viewer, pair] = [undefined, undefined];
    if (ended !== undefined) await removal.begin(() => ended.remove());
  });

  async function start(
    game: SessionPairOptions["game"],
    streamerEnv: Record<string, string>,
    gameEnv: Record<string, string> = {},
    replacedFiles: SessionPairOptions["replacedFiles"] = {},
  ): Promise<SessionPair> {
    return (pair = await startSessionPair({ images, game, streamerEnv, gameEnv, replacedFiles }));
  }
  async function play(
    session: SessionPair,
  ): Promise<{ opened: Viewer; card: TestCard; press: () => Promise<unknown> }> {
    const opened = (viewer = await openViewer(browser, session));
    expect(await opened.connect()).to.include({ status: 201 });
    return { opened, card: new TestCard(opened), press: () => opened.press("Space") };
  }
  const has = async (session: SessionPair, program: string): Promise<boolean> =>
    (await session.inStreamer("sh", "-c", `pidof ${program} || true`)) !== "";

  for (const api of ["render", "vulkan"]) {
    it(`shows what a game draws by ${api === "render" ? "OpenGL" : "Vulkan"}, and takes its keys`, async () => {
      const session = await start({ archive: rendercard, launcher: `${api}card.sh` }, forced);
      expect(await has(session, "Xwayland")).to.equal(true);
      const { card, press } = await play(session);
      await card.shows(layout.keyBlock, "red");
      await press();
      await card.shows(layout.keyBlock, "green");
      expect(await session.gameLogs()).to.match(/by llvmpipe/);
      expect((await session.status()).picture)
        .to.include({ width: 1280, height: 720, maxFps: 60 })
        .and.have.property("renderer")
        .that.matches(/^llvmpipe/);
    });
  }

  it("has the requested size", async () => {
    const session = await start(
      { archive: testcard, launcher: "testcard.sh" },
      { ...forced, WIDTH: "1600", HEIGHT: "900" },
    );
    expect((await session.status()).picture).to.include({ width: 1600, height: 900 });
  });

  it("shows the whole game at the same picture size while the game uses another resolution, and maps the pointer", async () => {
    const session = await start({ archive: testcard, launcher: "testcard.sh" }, forced);
    const { opened, card, press } = await play(session);
    await card.shows(layout.keyBlock, "red");
    await session.inStreamer("displayprobe", "size", "800", "600");
    // 960 of the picture's 1280 pixels, centred.
    const inPicture = (x: number) => 160 + x * 0.75;
    const borders = [0, inPicture(1_280)].map((x) => ({ x, y: 0, width: 160, height: 720 }));
    for (const border of borders) await waitForColor(opened, border, "#000000");
    await card.shows(
      { ...layout.keyBlock, x: inPicture(layout.keyBlock.x), width: layout.keyBlock.width * 0.75 },
      "red",
    );
    await opened.send({
      t: "move",
      x: Math.round((65_535 * inPicture(300)) / 1_280),
      y: Math.round((65_535 * 200) / 720),
    });
    // Above and to the left of the arrow. At this size the colour blends with its surroundings.
    await waitForColor(
      opened,
      { x: inPicture(300) - 10, y: 188, width: 12, height: 12 },
      layout.pointer.color,
      { tolerance: 110 },
    );
    expect((await opened.stats()).video).to.include({ frameWidth: 1_280, frameHeight: 720 });
    await session.inStreamer("displayprobe", "size", "1280", "720");
    for (const border of borders) await waitForColor(opened, border, "#404040");
    await press();
    await card.showsPresses(1);
    expect((await opened.stats()).video).to.include({ frameWidth: 1_280, frameHeight: 720 });
    expect(await session.streamerLogs()).to.not.include("The media child");
  });

  for (const program of ["Xwayland", "cage"]) {
    it(`ends the session with its reason when ${program} dies`, async () => {
      const session = await start({ archive: testcard, launcher: "testcard.sh" }, forced);
      const { card } = await play(session);
      await card.shows(layout.keyBlock, "red");
      await session.inStreamer("sh", "-c", `kill -KILL $(pidof ${program})`);
      expect(await session.streamerExit()).to.equal(1);
      expect(await session.streamerMessage()).to.include({ state: "ended", reason: "display-failed" });
      expect(
        await eventually(async () => (await viewer?.notices())?.find(({ t }) => t === "ended"), {
          what: "the notice of the end",
        }),
      ).to.include({ t: "ended" });
    });
  }

  it("is not tried without a render node", async () => {
    const session = await start(printsEnvironment, { PROFILE: "gpu" }, gpuGame);
    expect(await has(session, "Xvfb")).to.equal(true);
    expect((await session.status()).picture).to.include({ renderer: "software", obstacle: "NoRenderNode" });
    expect(await session.streamerLogs()).to.not.include("The accelerated display was tried");
    await eventually(async () => (await session.gameLogs()).includes("LIBGL_ALWAYS_SOFTWARE=1"), {
      what: "the game to be told to render in software",
    });
  });

  it("is replaced by Xvfb when a GPU is required and OpenGL renders in software", async () => {
    const session = await start(
      { archive: testcard, launcher: "testcard.sh" },
      { ...forced, PROFILE: "gpu" },
      gpuGame,
    );
    expect([
      await has(session, "Xvfb"),
      await has(session, "Xwayland"),
      await has(session, "cage"),
    ]).to.deep.equal([true, false, false]);
    expect((await session.status()).picture).to.include({ obstacle: "SoftwareRenderer" });
    const { card } = await play(session);
    await card.shows(layout.keyBlock, "red");
  });

  it("is replaced by Xvfb when Vulkan cannot present on it", async () => {
    const session = await start(printsEnvironment, { ...forced, PROFILE: "gpu" }, gpuGame, {
      [vulkanDriver]: empty,
    });
    expect([
      await has(session, "Xvfb"),
      await has(session, "Xwayland"),
      await has(session, "cage"),
    ]).to.deep.equal([true, false, false]);
    expect((await session.status()).picture).to.include({ obstacle: "ProbeFailed" });
    await eventually(async () => (await session.gameLogs()).includes("LIBGL_ALWAYS_SOFTWARE=1"), {
      what: "the game to be told to render in software",
    });
  });

  it("is replaced by Xvfb, without leftovers of the probe, when a driver hangs", async () => {
    const neverRead = join(temporaryFolder("driver"), "driver.json");
    execFileSync("mkfifo", ["--mode=0644", neverRead]);
    const session = await start(printsEnvironment, { ...forced, PROFILE: "gpu" }, gpuGame, {
      [vulkanDriver]: neverRead,
    });
    expect([
      await has(session, "Xvfb"),
      await has(session, "Xwayland"),
      await has(session, "cage"),
    ]).to.deep.equal([true, false, false]);
    expect(await has(session, "displayprobe")).to.equal(false);
    expect((await session.status()).picture).to.include({ obstacle: "ProbeFailed" });
    expect(await session.streamerLogs()).to.include("displayprobe did not end within");
    await eventually(async () => (await session.gameLogs()).includes("LIBGL_ALWAYS_SOFTWARE=1"), {
      what: "the game to be told to render in software",
    });
  });

  it("is replaced by Xvfb when drawings are captured in another colour", async () => {
    const settings = join(temporaryFolder("driver"), "settings.conf");
    writeFileSync(settings, withoutRed, { mode: 0o644 });
    const session = await start(printsEnvironment, { ...forced, PROFILE: "gpu" }, gpuGame, {
      [driverSettings]: settings,
    });
    expect([
      await has(session, "Xvfb"),
      await has(session, "Xwayland"),
      await has(session, "cage"),
    ]).to.deep.equal([true, false, false]);
    expect((await session.status()).picture).to.include({ obstacle: "ProbeFailed" });
    expect(await session.streamerLogs()).to.include('"glCapture":"wrong: 004020"');
  });

  it("is replaced by Xvfb when it does not start", async () => {
    const session = await start(printsEnvironment, { ...forced, PROFILE: "gpu" }, gpuGame, {
      [compositor]: empty,
    });
    expect([
      await has(session, "Xvfb"),
      await has(session, "Xwayland"),
      await has(session, "cage"),
    ]).to.deep.equal([true, false, false]);
    expect((await session.status()).picture).to.include({ obstacle: "DisplayFailed" });
  });

  it("is not probed in sessions without a GPU", async () => {
    const session = await start(printsEnvironment, {});
    expect(await has(session, "Xvfb")).to.equal(true);
    expect((await session.status()).picture).to.deep.equal({
      renderer: "software",
      width: 1280,
      height: 720,
      maxFps: 60,
    });
    await eventually(async () => (await session.gameMessage())?.state === "running", {
      what: "the game to run",
    });
    expect(await session.inStreamer("ls", "/run/session")).to.not.include("game.env");
  });
});
