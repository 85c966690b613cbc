import { expect } from "chai";
import type { Browser, Page } from "playwright-core";
import layout from "../../../games/testcard/layout.json" with { type: "json" };
import { aGame, aUser } from "../../factories/catalog.ts";
import { launchBrowser, openWindow, type TestWindow } from "../../support/browser/browser.ts";
import { eventually } from "../../support/clocks/eventually.ts";
import { sessionIdOf, signInAs } from "../../support/browser/pages.ts";
import { WhepPlayer } from "../../support/browser/whepPlayer.ts";
import { PlayerHttp } from "../../support/http/playerHttp.ts";
import type { FakeOperator } from "../../support/cluster/fakeOperator.ts";
import { PlayPage } from "../../support/browser/playPage.ts";
import { PlayFixture } from "../../support/fixtures/playFixture.ts";
import { imageBuildMs } from "../../support/session/containers.ts";
import type { SessionPair } from "../../support/session/sessionPair.ts";

const [red, green, blue, yellow] = layout.cycle as [string, string, string, string];

describe("playing on the page", function () {
  this.timeout(90_000);
  let fixture: PlayFixture;
  let operator: FakeOperator;
  let browser: Browser;
  let tab: TestWindow;
  let page: Page;
  let game: PlayPage;
  let pair: SessionPair;

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
    tab = await openWindow(browser, { baseUrl: fixture.api.url, name: this.currentTest?.fullTitle() ?? "play" });
    ({ page } = tab);
    game = await PlayPage.on(page);
    await page.goto("/games/testcard");
    await signInAs(page, await aUser(fixture.api.deps));
  });
  afterEach(async function () {
    await tab.close({ failed: this.currentTest?.state === "failed" });
    await fixture.removePod();
  });

  /** Presses Play and, as the operator, lets the session run; returns its id. */
  async function play(): Promise<string> {
    await page.getByRole("button", { name: "Play", exact: true }).click();
    await page.waitForURL("**/play/**");
    const id = sessionIdOf(page);
    pair = await fixture.letRun(id);
    await game.waitUntilPlaying();
    return id;
  }

  it("shows the stages of the launch, which can be cancelled", async () => {
    await page.getByRole("button", { name: "Play", exact: true }).click();
    await page.getByRole("listitem").filter({ hasText: "Finding a server" }).and(page.locator("[aria-current=step]")).waitFor();
    await page.getByRole("button", { name: "Cancel" }).click();
    const id = sessionIdOf(page);
    await eventually(async () => (await operator.session(id)).spec.desiredState === "Stopped");
    await operator.finish(id);
    await page.getByRole("heading", { name: "See you soon" }).waitFor();
  });

  it("connects while the session starts, and shows no picture and sends no input before it runs", async () => {
    await page.getByRole("button", { name: "Play", exact: true }).click();
    await page.waitForURL("**/play/**");
    pair = await fixture.letConnect(sessionIdOf(page));
    await eventually(async () => await game.frames() > 0, { timeoutMs: 30_000, what: "a decoded frame" });
    await game.press("KeyA");
    expect(await page.locator("[data-phase=launching]").getByRole("button", { name: "Cancel" }).isVisible()).to.equal(true);
    expect(await page.getByRole("toolbar").count()).to.equal(0);
    await fixture.letRun(sessionIdOf(page));
    await game.waitUntilPlaying();
    await game.waitForColor(layout.keyBlock, red);
    expect((await pair.status()).connections).to.equal(1);
    await game.press("KeyA");
    await game.waitForColor(layout.keyBlock, green);
  });

  it("shows the game and brings keys, pointer and wheel to it", async () => {
    await play();
    await game.waitForColor(layout.keyBlock, red);
    await game.press("KeyA");
    await game.waitForColor(layout.keyBlock, green);
    await game.moveTo(300, 650);
    await game.waitForColor({ x: 292, y: 642, width: 16, height: 16 }, layout.pointer.color, { tolerance: 70 });
    await page.mouse.down();
    await page.mouse.up();
    await game.waitForColor(layout.clickBlock, "#ffffff");
    await page.mouse.wheel(0, 100);
    await game.waitForColor(layout.wheelBlock, green);
  });

  it("releases held keys when the window loses focus", async () => {
    await play();
    await page.keyboard.down("KeyA");
    await game.waitForColor(layout.heldBlock, "#ffffff");
    await page.evaluate("window.dispatchEvent(new Event('blur'))");
    await game.waitForColor(layout.heldBlock, "#202020");
  });

  it("goes on after a reload, and after the connection was lost", async () => {
    await play();
    await game.press("KeyA");
    await game.waitForColor(layout.keyBlock, green);
    await page.reload();
    await game.waitUntilPlaying();
    await game.waitForColor(layout.keyBlock, green);
    await pair.freezeStreamer(true);
    await page.getByText("Connection lost. Reconnecting…").waitFor({ timeout: 40_000 });
    await pair.freezeStreamer(false);
    await game.waitUntilPlaying();
    await page.getByTestId("game-surface").focus();
    await game.press("KeyB");
    await game.waitForColor(layout.keyBlock, blue);
  });

  it("runs in one window at a time and moves only on request", async () => {
    await play();
    const other = await openWindow(browser, { baseUrl: fixture.api.url, name: "the other window" });
    try {
      await other.context.addCookies(await tab.context.cookies());
      await other.page.goto("/");
      await other.page.getByRole("link", { name: "Resume Test card" }).click();
      await other.page.getByText("Playing in another tab").waitFor();
      await other.page.getByRole("button", { name: "Play here" }).click();
      await other.page.locator('[data-phase="playing"]').waitFor();
      await page.getByRole("button", { name: "Take it back" }).click();
      await game.waitUntilPlaying();
      await other.page.getByText("You moved to another tab").waitFor();
    } finally {
      await other.close({ failed: false });
    }
  });

  it("shows statistics of the connection", async () => {
    await play();
    await game.openControl("Statistics");
    await eventually(async () => {
      const shown = await page.getByTestId("stream-statistics").innerText();
      expect(shown).to.match(/1280 × 720/).and.match(/[1-9]\d* per second/).and.match(/[1-9]\d* kbit\/s/).and.match(/H264/).and.match(/x264enc/);
      return true;
    });
  });

  it("shows the game in somebody else's WHEP player by a ticket, without a cookie, and takes its input unless it only watches", async () => {
    const http = PlayerHttp.of(page);
    const id = await http.launch("testcard");
    pair = await fixture.letRun(id);
    const player = await WhepPlayer.open(browser, fixture.api.url);
    try {
      await player.view(await http.streamTicket(id, "watch"));
      await player.waitForColor(layout.keyBlock, red);
      await player.press("KeyA");
      await player.hangUp();
      await eventually(async () => (await pair.status()).viewers === 0, { what: "the end of the connection" });
      await player.view(await http.streamTicket(id));
      await player.waitForColor(layout.keyBlock, red);
      await player.press("KeyA");
      await player.waitForColor(layout.keyBlock, green);
      expect(await player.page.context().cookies()).to.deep.equal([]);
    } finally {
      await player.close();
    }
  });

  it("lets the keyboard reach the controls, and return", async () => {
    await play();
    await page.keyboard.press("Control+Alt+KeyM");
    await page.keyboard.press("Tab");
    await page.keyboard.press("Tab");
    await page.keyboard.press("Enter");
    await page.getByRole("button", { name: "Unmute" }).waitFor();
    // The two held keys of the chord went to the game before it was one; after it the game has the keyboard again.
    await game.press("KeyA");
    await game.waitForColor(layout.keyBlock, yellow);
  });

  it("asks before it stops, then shows what the session used", async () => {
    const id = await play();
    const shown = game.stop();
    await eventually(async () => (await operator.session(id)).spec.desiredState === "Stopped");
    await operator.finish(id, { usage: { durationSeconds: 63, cpuSeconds: 12.5, peakMemoryBytes: 200 * 2 ** 20 } });
    expect(await shown).to.deep.equal({ duration: "1 min 3 s", cpuSeconds: 12.5, peakMemoryMb: 200 });
    await page.getByRole("button", { name: "Play again" }).waitFor();
  });

  it("shows why the session ended when the game ends by itself", async () => {
    const id = await play();
    await game.press(Object.keys(layout.exitKeys)[0] ?? "");
    await page.getByText("The game has ended. Saving your progress…").waitFor();
    await operator.finish(id, { stopReason: "GameExited", usage: { durationSeconds: 5, cpuSeconds: 1, peakMemoryBytes: 2 ** 26 } });
    await page.getByRole("heading", { name: "The game has ended" }).waitFor({ timeout: 30_000 });
    await page.getByTestId("stop-statistics").waitFor();
  });

  it("offers to resume or to stop the game that is already played", async () => {
    const id = await play();
    await aGame(fixture.api.deps, { slug: `second-${id}`, title: "Second game" });
    await page.goto(`/games/second-${id}`);
    await page.getByRole("button", { name: "Play", exact: true }).click();
    await page.getByRole("dialog", { name: "You are already playing" }).getByText("Test card").waitFor();
    await page.getByRole("button", { name: "Stop it and start this one" }).click();
    await eventually(async () => (await operator.session(id)).spec.desiredState === "Stopped");
    await operator.finish(id, { usage: { durationSeconds: 5, cpuSeconds: 1, peakMemoryBytes: 2 ** 26 } });
    await page.getByRole("heading", { name: "Second game" }).and(page.locator("#launch-title")).waitFor();
  });
});
