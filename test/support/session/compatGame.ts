import { chownSync, existsSync, readFileSync } from "node:fs";
import { constants } from "node:os";
import { join } from "node:path";
import { expect } from "chai";
import type { Browser } from "playwright-core";
import { z } from "zod";
import { RegisterGameRequest } from "#contracts/http/partners.ts";
import { sessionUserId } from "#contracts/nodeLayout.ts";
import { gamepadButtons, type StreamInput } from "#contracts/stream.ts";
import { eventually } from "../clocks/eventually.ts";
import { repositoryRoot } from "../processes/programs.ts";
import { temporaryFolder } from "../processes/temporaryFolder.ts";
import { buildGame, type SessionImages } from "./containers.ts";
import { gridDistance, gridOf } from "./pictureGrid.ts";
import { lightStream, startSessionPair, type SessionPair } from "./sessionPair.ts";
import { openViewer, type Viewer } from "./viewer.ts";

/** The effect of an input: a line that the game prints, or another picture. */
const Effect = z.union([
  z.strictObject({ prints: z.string() }),
  z.strictObject({ changesPicture: z.literal(true) }),
]);

/** `expectations.json` of a game in games/compat. */
const Expectations = z.strictObject({
  /** Codes of keys that are pressed one after the other, with pauses, until the game can be played. */
  begin: z.array(z.string()).default([]),
  key: z.strictObject({ press: z.string(), effect: Effect }).optional(),
  /** The game prints `look DX DY` for each motion. */
  looks: z.boolean().default(false),
  /** Effect of the gamepad's lower button. */
  pad: Effect.optional(),
  /** The game vibrates the gamepad when its lower button is pressed. */
  rumbles: z.boolean().default(false),
  isHeard: z.boolean().default(true),
  /** Codes of keys that save the game; empty if it saves by itself. */
  save: z.array(z.string()).default([]),
  /** Path of a saved file in the save folder. */
  saved: z.string(),
  /** Line that only a second session prints; absent if the game prints none. */
  printsAgain: z.string().optional(),
});
type Expectations = z.infer<typeof Expectations>;

const startMs = 90_000;
const restingPad: StreamInput = { t: "pad", s: [0, 0, 0, 0], l: 0, r: 0, b: 0 };
const pressedPad: StreamInput = { ...restingPad, b: 1 << gamepadButtons.indexOf("south") };
const motion = { x: 10, y: -4, times: 5 };

/** What a test needs to play a game. */
export interface CompatTest {
  images: SessionImages;
  browser: Browser;
}

/** Plays a game of games/compat in two sessions, and throws unless it does what its expectations say. */
export async function playCompatGame(name: string, { images, browser }: CompatTest): Promise<void> {
  const folder = join(repositoryRoot, "games/compat", name);
  const expected = Expectations.parse(readJson(join(folder, "expectations.json")));
  const { launcher } = RegisterGameRequest.parse(readJson(join(folder, "game.json")));
  const archive = await buildGame(`compat/${name}`, images.game);
  const saves = temporaryFolder("saves");
  chownSync(saves, sessionUserId, sessionUserId);
  const play = (work: (pair: SessionPair, viewer: Viewer) => Promise<void>): Promise<void> =>
    inSession({ images, game: { archive, launcher }, saves, streamerEnv: lightStream }, browser, work);
  await play(async (pair, viewer) => {
    await begin(viewer, expected);
    await hasEffects(pair, viewer, expected);
    await eventually(
      async () => {
        for (const code of expected.save) await viewer.press(code);
        return existsSync(join(saves, expected.saved));
      },
      { timeoutMs: startMs, intervalMs: 2_000, what: `${expected.saved} in the save folder` },
    );
    await endsCleanly(pair);
  });
  await play(async (pair, viewer) => {
    if (expected.printsAgain !== undefined) await prints(pair, expected.printsAgain);
    else await isSeen(viewer);
  });
}

async function inSession(
  options: Parameters<typeof startSessionPair>[0],
  browser: Browser,
  work: (pair: SessionPair, viewer: Viewer) => Promise<void>,
): Promise<void> {
  const pair = await startSessionPair(options);
  const viewer = await openViewer(browser, pair);
  try {
    expect(await viewer.connect()).to.include({ status: 201 });
    await work(pair, viewer);
  } catch (error) {
    throw new Error(`${String(error)}\nThe game's output:\n${(await pair.gameLogs()).slice(-3000)}`, {
      cause: error,
    });
  } finally {
    await viewer.close();
    await pair.remove();
  }
}

async function isSeen(viewer: Viewer): Promise<void> {
  await eventually(
    async () => {
      const grid = await gridOf(viewer);
      return Math.max(...grid) - Math.min(...grid) > 20;
    },
    { timeoutMs: startMs, what: "a picture with more than one colour" },
  );
}

async function begin(viewer: Viewer, { begin: codes }: Expectations): Promise<void> {
  await isSeen(viewer);
  for (const code of codes) {
    const before = await gridOf(viewer);
    const hasChanged = async () => gridDistance(before, await gridOf(viewer)) > 2;
    // Repeated, because a game that still starts ignores it, but slowly, because a busy one shows it late.
    await eventually(
      async () => {
        await viewer.press(code);
        return eventually(hasChanged, { timeoutMs: 5_000, intervalMs: 200 }).then(
          () => true,
          () => false,
        );
      },
      { timeoutMs: startMs, what: `another picture after ${code}` },
    );
  }
}

async function hasEffects(pair: SessionPair, viewer: Viewer, expected: Expectations): Promise<void> {
  const { key, looks, pad, rumbles, isHeard } = expected;
  if (key !== undefined)
    await hasEffect(pair, viewer, `the key ${key.press}`, key.effect, () => viewer.press(key.press));
  if (looks) await turnsTheView(pair, viewer);
  if (pad !== undefined)
    await hasEffect(pair, viewer, "the gamepad", pad, () => viewer.send(restingPad, pressedPad));
  if (rumbles)
    await eventually(
      async () => (await viewer.notices()).some((notice) => notice.t === "rumble" && notice.strong > 0),
      {
        timeoutMs: startMs,
        what: "a vibration of the player's gamepad",
      },
    );
  if (isHeard)
    await eventually(async () => ((await viewer.stats()).audio?.audioLevel ?? 0) > 0.01, {
      timeoutMs: startMs,
      intervalMs: 250,
      what: "sound",
    });
}

/** Repeats the input until its effect shows, because a busy game may not have polled yet. */
async function hasEffect(
  pair: SessionPair,
  viewer: Viewer,
  what: string,
  effect: z.infer<typeof Effect>,
  input: () => Promise<void>,
): Promise<void> {
  const before = await gridOf(viewer);
  await eventually(
    async () => {
      await input();
      return "prints" in effect
        ? hasLine(await pair.gameLogs(), effect.prints)
        : gridDistance(before, await gridOf(viewer)) > 5;
    },
    { timeoutMs: startMs, intervalMs: 1_000, what: `an effect of ${what}` },
  );
}

/** The view turns by exactly what the player's mouse moved. */
async function turnsTheView(pair: SessionPair, viewer: Viewer): Promise<void> {
  // A game takes the pointer when its window has the focus.
  await eventually(
    async () => {
      await viewer.send({ t: "rel", x: 1, y: 0 });
      return /^(?:.*")?look /m.test(await pair.gameLogs());
    },
    { timeoutMs: startMs, intervalMs: 1_000, what: "a motion in the game" },
  );
  let before = lookOf(await pair.gameLogs());
  await eventually(
    async () => {
      const now = lookOf(await pair.gameLogs());
      const isStill = now.x === before.x && now.y === before.y;
      before = now;
      return isStill;
    },
    { intervalMs: 500, what: "the view to be still" },
  );
  for (let count = 0; count < motion.times; count += 1)
    await viewer.send({ t: "rel", x: motion.x, y: motion.y });
  const turned = async (): Promise<string> => {
    const now = lookOf(await pair.gameLogs());
    return `${now.x - before.x} ${now.y - before.y}`;
  };
  await eventually(async () => (await turned()) === `${motion.x * motion.times} ${motion.y * motion.times}`, {
    timeoutMs: 15_000,
    intervalMs: 500,
    what: "the view to turn by the motion of the mouse",
  }).catch(async (error: unknown) => {
    throw new Error(`The view turned by ${await turned()}.`, { cause: error });
  });
}

function lookOf(log: string): { x: number; y: number } {
  const motions = [...log.matchAll(/^(?:.*")?look (\S+) ([-\d.]+)(?:".*)?$/gm)];
  return motions.reduce((sum, [, x, y]) => ({ x: sum.x + Number(x), y: sum.y + Number(y) }), { x: 0, y: 0 });
}

async function endsCleanly(pair: SessionPair): Promise<void> {
  await pair.signalGame("TERM");
  expect(await pair.gameExit()).to.equal(0);
  const message = await pair.gameMessage();
  expect(message?.reason).to.equal("stopped");
  // An engine that needs more than a second to exit gets SIGTERM as well.
  expect(message?.exitCode).to.be.oneOf([0, 128 + constants.signals.SIGTERM]);
}

async function prints(pair: SessionPair, line: string): Promise<void> {
  await eventually(async () => hasLine(await pair.gameLogs(), line), {
    timeoutMs: startMs,
    intervalMs: 500,
    what: `the line ${line}`,
  });
}

function hasLine(log: string, pattern: string): boolean {
  return new RegExp(`^(?:${pattern})\\r?$`, "m").test(log);
}

function readJson(path: string): unknown {
  return JSON.parse(readFileSync(path, "utf8"));
}
