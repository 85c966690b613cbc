import { expect } from "chai";
import { createReadStream } from "node:fs";
import { readFile } from "node:fs/promises";
import { pipeline } from "node:stream/promises";
import type { Browser } from "playwright-core";
import { createArchiveReader } from "#archive/archiveReader.ts";
import { gameArchiveRules } from "#archive/archiveRules.ts";
import { createStrictGunzip } from "#archive/gunzip.ts";
import { RegisterGameRequest } from "#contracts/http/partners.ts";
import { gamepadButtons, pointerScale, type StreamInput } from "#contracts/stream.ts";
import { eventually } from "#test/support/clocks/eventually.ts";
import {
  buildGame,
  imageBuildMs,
  prepareSessionImages,
  type SessionImages,
} from "#test/support/session/containers.ts";
import { gridDistance, gridOf } from "#test/support/session/pictureGrid.ts";
import { lightStream, startSessionPair } from "#test/support/session/sessionPair.ts";
import { launchBrowser, openViewer, type Viewer } from "#test/support/session/viewer.ts";

type PadInput = Extract<StreamInput, { t: "pad" }>;

const games = ["testcard", "thequestion", "supertux"];
const restingPad: PadInput = { t: "pad", s: [0, 0, 0, 0], l: 0, r: 0, b: 0 };
/** Input that starts each game from its first menu. */
const beginnings: [game: string, begin: (viewer: Viewer) => Promise<void>][] = [
  ["thequestion", (viewer) => click(viewer, 73, 259)],
  // SDL finds the gamepad and knows its buttons. Buttons are held until the next attempt, because a busy
  // machine draws few frames a second.
  [
    "supertux",
    (viewer) => viewer.send(restingPad, { ...restingPad, b: 1 << gamepadButtons.indexOf("south") }),
  ],
];
const startMs = 90_000;

describe("the demo games", () => {
  let images: SessionImages;
  let browser: Browser;
  const archives = new Map<string, string>();

  before(async function () {
    this.timeout(imageBuildMs);
    images = await prepareSessionImages();
    for (const game of games) archives.set(game, await buildGame(game, images.game));
    browser = await launchBrowser();
  });
  after(() => browser.close());

  async function registrationOf(game: string) {
    return RegisterGameRequest.parse(
      JSON.parse(await readFile(new URL(`../../../games/${game}/game.json`, import.meta.url), "utf8")),
    );
  }

  for (const game of games) {
    it(`${game}: its archive passes the platform's checks`, async function () {
      this.timeout(startMs);
      const { launcher, engineDir } = await registrationOf(game);
      const reader = createArchiveReader(gameArchiveRules({ launcher, engineDir }));
      const gunzip = createStrictGunzip();
      await pipeline(createReadStream(archives.get(game)!), gunzip, async (pieces: AsyncIterable<Buffer>) => {
        for await (const bytes of pieces) reader.write(bytes, gunzip.bytesWritten);
      });
      expect(reader.finish().entries).to.be.greaterThan(2);
    });
  }

  for (const [game, begin] of beginnings) {
    it(`${game}: is seen, heard and played`, async function () {
      this.timeout(2 * startMs);
      const { launcher } = await registrationOf(game);
      const pair = await startSessionPair({
        images,
        game: { archive: archives.get(game)!, launcher },
        streamerEnv: lightStream,
      });
      const viewer = await openViewer(browser, pair);
      try {
        expect(await viewer.connect()).to.include({ status: 201 });
        await eventually(async () => (await detailOf(viewer)) > 20, {
          timeoutMs: startMs,
          what: "a picture with more than one colour",
        });
        await steadyPicture(viewer);
        const menu = await gridOf(viewer);
        await eventually(
          async () => {
            // repeated if a game under load has not polled yet
            await begin(viewer);
            return gridDistance(menu, await gridOf(viewer)) > 10;
          },
          { timeoutMs: startMs, intervalMs: 1_000, what: "another picture after input" },
        );
        await eventually(async () => ((await viewer.stats()).audio?.audioLevel ?? 0) > 0.01, {
          timeoutMs: startMs,
          intervalMs: 250,
          what: "music",
        });
      } finally {
        await viewer.close();
        await pair.remove();
      }
    });
  }
});

async function detailOf(viewer: Viewer): Promise<number> {
  const grid = await gridOf(viewer);
  return Math.max(...grid) - Math.min(...grid);
}

/** Loading screens and fades have ended when little changes within a second. */
async function steadyPicture(viewer: Viewer): Promise<void> {
  let last = await gridOf(viewer);
  await eventually(
    async () => {
      const next = await gridOf(viewer);
      const change = gridDistance(last, next);
      last = next;
      return change < 4;
    },
    { timeoutMs: startMs, intervalMs: 1_000, what: "a steady picture" },
  );
}

async function click(viewer: Viewer, x: number, y: number): Promise<void> {
  await viewer.send({
    t: "move",
    x: Math.round((x * pointerScale) / 1_279),
    y: Math.round((y * pointerScale) / 719),
  });
  await viewer.send({ t: "btn", b: 0, d: 1 });
  await viewer.send({ t: "btn", b: 0, d: 0 });
}
