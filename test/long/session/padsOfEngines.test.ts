import { dirname } from "node:path";
import { expect } from "chai";
import { pino } from "pino";
import { chromium, type Browser } from "playwright-core";
import { z } from "zod";
import { startXServer } from "#streamer/display/displayServers.ts";
import { eventually } from "#test/support/clocks/eventually.ts";
import { compileEnginePads, compileShim, compileUdev } from "#test/support/session/compileC.ts";
import { PadsForTests } from "#test/support/session/padsForTests.ts";
import type { SupervisedGame } from "#test/support/session/supervisedGame.ts";
import { supervisedLaunches } from "#test/support/session/supervisedLaunches.ts";

/** Expressions that a page evaluates. */
const readPads = `navigator.getGamepads().filter(Boolean).map((pad) => ({
  id: pad.id,
  mapping: pad.mapping,
  x: Math.round(pad.axes[0] * 10),
  pressed: pad.buttons.flatMap(({ pressed }, place) => (pressed ? [place] : [])),
}))`;
const vibratePad = `navigator.getGamepads()[0].vibrationActuator.playEffect("dual-rumble", {
  duration: 200,
  strongMagnitude: 0.5,
  weakMagnitude: 0.25,
})`;
const Pads = z.array(
  z.object({ id: z.string(), mapping: z.string(), x: z.number(), pressed: z.array(z.number()) }),
);

describe("gamepads of engines", function () {
  this.timeout(120_000);
  const { launch } = supervisedLaunches();
  let environment: Record<string, string>;
  let program: string;
  let pads: PadsForTests;

  before(async () => {
    const [shim, udev, compiled] = await Promise.all([compileShim(), compileUdev(), compileEnginePads()]);
    program = compiled;
    environment = { LD_PRELOAD: shim, LD_LIBRARY_PATH: dirname(udev), SDL_VIDEODRIVER: "dummy" };
  });
  beforeEach(() => {
    pads = new PadsForTests();
    environment["JOYPOD_PADS"] = pads.directory;
  });
  afterEach(() => pads.close());

  const printed = (game: SupervisedGame, ...lines: string[]) =>
    eventually(
      () => {
        const missing = lines.filter((line) => !game.output().includes(line));
        if (missing.length > 0) throw new Error(`no ${missing.join(", ")} in ${game.output()}`);
        return true;
      },
      { timeoutMs: 20_000, what: "the program's output" },
    );

  it("are controllers of SDL 2, up to four, with haptics, and can be plugged in again", async () => {
    const game = await launch(`#!/bin/sh\nexec ${program} sdl\n`, { environment });
    await printed(game, "ready 0");
    pads.connect(0, 1, 2, 3);
    await printed(
      game,
      ...[0, 1, 2, 3].map((pad) => `added X360 Controller /dev/input/event${pad}`),
      "haptics 4",
    );
    await eventually(
      () => {
        expect(pads.rumbles.map(([pad]) => pad)).to.include.members([0, 1, 2, 3]);
        return true;
      },
      { what: "the vibrations" },
    );
    for (const pad of [0, 1, 2, 3]) pads.hold(pad, 20_000, 255, "north", "up");
    for (const pad of [0, 1, 2, 3])
      await printed(
        game,
        ...["y", "dpup", "lefttrigger 32767", "leftx 20000"].map((text) => `event${pad} ${text}`),
      );
    pads.unplug(2);
    await printed(game, "removed /dev/input/event2");
    pads.connect(2);
    await eventually(() => game.output().split("added X360 Controller /dev/input/event2").length >= 3, {
      what: "the pad to be plugged in again",
    });
  });

  it("are gamepads of GLFW, plugged in and out", async () => {
    const display = `:${40_000 + (process.pid % 10_000)}`;
    const server = await startXServer({
      display,
      width: 640,
      height: 480,
      env: { PATH: process.env["PATH"] ?? "" },
      logger: pino({ level: "silent" }),
      onExit: () => undefined,
    });
    try {
      const game = await launch(`#!/bin/sh\nexec ${program} glfw\n`, { environment, display });
      await printed(game, "ready");
      pads.connect(0, 1);
      await printed(game, "connected 0 X360 Controller", "connected 1 X360 Controller");
      pads.hold(1, -32_767, 255, "south", "up");
      await printed(game, "state 1 A=1 up=1 x=-1.0 trigger=1.0");
      pads.unplug(1);
      await printed(game, "disconnected 1");
    } finally {
      await server?.stop();
    }
  });

  it("are standard gamepads of Chromium, which vibrates them", async () => {
    const browser: Browser = await chromium.launch({
      executablePath: "/usr/bin/chromium",
      args: ["--no-sandbox"],
      env: { ...process.env, ...environment },
    });
    try {
      const page = await browser.newPage();
      await page.route("**", (route) => route.fulfill({ contentType: "text/html", body: "<p>Pads</p>" }));
      await page.goto("http://localhost/"); // Pages need a secure origin.
      const read = async () => Pads.parse(await page.evaluate(readPads));
      await read();
      pads.connect(0);
      // Chromium opens a pad in its own time, and ignores what is pressed then.
      for (let hold = false; (await read()).length === 0; hold = !hold) {
        pads.hold(0, 0, 0, ...(hold ? (["south"] as const) : []));
        await page.waitForTimeout(100);
      }
      pads.hold(0, 0, 0);
      await eventually(async () => (await read())[0]?.pressed.length === 0, { what: "a pad at rest" });
      pads.hold(0, 32_767, 255, "south", "up", "guide");
      await eventually(async () => (await read())[0]?.pressed.length === 4, { what: "the presses" });
      expect(await read()).to.deep.equal([
        {
          id: "Microsoft X-Box 360 pad (STANDARD GAMEPAD Vendor: 045e Product: 028e)",
          mapping: "standard",
          x: 10,
          pressed: [0, 6, 12, 16],
        },
      ]);
      expect(await page.evaluate(vibratePad)).to.equal("complete");
      expect(pads.rumbles[0]).to.deep.equal([0, { strong: 32_767, weak: 16_383 }]);
      pads.unplug(0);
      await eventually(async () => (await read()).length === 0, { what: "the pad to vanish" });
    } finally {
      await browser.close();
    }
  });
});
