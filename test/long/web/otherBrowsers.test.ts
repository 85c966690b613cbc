import { expect } from "chai";
import type { Browser, Page } from "playwright-core";
import { aUser } from "#test/factories/catalog.ts";
import { launchBrowser, openWindow, type TestWindow } from "#test/support/browser/browser.ts";
import { eventually } from "#test/support/clocks/eventually.ts";
import { olderBrowser, withoutH264, withoutLocks } from "#test/support/browser/otherBrowsers.ts";
import { openSignedIn, pressPlay } from "#test/support/browser/pages.ts";
import { PlayPage } from "#test/support/browser/playPage.ts";
import { PlayFixture } from "#test/support/fixtures/playFixture.ts";
import { imageBuildMs } from "#test/support/session/containers.ts";
import type { SessionPair } from "#test/support/session/sessionPair.ts";

/** One session, played in one browser after the other. */
describe("players with other browsers", function () {
  this.timeout(90_000);
  let fixture: PlayFixture;
  let browser: Browser;
  let tab: TestWindow;
  let page: Page;
  let game: PlayPage;
  let pair: SessionPair;

  before(async function () {
    this.timeout(imageBuildMs);
    fixture = await PlayFixture.start();
    browser = await launchBrowser();
    tab = await openWindow(browser, { baseUrl: fixture.api.url, name: "other browsers" });
    ({ page } = tab);
    game = await PlayPage.on(page);
    await openSignedIn(page, fixture.api, await aUser(fixture.api.deps), "/games/testcard");
    pair = await fixture.letRun(await pressPlay(page));
    await game.waitUntilPlaying();
  });
  after(async function () {
    await tab.close({ failed: this.test?.parent?.tests.some(({ state }) => state === "failed") ?? false });
    await browser.close();
    await fixture.stop();
  });

  /** Plays in another window, whose browser is as the script makes it, and then here again. */
  async function playIn(script: string, look: (there: PlayPage) => Promise<void>): Promise<void> {
    const other = await openWindow(browser, { baseUrl: fixture.api.url, name: "another browser" });
    try {
      await other.page.addInitScript(script);
      await other.context.addCookies(await tab.context.cookies());
      const there = await PlayPage.on(other.page);
      await other.page.goto(new URL(page.url()).pathname);
      await other.page.getByRole("button", { name: "Play here" }).click();
      await there.waitUntilPlaying();
      await look(there);
    } finally {
      await other.close({ failed: false });
    }
    await page.getByRole("button", { name: "Take it back" }).click();
    await game.waitUntilPlaying();
  }

  it("get VP8 if the browser has no H.264", () =>
    playIn(withoutH264, async (there) => {
      await there.openControl("Statistics");
      await there.page.getByTestId("stream-codec").getByText("VP8").waitFor();
      expect(await there.page.getByTestId("stream-encoder").innerText()).to.equal("vp8enc");
      await eventually(async () => (await there.frames()) > 60, { what: "frames that go on" });
    }));

  it("get the streamer's first codec if pages cannot order the browser's codecs", () =>
    playIn(olderBrowser, async (there) => {
      await there.openControl("Statistics");
      await there.page.getByTestId("stream-codec").getByText("H264").waitFor();
    }));

  it("see the controls, and that the game is played elsewhere, without pointer lock and full screen", async () => {
    const other = await openWindow(browser, { baseUrl: fixture.api.url, name: "without locks" });
    try {
      await other.page.addInitScript(withoutLocks);
      await other.context.addCookies(await tab.context.cookies());
      await other.page.goto(new URL(page.url()).pathname);
      await other.page.getByRole("button", { name: "Play here" }).click();
      await other.page.locator('[data-phase="playing"]').waitFor();
      await other.page.keyboard.press("Control+Alt+KeyM");
      await other.page
        .getByRole("toolbar")
        .getByRole("button", { name: "Mute" })
        .and(other.page.locator(":focus"))
        .waitFor();
      for (const name of ["Lock pointer", "Full screen"])
        expect(await other.page.getByRole("button", { name }).count(), name).to.equal(0);
      await page.getByRole("button", { name: "Take it back" }).click();
      await other.page.getByText("You moved to another tab").waitFor();
      await game.waitUntilPlaying();
    } finally {
      await other.close({ failed: false });
    }
  });

  describe("in a browser that plays no sound before the first user gesture", () => {
    const isSilent = (): Promise<unknown> => quietly("document.querySelector('video').muted");
    let strict: Browser;
    let other: TestWindow;
    let there: PlayPage;

    before(async () => {
      strict = await launchBrowser({ flags: ["--autoplay-policy=document-user-activation-required"] });
    });
    after(() => strict.close());
    beforeEach(async () => {
      // Another test may have taken the game elsewhere.
      await page.reload();
      await game.waitUntilPlaying();
      other = await openWindow(strict, { baseUrl: fixture.api.url, name: "without sound" });
      await other.context.addCookies(await tab.context.cookies());
      there = await PlayPage.on(other.page);
    });
    afterEach(async function () {
      await other.close({ failed: this.currentTest?.state === "failed" });
    });

    /**
     * Asks the page by the debugger alone: whatever Playwright asks it counts as something that the player
     * did.
     */
    async function quietly(expression: string): Promise<unknown> {
      const devtools = await other.context.newCDPSession(other.page);
      const { result } = await devtools.send("Runtime.evaluate", { expression, returnByValue: true });
      await devtools.detach();
      return result.value;
    }

    /** Opens the game there without a click, which plays without sound then. */
    async function playSilently(pathname: string): Promise<void> {
      await page.goto("/"); // Hangs up, so that nobody has to click to take the game over.
      await other.page.goto(pathname);
      await eventually(() => quietly("document.querySelector('[data-phase=playing]') !== null"), {
        timeoutMs: 30_000,
        what: "the picture",
      });
      expect(await quietly("document.body.textContent")).to.contain(
        "Press any key or click to hear the game.",
      );
      expect(await isSilent()).to.equal(true);
    }

    it("hear sound if a click led to the game", async () => {
      await other.page.goto(new URL(page.url()).pathname);
      await other.page.getByRole("button", { name: "Play here" }).click();
      await there.waitUntilPlaying();
      expect(await isSilent()).to.equal(false);
    });

    it("play silently with a notice, including after a lost connection", async () => {
      const { pathname } = new URL(page.url());
      await playSilently(pathname);
      const hint = other.page.getByText("Press any key or click to hear the game.");
      await pair.freezeStreamer(true);
      await other.page.getByText("Connection lost. Reconnecting…").waitFor({ timeout: 40_000 });
      await pair.freezeStreamer(false);
      await there.waitUntilPlaying();
      const seen = await there.frames();
      await eventually(async () => (await there.frames()) > seen + 5, {
        timeoutMs: 15_000,
        what: "more frames",
      });
      expect(await isSilent()).to.equal(true);
      await eventually(async () => ((await hint.boundingBox())?.y ?? -1) >= 0, {
        what: "the hint to be in view, as long as it holds",
      });
      await other.page.getByTestId("game-surface").click();
      await eventually(async () => !(await isSilent()), { what: "the sound" });
      await other.page.goto("/");
      await page.goto(pathname);
      await game.waitUntilPlaying();
    });

    it("continue silently after Escape, which browsers do not count as a gesture, and hear sound after a click", async () => {
      const { pathname } = new URL(page.url());
      await playSilently(pathname);
      await other.page.keyboard.press("Escape");
      const frames = (): Promise<unknown> =>
        quietly("document.querySelector('video').getVideoPlaybackQuality().totalVideoFrames");
      const seen = Number(await frames());
      await eventually(async () => Number(await frames()) > seen + 30, { what: "more frames" });
      expect(await isSilent()).to.equal(true);
      await other.page.mouse.click(640, 360);
      await eventually(async () => !(await isSilent()), { what: "the sound" });
      await other.page.goto("/");
      await page.goto(pathname);
      await game.waitUntilPlaying();
    });
  });
});
