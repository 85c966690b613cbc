import { expect } from "chai";
import type { Browser, Page } from "playwright-core";
import { aUser } from "#test/factories/catalog.ts";
import { launchBrowser, openWindow, type TestWindow } from "#test/support/browser/browser.ts";
import { eventually } from "#test/support/clocks/eventually.ts";
import { pressPlay, signInAs } from "#test/support/browser/pages.ts";
import { PlayPage } from "#test/support/browser/playPage.ts";
import { PlayFixture } from "#test/support/fixtures/playFixture.ts";
import { imageBuildMs } from "#test/support/session/containers.ts";

/** One session, looked at and listened to. */
describe("the game's picture and sound on the page", function () {
  this.timeout(90_000);
  let fixture: PlayFixture;
  let browser: Browser;
  let tab: TestWindow;
  let page: Page;
  let game: PlayPage;

  before(async function () {
    this.timeout(imageBuildMs);
    fixture = await PlayFixture.start();
    browser = await launchBrowser();
    tab = await openWindow(browser, { baseUrl: fixture.api.url, name: "playback" });
    ({ page } = tab);
    game = await PlayPage.on(page);
    await page.goto("/games/testcard");
    await signInAs(page, await aUser(fixture.api.deps));
    await fixture.letRun(await pressPlay(page));
    await game.waitUntilPlaying();
  });
  after(async function () {
    await tab.close({ failed: this.test?.parent?.tests.some(({ state }) => state === "failed") ?? false });
    await browser.close();
    await fixture.stop();
  });

  it("are heard left and right apart", async () => {
    const { left, right } = await eventually(async () => {
      const heard = await game.loudness();
      return heard.right > 0.02 && heard;
    }, { what: "the tone" });
    expect(left / right).to.be.within(1.5, 2.5);
  });
});
