import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect } from "chai";
import type { Browser } from "playwright-core";
import { gamepadButtons, pointerScale, type StreamInput } from "#contracts/stream.ts";
import { eventually } from "#test/support/clocks/eventually.ts";
import {
  buildGame,
  imageBuildMs,
  prepareSessionImages,
  type SessionImages,
} from "#test/support/session/containers.ts";
import { lightStream, startSessionPair, type SessionPair } from "#test/support/session/sessionPair.ts";
import { launchBrowser, openViewer, type Viewer } from "#test/support/session/viewer.ts";

const startMs = 60_000;
const picture = { width: 1_280, height: 720 };
const resting: StreamInput = { t: "pad", s: [0, 0, 0, 0], l: 0, r: 0, b: 0 };
const pressed: StreamInput = { ...resting, b: 1 << gamepadButtons.indexOf("south") };

/** Programs of games/cases, which reproduce reported faults, in real sessions. */
describe("a session of", function () {
  this.timeout(120_000);
  let images: SessionImages;
  let browser: Browser;
  let archive: string;
  let pair: SessionPair;
  let viewer: Viewer | undefined;

  before(async function () {
    this.timeout(imageBuildMs);
    images = await prepareSessionImages();
    archive = await buildGame("cases", images.game);
    browser = await launchBrowser();
  });
  afterEach(async () => {
    await viewer?.close();
    viewer = undefined;
    await pair.remove();
  });
  after(() => browser.close());

  /** Starts one of the programs, and waits for a line that it prints. */
  const start = async (name: string, line: RegExp, gameEnv: Record<string, string> = {}): Promise<void> => {
    pair = await startSessionPair({
      images,
      game: { archive, launcher: "game.sh" },
      streamerEnv: lightStream,
      gameEnv: { CASE: name, ...gameEnv },
    });
    await prints(line);
  };
  const prints = (line: RegExp) =>
    eventually(
      async () => {
        const found = line.exec(await pair.gameLogs());
        if (!found) throw new Error(await pair.gameLogs());
        return found;
      },
      { timeoutMs: startMs, what: `the line ${String(line)}` },
    );
  const view = async (): Promise<Viewer> => {
    viewer = await openViewer(browser, pair);
    expect(await viewer.connect()).to.include({ status: 201 });
    return viewer;
  };
  const moveTo = (x: number, y: number, isEntry?: 1): StreamInput => ({
    t: "move",
    ...(isEntry && { e: isEntry }),
    x: Math.round(((x + 0.5) / picture.width) * pointerScale),
    y: Math.round(((y + 0.5) / picture.height) * pointerScale),
  });
  const saved = (name: string) => readFileSync(join(pair.saves, name), "utf8");

  it("a window of fixed size shows it enlarged, and clicks hit what the player sees", async () => {
    await start("fixedWindow", /^/);
    const page = await view();
    const isGreen = async (x: number, y: number) => {
      const [red, green] = await page.color({ x, y, width: 16, height: 16 });
      return green > 180 && red < 80;
    };
    // 640×480 is shown as 960×720 in the middle; the button's centre is at 70, 40.
    const [x, y] = [160 + 70 * 1.5, 40 * 1.5];
    await eventually(() => isGreen(x - 8, y - 8), { timeoutMs: startMs, what: "the button" });
    await page.send(moveTo(x, y), { t: "btn", b: 0, d: 1 }, { t: "btn", b: 0, d: 0 });
    const [, clickedX, clickedY] = await prints(/^click (\d+) (\d+) in 640x480/m);
    expect(Number(clickedX)).to.be.within(69, 71);
    expect(Number(clickedY)).to.be.within(39, 41);
  });

  it("a game with second windows keeps their sizes and the focus on the game", async () => {
    await start("secondWindows", /^done/m);
    const lines = (await pair.gameLogs()).split("\n").filter((line) => line.includes("game="));
    expect(lines).to.deep.equal([
      ...["UTILITY", "NOTIFICATION", "SPLASH", "TOOLTIP"].map(
        (name) => `${name} 300x120 game=1280x720 focus=game`,
      ),
      "DIALOG 300x120 game=1280x720 focus=game",
      ...["noinput", "small", "above"].map((name) => `${name} 300x120 game=1280x720 focus=game`),
      "transient 300x120 game=1280x720 focus=second",
    ]);
  });

  it("a dialog of Tk keeps its size when it asks to stay on top", async () => {
    await start("tkDialog.py", /^dialog/m);
    expect(await pair.gameLogs()).to.match(/^dialog 300x120 of 1280x720$/m);
  });

  it("SDL 2 starts each of its subsystems, and all together", async () => {
    await start("sdlInit", /^done/m);
    const lines = (await pair.gameLogs()).split("\n").filter((line) => /^[A-Z]/.test(line));
    expect(lines).to.have.lengthOf(7);
    for (const line of lines) expect(line).to.match(/^[A-Z]+ 0\b/);
  });

  it("SDL 3 reads distances, text, keys and pads, and vibrates", async () => {
    await start("sdl3Input", /^ready/m);
    const page = await view();
    const press = (c: string, k: string) => page.send({ t: "key", c, d: 1, k }, { t: "key", c, d: 0 });
    await press("Semicolon", "ö");
    await prints(/^text ö$/m);
    await prints(/^key down ;$/m);
    await prints(/^key up ;$/m);
    for (const isRelative of [false, true]) {
      if (isRelative) {
        await press("F2", "F2");
        await prints(/^relative 1$/m);
      }
      await page.send(moveTo(300, 200, 1));
      await press("F9", "F9");
      const before = await countsOf("F9");
      for (let step = 1; step <= 3; step++) await page.send(moveTo(300 + 10 * step, 200));
      await press("F9", "F9");
      await eventually(async () => (await countsOf("F9")) > before, { what: "the key after the motion" });
      expect(await motionSince(before), `relative ${isRelative}`).to.deep.equal([30, 0]);
    }
    await page.send({ t: "wheel", x: 0, y: 1 });
    await prints(/^wheel 0 -1$/m);
    await page.send(resting, pressed);
    await prints(/^pad added /m);
    await eventually(
      async () => {
        await page.send(resting, pressed);
        return /^pad a$/m.test(await pair.gameLogs());
      },
      { intervalMs: 500, timeoutMs: startMs, what: "a press of the pad" },
    );
    await eventually(
      async () =>
        (await page.notices()).some(
          (notice) => notice.t === "rumble" && notice.strong === 0x8000 && notice.weak === 0x4000,
        ),
      { timeoutMs: startMs, what: "the vibration with its strengths" },
    );
  });

  const countsOf = async (key: string) =>
    (await pair.gameLogs()).split("\n").filter((line) => line === `key down ${key}`).length;
  /** Returns the distance that the program has read since a press of F9. */
  const motionSince = async (press: number): Promise<[x: number, y: number]> => {
    const after = (await pair.gameLogs())
      .split(/^key down F9$/m)
      .slice(press)
      .join("\n");
    return [...after.matchAll(/^motion (\S+) (\S+)$/gm)].reduce<[number, number]>(
      ([sumX, sumY], [, x, y]) => [sumX + Number(x), sumY + Number(y)],
      [0, 0],
    );
  };

  it("a program with Tk is asked to close, and saves", async () => {
    await start("tkWindow.py", /^ready/m);
    await pair.signalGame("TERM");
    expect(await pair.gameExit()).to.equal(0);
    expect(existsSync(join(pair.saves, "closed"))).to.equal(true);
    expect(await pair.gameMessage()).to.include({ reason: "stopped", endedBy: "close-request", exitCode: 0 });
  });

  it("a game that goes on is asked, told a second later, and killed after its grace", async () => {
    await start("ticks", /^ready/m);
    await pair.signalGame("TERM");
    expect(await pair.gameExit()).to.equal(0);
    expect(await pair.gameMessage()).to.include({ reason: "stopped-by-kill", endedBy: "sigkill" });
    const lines = saved("ticks.txt").trim().split("\n");
    const at = (name: string) => Number(lines.find((line) => line.startsWith(name))?.split(" ")[1]);
    expect(at("term") - at("close")).to.be.within(800, 1_500);
    expect(lines.filter((line) => line.startsWith("tick")).length).to.be.within(40, 55);
  });

  it("a slow save is cut after the default grace, and the report says so", async () => {
    await start("slowSave.py", /^ready/m);
    await pair.signalGame("TERM");
    expect(await pair.gameExit()).to.equal(0);
    expect(await pair.gameMessage()).to.include({ reason: "stopped-by-kill", endedBy: "sigkill" });
    expect(saved("world.sav")).not.to.contain("SUM");
  });

  it("a slow save is complete within the grace that its registration declares", async () => {
    await start("slowSave.py", /^ready/m, { GAME_GRACE_SECONDS: "10" });
    await pair.signalGame("TERM");
    expect(await pair.gameExit()).to.equal(0);
    expect(await pair.gameMessage()).to.include({ reason: "stopped", endedBy: "sigterm", exitCode: 0 });
    expect(saved("world.sav")).to.match(/SUM [0-9a-f]{64}$/);
  });
});
