import { expect } from "chai";
import type { Browser, Page } from "playwright-core";
import { saveReasons } from "#contracts/crd/gameSessionReasons.ts";
import { aUser } from "#test/factories/catalog.ts";
import { aCondition } from "#test/factories/gameSession.ts";
import { launchBrowser, openWindow, type TestWindow } from "#test/support/browser/browser.ts";
import { eventually } from "#test/support/clocks/eventually.ts";
import { openSignedIn, pressPlay, sessionIdOf } from "#test/support/browser/pages.ts";
import { PlayPage } from "#test/support/browser/playPage.ts";
import { TestCard } from "#test/support/browser/testCard.ts";
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
    await openSignedIn(page, fixture.api, await aUser(fixture.api.deps), "/games/testcard");
    await fixture.letRun(await pressPlay(page));
    await game.waitUntilPlaying();
  });
  after(async function () {
    await tab.close({ failed: this.test?.parent?.tests.some(({ state }) => state === "failed") ?? false });
    await browser.close();
    await fixture.stop();
  });

  it("play in stereo", async () => {
    const { left, right } = await eventually(
      async () => {
        const heard = await game.loudness();
        return heard.right > 0.02 && heard;
      },
      { what: "the tone" },
    );
    expect(left / right).to.be.within(1.5, 2.5);
  });

  it("can be muted and unmuted", async () => {
    const isMuted = () => page.evaluate<boolean>("document.querySelector('video').muted");
    expect(await isMuted()).to.equal(false);
    await game.openControl("Mute");
    await eventually(isMuted, { what: "silence" });
    await game.openControl("Unmute");
    await eventually(async () => !(await isMuted()), { what: "sound" });
  });

  it("take clicks under a warning, and keep the keyboard", async () => {
    const id = sessionIdOf(page);
    const { conditions = [] } = (await fixture.operator.session(id)).status ?? {};
    await fixture.operator.report(id, {
      conditions: [
        ...conditions,
        aCondition("SavePersisted", { status: "False", reason: saveReasons.saveTooLarge }),
      ],
    });
    const warning = page.getByRole("alert").filter({ hasText: "Your save is too large to be stored" });
    await warning.waitFor();
    const card = new TestCard(game);
    await page.getByTestId("game-surface").focus();
    const wasLit = await card.isClickLit();
    const { x, y, width, height } = (await warning.boundingBox()) ?? expect.fail("The warning has no place.");
    await page.mouse.click(x + width / 2, y + height / 2);
    await eventually(async () => (await card.isClickLit()) !== wasLit, { what: "the click" });
    await card.showsPressOf(() => game.press("KeyB"));
  });

  describe("after the browser paused them", () => {
    const isPaused = () => page.evaluate<boolean>("document.querySelector('video').paused");
    const isSilent = () => page.evaluate<boolean>("document.querySelector('video').muted");
    const shownSeconds = () => page.evaluate<number>("document.querySelector('video').currentTime");
    /** Resolves once the page was told. */
    const pause = () =>
      page.evaluate(`new Promise((resolve) => {
      const video = document.querySelector("video");
      video.addEventListener("pause", () => resolve(), { once: true });
      video.pause();
    })`);

    it("resume muted, and play with sound after a click", async () => {
      await page.reload();
      await game.waitUntilPlaying();
      const hint = page.getByText("Press any key or click to hear the game.");
      expect(await isSilent()).to.equal(false);
      await pause();
      await hint.waitFor();
      const before = await shownSeconds();
      await eventually(async () => (await shownSeconds()) > before + 0.5, { what: "a picture that goes on" });
      expect(await isSilent()).to.equal(true);
      await page.getByTestId("game-surface").click();
      await eventually(async () => !(await isSilent()), { what: "the sound" });
      await hint.waitFor({ state: "detached" });
      const heard = await shownSeconds();
      await eventually(async () => (await shownSeconds()) > heard + 0.5, {
        what: "a picture that goes on with its sound",
      });
    });

    it("wait while the page is hidden, and resume when it is visible again, without an event", async () => {
      await page.evaluate("Object.defineProperty(document, 'hidden', { value: true, configurable: true })");
      await pause();
      expect(await isPaused()).to.equal(true);
      await page.evaluate("delete document.hidden");
      await eventually(async () => !(await isPaused()), { what: "the picture" });
    });

    it("resume at most once a second", async () => {
      await page.evaluate(`(() => {
        const video = document.querySelector("video");
        window.tries = [];
        video.play = () => {
          tries.push(performance.now());
          return HTMLMediaElement.prototype.play.call(video);
        };
        video.addEventListener("play", () => video.pause());
      })()`);
      await pause();
      const tries = await eventually(
        async () => {
          const times = await page.evaluate<number[]>("tries");
          return times.length >= 4 && times;
        },
        { what: "some tries" },
      );
      // Three pauses of a second. A busy machine can delay the first try, but not all of them.
      expect(tries[3]! - tries[0]!, "milliseconds between four tries").to.be.at.least(2_000);
      await page.reload();
      await game.waitUntilPlaying();
    });
  });
});
