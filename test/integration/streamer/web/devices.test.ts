import { expect } from "chai";
import type { Browser, Page } from "playwright-core";
import layout from "../../../../games/testcard/layout.json" with { type: "json" };
import { aUser, type TestUser } from "#test/factories/catalog.ts";
import { expectAccessible } from "#test/support/browser/accessibility.ts";
import { launchBrowser, openWindow, type TestWindow } from "#test/support/browser/browser.ts";
import { eventually } from "#test/support/clocks/eventually.ts";
import { launchFirefox } from "#test/support/browser/firefox.ts";
import {
  keptChannel,
  playedGamepad,
  refusedLock,
  rememberedPointer,
  unfocusedButtons,
} from "#test/support/browser/otherBrowsers.ts";
import { pageScript } from "#test/support/browser/pageScripts.ts";
import { openSignedIn, pressPlay } from "#test/support/browser/pages.ts";
import type { Color, PictureArea } from "#test/support/browser/picture.ts";
import { PlayPage } from "#test/support/browser/playPage.ts";
import { TestCard } from "#test/support/browser/testCard.ts";
import { PlayFixture } from "#test/support/fixtures/playFixture.ts";
import { imageBuildMs } from "#test/support/session/containers.ts";

/** Waits until the bar of controls has stopped moving. */
const restingControls =
  "Promise.all(document.querySelector('[role=toolbar]').getAnimations().map(({ finished }) => finished))";
const white = "#ffffff";
const dark = "#202020";

/** Firefox does not count the frames of a stream in its playback quality. */
const sixtyFrames = `new Promise((resolve) => {
  const video = document.querySelector("video");
  let frames = 0;
  const count = () => (frames++ === 60 ? resolve() : video.requestVideoFrameCallback(count));
  count();
})`;

/** One session, played with each device in turn. */
describe("a player's devices and browsers", function () {
  this.timeout(90_000);
  let fixture: PlayFixture;
  let browser: Browser;
  let user: TestUser;
  let tab: TestWindow;
  let page: Page;
  let game: PlayPage;

  before(async function () {
    this.timeout(imageBuildMs);
    fixture = await PlayFixture.start();
    browser = await launchBrowser();
    user = await aUser(fixture.api.deps);
    tab = await openWindow(browser, { baseUrl: fixture.api.url, name: "devices" });
    ({ page } = tab);
    await page.addInitScript(playedGamepad);
    await page.addInitScript(rememberedPointer);
    await page.addInitScript(keptChannel);
    game = await PlayPage.on(page);
    await openSignedIn(page, fixture.api, user, "/games/testcard");
    await fixture.letRun(await pressPlay(page));
    await game.waitUntilPlaying();
  });
  after(async function () {
    await tab.close({ failed: this.test?.parent?.tests.some(({ state }) => state === "failed") ?? false });
    await browser.close();
    await fixture.stop();
  });

  const pointerAt = (x: number, y: number) =>
    game.waitForColor({ x: x - 8, y: y - 8, width: 16, height: 16 }, layout.pointer.color, { tolerance: 70 });

  it("turn the wheel up and down by notches", async () => {
    await game.moveTo(640, 560);
    // An automated browser reports each of these as one notch, whatever its distance.
    for (const distance of [100, 40, 300]) await page.mouse.wheel(0, distance);
    await game.waitForColor(layout.wheelBlock, layout.cycle[3] ?? "");
    for (const distance of [-100, -100]) await page.mouse.wheel(0, distance);
    await game.waitForColor(layout.wheelBlock, layout.cycle[1] ?? "");
  });

  it("move the game's pointer by the distances of a locked pointer", async () => {
    await game.moveTo(300, 650);
    await pointerAt(300, 650);
    await game.openControl("Lock pointer");
    await eventually(() => page.evaluate("document.pointerLockElement !== null"), {
      what: "a locked pointer",
    });
    const from = await page.evaluate<{ x: number; y: number }>("lastPointer");
    await page.mouse.move(from.x + 40, from.y + 30);
    await pointerAt(340, 680); // not where the mouse is, which is far from there
    await page.mouse.move(from.x + 160, from.y + 10);
    await pointerAt(460, 660);
    // The end of the lock is an Escape for the game, which later tests must not see.
    await new TestCard(game).showsPressOf(() => page.evaluate("document.exitPointerLock()"));
  });

  it("lock the pointer with a click while the game hides its own, and send the Escape that ends the lock", async () => {
    const isLocked = () => page.evaluate<boolean>("document.pointerLockElement !== null");
    const hidePointer = () =>
      page.evaluate(
        "inputChannel.dispatchEvent(new MessageEvent('message', { data: JSON.stringify({ t: 'pointer', hidden: true }) }))",
      );
    const card = new TestCard(game);
    await game.moveTo(640, 560);
    await page.mouse.click(640, 560);
    expect(await isLocked()).to.equal(false);
    await hidePointer();
    await page.getByRole("button", { name: "Lock on click" }).waitFor({ state: "attached" });
    await page.mouse.click(640, 560);
    await eventually(isLocked, { what: "a locked pointer" });
    await page.getByText("Your pointer is locked to the game.").waitFor();
    const presses = await eventually(() => card.presses(), { what: "the test card" });
    await page.evaluate("document.exitPointerLock()"); // As the browser does when Escape is pressed.
    await card.showsPresses(presses + 1);
    await game.openControl("Lock on click");
    await page.reload();
    await game.waitUntilPlaying();
    await hidePointer();
    await page.getByRole("button", { name: "Lock on click" }).waitFor({ state: "attached" });
    await page.mouse.click(640, 560);
    await game.press("KeyB");
    await card.showsPresses(presses + 2);
    expect(await isLocked()).to.equal(false);
  });

  it("type the text of input methods and the clipboard", async () => {
    const card = new TestCard(game);
    await page.getByTestId("game-surface").focus();
    const presses = await eventually(() => card.presses(), { what: "the test card" });
    await game.openControl("Type text");
    const devtools = await page.context().newCDPSession(page);
    await devtools.send("Input.imeSetComposition", { text: "にほ", selectionStart: 2, selectionEnd: 2 });
    await devtools.send("Input.insertText", { text: "日本" });
    await devtools.detach();
    await card.showsPresses(presses + 2);
    await page.getByTestId("game-text").fill("Grüße");
    await page.keyboard.press("Enter");
    await card.showsPresses(presses + 8);
    expect(await page.getByTestId("game-text").inputValue()).to.equal("");
    await page.keyboard.press("Escape");
    await page.getByTestId("game-text").waitFor({ state: "detached" });
  });

  it("show for some seconds that the pointer could not be locked", async () => {
    await page.evaluate(refusedLock);
    await game.openControl("Lock pointer");
    await game.moveTo(640, 560); // Away from the controls, which would stay open for a pointer.
    const words = page.getByText("The pointer cannot be locked right now. Try again in a second.");
    await words.waitFor();
    await page.evaluate(restingControls);
    expect((await words.boundingBox())?.y).to.be.at.least(0);
    await words.waitFor({ state: "detached" });
    await page.reload();
    await game.waitUntilPlaying();
  });

  it("send the mouse's back button to the game", async () => {
    const { pathname } = new URL(page.url());
    const card = new TestCard(game);
    const presses = await eventually(() => card.presses(), { what: "the test card" });
    const devtools = await page.context().newCDPSession(page);
    for (const type of ["mousePressed", "mouseReleased"] as const) {
      await devtools.send("Input.dispatchMouseEvent", {
        type,
        x: 640,
        y: 560,
        button: "back",
        buttons: type === "mousePressed" ? 8 : 0,
        clickCount: 1,
      });
    }
    await devtools.detach();
    await page.getByTestId("game-surface").focus();
    await game.press("KeyB");
    await card.showsPresses(presses + 1);
    expect(new URL(page.url()).pathname).to.equal(pathname);
  });

  it("keep a key held while they use a control, and not when it goes up there", async () => {
    const card = new TestCard(game);
    const before = await eventually(() => card.presses(), { what: "the test card" });
    await page.getByTestId("game-surface").focus();
    await page.keyboard.down("KeyA");
    await card.showsPresses(before + 1);
    await page.keyboard.press("Control+Alt+KeyM");
    await game.waitForColor(layout.heldBlock, dark);
    await page.getByTestId("game-surface").focus();
    await game.waitForColor(layout.heldBlock, white);
    await page.keyboard.press("Control+Alt+KeyM");
    await game.waitForColor(layout.heldBlock, dark);
    await page.keyboard.up("KeyA");
    await page.getByTestId("game-surface").focus();
    // The press, its repetition, and the two modifiers of each chord.
    await card.showsPresses(before + 6);
  });

  it("are asked before they close the page, which releases their keys", async () => {
    await page.getByTestId("game-surface").focus();
    await page.keyboard.down("KeyA");
    await game.waitForColor(layout.heldBlock, white);
    const asked = page.waitForEvent("dialog");
    await page.close({ runBeforeUnload: true });
    const question = await asked;
    expect(question.type()).to.equal("beforeunload");
    await question.dismiss();
    await game.waitForColor(layout.heldBlock, dark);
    await page.keyboard.up("KeyA");
    await game.openControl("Statistics");
    await game.openControl("Statistics");
  });

  it("show the running game in full screen", async () => {
    await game.openControl("Full screen");
    await eventually(() => page.evaluate("document.fullscreenElement !== null"), { what: "full screen" });
    await new TestCard(game).showsPressOf(() => game.press("KeyF"));
    await game.openControl("Leave full screen");
    await eventually(() => page.evaluate("document.fullscreenElement === null"), { what: "the window" });
  });

  it("send the browser's gamepad to the game, starting with its first press", async () => {
    await page.evaluate("testPad(true, 1)");
    await game.waitForColor(layout.padBlock, white);
    await game.waitForColor({ x: 800, y: 600, width: 40, height: 40 }, white);
    await page.evaluate("testPad(false, 0)");
    await game.waitForColor(layout.padBlock, dark);
    await page.evaluate("testPad(true, 0)");
    await game.waitForColor(layout.padBlock, white);
    await page.evaluate("testPads = [null]");
    await game.waitForColor(layout.padBlock, dark);
  });

  it("press held keys and buttons again after the streamer released everything, as after a network outage", async () => {
    await page.getByTestId("game-surface").focus();
    await page.evaluate("testPad(true, 0)");
    await page.keyboard.down("KeyA");
    for (const block of [layout.heldBlock, layout.padBlock]) await game.waitForColor(block, white);
    await page.evaluate("inputChannel.send(JSON.stringify({ t: 'release' }))");
    for (const block of [layout.heldBlock, layout.padBlock]) await game.waitForColor(block, dark);
    await page.evaluate(
      "inputChannel.dispatchEvent(new MessageEvent('message', { data: JSON.stringify({ t: 'released' }) }))",
    );
    for (const block of [layout.heldBlock, layout.padBlock]) await game.waitForColor(block, white);
    await page.keyboard.up("KeyA");
    await page.evaluate("testPad(false, 0)");
    for (const block of [layout.heldBlock, layout.padBlock]) await game.waitForColor(block, dark);
  });

  it("have accessible controls in the toolbar, its menus and the stop dialog", async () => {
    await game.openControl("Statistics");
    await page.getByTestId("stream-statistics").waitFor();
    await game.openControl("Quality");
    await page.getByRole("radio", { name: "Sharp" }).waitFor();
    await expectAccessible(page);
    await game.openControl("Quality");
    await game.openControl("Statistics");
    await game.openControl("Stop");
    await page.getByRole("button", { name: "Save and stop" }).waitFor();
    await expectAccessible(page);
    await page.keyboard.press("Escape");
    await page.getByRole("dialog").waitFor({ state: "detached" });
    await game.waitUntilPlaying();
  });

  it("close the quality menu with its button, even if a click does not focus it", async () => {
    await page.evaluate(unfocusedButtons);
    const choice = page.getByRole("radio", { name: "Sharp" });
    await game.openControl("Quality");
    await choice.waitFor();
    await game.openControl("Quality");
    await choice.waitFor({ state: "detached" });
    await page.reload();
    await game.waitUntilPlaying();
  });

  it("play in Firefox", async () => {
    const firefox = await launchFirefox();
    const other = await firefox.newPage();
    try {
      await other.goto(page.url()); // leads to the sign-in page and back
      await other.locator("input[type=email]").fill(user.email);
      await other.locator("input[type=password]").fill(user.password);
      await other.locator("button[type=submit]").click();
      await other.locator("::-p-text(Play here)").click();
      await other.waitForSelector('[data-phase="playing"]');
      await other.evaluate(await pageScript("probe"));
      const color = (area: PictureArea): Promise<Color> =>
        other.evaluate(`joypodProbe.color(${JSON.stringify(area)})`) as Promise<Color>;
      const card = new TestCard({ color, colors: (areas) => Promise.all(areas.map(color)) });
      await other.focus("[data-testid=game-surface]");
      await card.showsPressOf(() => other.keyboard.press("KeyB"));
      await other.evaluate(sixtyFrames);
    } catch (error) {
      await other.screenshot({ path: "test-results/firefox.png" });
      throw error;
    } finally {
      await firefox.close();
    }
  });
});
