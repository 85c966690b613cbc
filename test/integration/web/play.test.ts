import { expect } from "chai";
import type { Browser, Page } from "playwright-core";
import layout from "../../../games/testcard/layout.json" with { type: "json" };
import { aGame, aUser, type TestUser } from "../../factories/catalog.ts";
import { TestApi } from "../../support/api.ts";
import { launchBrowser, openWindow, type TestWindow } from "../../support/browser.ts";
import { eventually } from "../../support/eventually.ts";
import { signInAs } from "../../support/pages.ts";
import { operatorOf, type PlayedOperator } from "../../support/playedOperator.ts";
import { PlayPage } from "../../support/playPage.ts";
import { buildGame, imageBuildMs, prepareSessionImages, type SessionImages } from "../../support/session/containers.ts";
import { givePodAddress } from "../../support/session/podAddress.ts";
import { startSessionPair, type SessionPair } from "../../support/session/sessionPair.ts";
import { buildWeb } from "../../support/web.ts";

const podIp = "127.78.0.1";
const [red, green, blue, yellow] = layout.cycle as [string, string, string, string];

describe("playing on the page", function () {
  this.timeout(90_000);
  let images: SessionImages;
  let archive: string;
  let api: TestApi;
  let operator: PlayedOperator;
  let browser: Browser;
  let user: TestUser;
  let tab: TestWindow;
  let page: Page;
  let game: PlayPage;
  let pair: SessionPair;
  let takeAddress: () => Promise<void>;

  before(async function () {
    this.timeout(imageBuildMs);
    images = await prepareSessionImages();
    archive = await buildGame("testcard", images.game);
    api = await TestApi.start({ kube: true, env: { WEB_ROOT: await buildWeb() } });
    operator = operatorOf(api);
    await operator.addNode(100);
    await eventually(() => api.deps.cluster.gameNodes.store.size > 0);
    await aGame(api.deps, { slug: "testcard", title: "Test card" });
    browser = await launchBrowser();
  });
  after(async () => {
    await browser.close();
    await operator.removeNodes();
    await api.stop();
  });

  beforeEach(async function () {
    pair = await startSessionPair({ images, game: { archive, launcher: "testcard.sh" } });
    takeAddress = await givePodAddress(podIp, pair.signalUrl);
    user = await aUser(api.deps);
    tab = await openWindow(browser, { baseUrl: api.url, name: this.currentTest?.fullTitle() ?? "play" });
    ({ page } = tab);
    game = await PlayPage.on(page);
    await page.goto("/games/testcard");
    await signInAs(page, user);
  });
  afterEach(async function () {
    await tab.close({ failed: this.currentTest?.state === "failed" });
    await takeAddress();
    await pair.remove();
  });

  /** Presses Play and, as the operator, lets the session run; gives its id. */
  async function play(): Promise<string> {
    await page.getByRole("button", { name: "Play", exact: true }).click();
    await page.waitForURL("**/play/**");
    const id = decodeURIComponent(new URL(page.url()).pathname.split("/").at(-1) ?? "");
    await operator.makeReady(id, { podIp });
    await game.waitUntilPlaying();
    return id;
  }

  it("shows the stages of the launch and lets it be called off", async () => {
    await page.getByRole("button", { name: "Play", exact: true }).click();
    await page.getByRole("listitem").filter({ hasText: "Finding a server" }).and(page.locator("[aria-current=step]")).waitFor();
    await page.getByRole("button", { name: "Cancel" }).click();
    const id = decodeURIComponent(new URL(page.url()).pathname.split("/").at(-1) ?? "");
    await eventually(async () => (await operator.session(id)).spec.desiredState === "Stopped");
    await operator.finish(id);
    await page.getByRole("heading", { name: "See you soon" }).waitFor();
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

  it("lets go of held keys when the window loses the player's attention", async () => {
    await play();
    await page.keyboard.down("KeyA");
    await game.waitForColor(layout.heldBlock, "#ffffff");
    await page.evaluate("window.dispatchEvent(new Event('blur'))");
    await game.waitForColor(layout.heldBlock, "#202020");
  });

  it("goes on after a reload, and after the way to the server was lost", async () => {
    await play();
    await game.press("KeyA");
    await game.waitForColor(layout.keyBlock, green);
    await page.reload();
    await game.waitUntilPlaying();
    await game.waitForColor(layout.keyBlock, green);
    await pair.signalStreamer("STOP");
    await page.getByText("Connection lost. Reconnecting…").waitFor({ timeout: 40_000 });
    await pair.signalStreamer("CONT");
    await game.waitUntilPlaying();
    await page.getByTestId("game-surface").focus();
    await game.press("KeyB");
    await game.waitForColor(layout.keyBlock, blue);
  });

  it("plays in one window at a time and moves only when asked", async () => {
    await play();
    const other = await openWindow(browser, { baseUrl: api.url, name: "the other window" });
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

  it("shows figures of the connection", async () => {
    await play();
    await game.openControl("Statistics");
    await eventually(async () => {
      const shown = await page.getByTestId("stream-statistics").innerText();
      expect(shown).to.match(/1280 × 720/).and.match(/[1-9]\d* per second/).and.match(/[1-9]\d* kbit\/s/).and.match(/H264/).and.match(/x264enc/);
      return true;
    });
  });

  it("leads to the controls by the keyboard, and back", async () => {
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

  it("says why it is over when the game ends by itself", async () => {
    const id = await play();
    await game.press(Object.keys(layout.exitKeys)[0] ?? "");
    await page.getByText("The game has ended. Saving your progress…").waitFor();
    await operator.finish(id, { stopReason: "GameExited", usage: { durationSeconds: 5, cpuSeconds: 1, peakMemoryBytes: 2 ** 26 } });
    await page.getByRole("heading", { name: "The game has ended" }).waitFor({ timeout: 30_000 });
    await page.getByTestId("stop-statistics").waitFor();
  });

  it("offers to resume or to stop the game that is already played", async () => {
    const id = await play();
    await aGame(api.deps, { slug: `second-${id}`, title: "Second game" });
    await page.goto(`/games/second-${id}`);
    await page.getByRole("button", { name: "Play", exact: true }).click();
    await page.getByRole("dialog", { name: "You are already playing" }).getByText("Test card").waitFor();
    await page.getByRole("button", { name: "Stop it and start this one" }).click();
    await eventually(async () => (await operator.session(id)).spec.desiredState === "Stopped");
    await operator.finish(id, { usage: { durationSeconds: 5, cpuSeconds: 1, peakMemoryBytes: 2 ** 26 } });
    await page.getByRole("heading", { name: "Second game" }).and(page.locator("#launch-title")).waitFor();
  });
});
