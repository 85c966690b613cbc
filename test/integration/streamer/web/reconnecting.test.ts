import { expect } from "chai";
import type { Browser, Page, Route } from "playwright-core";
import layout from "../../../../games/testcard/layout.json" with { type: "json" };
import { aUser } from "#test/factories/catalog.ts";
import { launchBrowser, openWindow, type TestWindow } from "#test/support/browser/browser.ts";
import { eventually } from "#test/support/clocks/eventually.ts";
import { keptChannel } from "#test/support/browser/otherBrowsers.ts";
import { openSignedIn, pressPlay } from "#test/support/browser/pages.ts";
import type { FakeOperator } from "#test/support/cluster/fakeOperator.ts";
import { PlayPage } from "#test/support/browser/playPage.ts";
import { TestCard } from "#test/support/browser/testCard.ts";
import { PlayFixture } from "#test/support/fixtures/playFixture.ts";
import { imageBuildMs } from "#test/support/session/containers.ts";

const offers = "**/api/stream/gs-*";
/** The page treats a closed channel as a lost connection, and reconnects. */
const loseConnection = "inputChannel.dispatchEvent(new Event('close'))";

describe("a page that reconnects", function () {
  this.timeout(90_000);
  let fixture: PlayFixture;
  let operator: FakeOperator;
  let browser: Browser;
  let tab: TestWindow;
  let page: Page;
  let game: PlayPage;

  before(async function () {
    this.timeout(imageBuildMs);
    fixture = await PlayFixture.start();
    ({ operator } = fixture);
    browser = await launchBrowser();
  });
  after(async () => {
    await browser.close();
    await fixture.stop();
  });

  beforeEach(async function () {
    tab = await openWindow(browser, {
      baseUrl: fixture.api.url,
      name: this.currentTest?.fullTitle() ?? "reconnecting",
    });
    ({ page } = tab);
    game = await PlayPage.on(page);
    await page.addInitScript(keptChannel);
    await openSignedIn(page, fixture.api, await aUser(fixture.api.deps), "/games/testcard");
  });
  afterEach(async function () {
    await Promise.all([tab.close({ failed: this.currentTest?.state === "failed" }), fixture.leavePod()]);
  });

  it("shows the game of a session that moved after the page was connected to its first pod", async () => {
    const id = await pressPlay(page);
    const first = await fixture.letConnect(id);
    await eventually(async () => (await game.frames()) > 0, { timeoutMs: 30_000, what: "a decoded frame" });
    await operator.withdrawPod(id);
    await first.signalStreamer("TERM");
    await first.streamerExit();
    await fixture.removePod();
    await fixture.letRun(id);
    await game.waitUntilPlaying();
  });

  it("shows the running game although an offer failed permanently during the start", async () => {
    await page.route(offers, (route) =>
      route.fulfill({ status: 409, json: { error: "not_running", message: "The session is not running." } }),
    );
    const failed = page.waitForResponse(offers);
    const id = await pressPlay(page);
    await (await failed).finished();
    await page.unroute(offers);
    await fixture.letRun(id);
    await game.waitUntilPlaying();
  });

  it("retries after it was suspended, as on a sleeping laptop, while its offer was pending", async () => {
    const asked: Route[] = [];
    await page.route(offers, (route) => void asked.push(route));
    await page.clock.install();
    await page.goto("/games/testcard");
    await pressPlay(page);
    await eventually(() => asked.length === 1, { what: "the offer" });
    await page.clock.fastForward(600_000);
    await asked[0]?.abort("internetdisconnected");
    await eventually(() => asked.length === 2, { what: "another offer" });
  });

  it("presses held keys again after reconnecting, and keeps the keyboard focus until then", async () => {
    await fixture.letRun(await pressPlay(page));
    await game.waitUntilPlaying();
    const card = new TestCard(game);
    const presses = await eventually(() => card.presses(), { what: "the test card" });
    await page.keyboard.down("KeyW");
    await card.showsPresses(presses + 1);
    const goOn = Promise.withResolvers<undefined>();
    await page.route(offers, async (route) => {
      await goOn.promise;
      await route.continue();
    });
    const offered = page.waitForRequest(offers);
    await page.evaluate(loseConnection);
    await offered;
    await page.keyboard.press("Tab");
    expect(await page.getByTestId("game-surface").and(page.locator(":focus")).count()).to.equal(1);
    goOn.resolve(undefined);
    await game.waitUntilPlaying();
    await card.showsPresses(presses + 2);
    await card.shows(layout.heldBlock, "white");
    await page.keyboard.up("KeyW");
    await card.shows(layout.heldBlock, "dark");
  });

  it("takes over from another tab once per click, even if no media arrives", async () => {
    await fixture.letRun(await pressPlay(page));
    await game.waitUntilPlaying();
    const takeovers: boolean[] = [];
    const other = await openWindow(browser, { baseUrl: fixture.api.url, name: "a tab without media" });
    try {
      await other.context.addCookies(await tab.context.cookies());
      await other.page.addInitScript(keptChannel);
      await other.page.route(offers, async (route) => {
        takeovers.push(new URL(route.request().url()).searchParams.has("takeover"));
        const response = await route.fetch();
        const { location = "" } = response.headers();
        const withoutAddresses = (await response.text()).replaceAll(/^a=candidate:.*\r?\n/gm, "");
        await route.fulfill({ status: response.status(), headers: { location }, body: withoutAddresses });
      });
      await other.page.goto(new URL(page.url()).pathname);
      const prompt = other.page.getByText("Playing in another tab");
      await prompt.waitFor();
      const answered = other.page.waitForResponse(offers);
      await other.page.getByRole("button", { name: "Play here" }).click();
      await (await answered).finished();
      await page.getByRole("button", { name: "Take it back" }).click();
      await game.waitUntilPlaying();
      await other.page.evaluate(loseConnection);
      await eventually(() => takeovers.length > 2, { what: "another offer" });
      expect(takeovers.slice(0, 3)).to.deep.equal([false, true, false]);
      await prompt.waitFor();
      await game.waitUntilPlaying();
    } finally {
      await other.close({ failed: false });
    }
  });

  it("keeps a quality that was chosen on another device in the meantime", async () => {
    const pair = await fixture.letRun(await pressPlay(page));
    await game.waitUntilPlaying();
    await game.openControl("Quality");
    await page.getByRole("radio", { name: "Data saver" }).check();
    await eventually(async () => (await game.size()).width === 854, {
      timeoutMs: 20_000,
      what: "a small picture",
    });
    await page.keyboard.press("Escape");
    await page.evaluate("dispatchEvent(new PageTransitionEvent('pagehide', { persisted: true }))");
    await eventually(async () => (await pair.status()).viewers === 0, { what: "the end of the connection" });
    const other = await openWindow(browser, { baseUrl: fixture.api.url, name: "the other device" });
    try {
      await other.context.addCookies(await tab.context.cookies());
      const there = await PlayPage.on(other.page);
      await other.page.goto(new URL(page.url()).pathname);
      await there.waitUntilPlaying();
      await there.openControl("Quality");
      await other.page.getByRole("radio", { name: "Sharp" }).check();
      await other.page.getByTestId("quality-now").filter({ hasText: "Sharp:" }).waitFor();
      await page.evaluate("dispatchEvent(new PageTransitionEvent('pageshow', { persisted: true }))");
      await page.getByRole("button", { name: "Play here" }).click();
      await game.waitUntilPlaying();
      await game.openControl("Quality");
      const seen = await game.frames();
      await eventually(async () => (await game.frames()) > seen + 60, {
        timeoutMs: 30_000,
        what: "frames that go on",
      });
      expect(await page.getByTestId("quality-now").innerText()).to.match(/^Sharp:/);
    } finally {
      await other.close({ failed: false });
    }
  });
});
