import type { Browser } from "playwright-core";
import { playCompatGame } from "./compatGame.ts";
import { imageBuildMs, prepareSessionImages, type SessionImages } from "./containers.ts";
import { launchBrowser } from "./viewer.ts";

/** The games that `make test` plays; `make test-long` plays the others. */
export const shortCompatGames: readonly string[] = ["sdl2", "glfw", "love"];

/** Declares a test for each game: it is packed as docs/games.md says, and played in a browser. */
export function declareCompatTests(games: readonly string[]): void {
  let images: SessionImages;
  let browser: Browser;

  before(async function () {
    this.timeout(imageBuildMs);
    images = await prepareSessionImages();
    browser = await launchBrowser();
  });
  after(() => browser.close());

  for (const game of games) {
    it(`${game} is seen, heard, played, saved and ended`, async function () {
      this.timeout(imageBuildMs);
      await playCompatGame(game, { images, browser });
    });
  }
}
