import { expect } from "chai";
import type { Browser, Page } from "playwright-core";
import type { Browser as Firefox, Page as FirefoxPage } from "puppeteer-core";
import layout from "../../../games/testcard/layout.json" with { type: "json" };
import { aUser, type TestUser } from "#test/factories/catalog.ts";
import { launchBrowser, openWindow, type TestWindow } from "#test/support/browser/browser.ts";
import { eventually } from "#test/support/clocks/eventually.ts";
import { launchFirefox } from "#test/support/browser/firefox.ts";
import { pageScript } from "#test/support/browser/pageScripts.ts";
import { openSignedIn, pressPlay } from "#test/support/browser/pages.ts";
import { waitForColor, type Color, type Picture, type PictureArea } from "#test/support/browser/picture.ts";
import { PlayPage } from "#test/support/browser/playPage.ts";
import { TestCard } from "#test/support/browser/testCard.ts";
import { PlayFixture } from "#test/support/fixtures/playFixture.ts";
import { imageBuildMs } from "#test/support/session/containers.ts";

const [white, dark] = ["#ffffff", "#202020"];

/** Waits until the bar of controls has stopped moving. */
const restingControls =
  "Promise.all(document.querySelector('[role=toolbar]').getAnimations().map(({ finished }) => finished))";

/** One session, played in both browsers. */
describe("the game's input", function () {
  this.timeout(90_000);
  let fixture: PlayFixture;
  let browser: Browser;
  let user: TestUser;
  let tab: TestWindow;
  let page: Page;
  let game: PlayPage;
  let card: TestCard;

  before(async function () {
    this.timeout(imageBuildMs);
    fixture = await PlayFixture.start();
    browser = await launchBrowser();
    user = await aUser(fixture.api.deps);
    tab = await openWindow(browser, { baseUrl: fixture.api.url, name: "input state" });
    ({ page } = tab);
    game = await PlayPage.on(page);
    card = new TestCard(game);
    await openSignedIn(page, fixture.api, user, "/games/testcard");
    await fixture.letRun(await pressPlay(page));
    await game.waitUntilPlaying();
    await page.getByTestId("game-surface").focus();
  });
  after(async function () {
    await tab.close({ failed: this.test?.parent?.tests.some(({ state }) => state === "failed") ?? false });
    await browser.close();
    await fixture.stop();
  });

  it("releases a key while the page does nothing, as behind a dialog, and presses it afterwards", async () => {
    const before = await eventually(() => card.presses(), { what: "the test card" });
    await page.keyboard.down("KeyA");
    await card.showsPresses(before + 1);
    await page.evaluate("{ const end = performance.now() + 5_000; while (performance.now() < end); }");
    await card.showsPresses(before + 2);
    await page.keyboard.up("KeyA");
    await game.waitForColor(layout.heldBlock, dark);
  });

  it("gets a held key's press if its event went to another window, and not from the page's controls", async () => {
    const before = await eventually(() => card.presses(), { what: "the test card" });
    await page.keyboard.down("KeyA");
    await page.evaluate("window.dispatchEvent(new Event('blur'))");
    await game.waitForColor(layout.heldBlock, dark);
    await page.keyboard.down("KeyA"); // Repeats it.
    await game.waitForColor(layout.heldBlock, white);
    await page.keyboard.up("KeyA");
    await page.getByRole("button", { name: "Statistics" }).focus();
    await page.keyboard.down("Enter"); // Gives the focus back to the game.
    await page.keyboard.down("Enter");
    await page.keyboard.up("Enter");
    await game.press("KeyB");
    await card.showsPresses(before + 3);
  });

  it("turns the wheel by notches while Shift and Control are held", async () => {
    await game.moveTo(640, 560);
    for (const modifier of ["Shift", "Control"]) {
      await page.keyboard.down(modifier);
      await page.mouse.wheel(0, 100);
      await page.keyboard.up(modifier);
    }
    await game.waitForColor(layout.wheelBlock, layout.cycle[2] ?? "");
    await page.evaluate(`document.querySelector("video").dispatchEvent(
      new WheelEvent("wheel", { deltaX: -100, shiftKey: true, bubbles: true, cancelable: true }))`);
    await game.waitForColor(layout.wheelBlock, layout.cycle[1] ?? "");
    expect(await page.evaluate("visualViewport.scale")).to.equal(1);
  });

  it("gets clicks at its top edge; the handle and resting at the very edge open the controls", async () => {
    const open = page.locator(".controls-open");
    const away = async (): Promise<void> => {
      await game.moveTo(640, 560);
      await game.waitForColor({ x: 632, y: 552, width: 16, height: 16 }, layout.pointer.color, {
        tolerance: 70,
      }); // Browsers merge movements of one frame.
      await open.waitFor({ state: "detached" });
      await page.evaluate(restingControls);
    };
    await away();
    const isLit = await card.isClickLit();
    await page.mouse.click(500, 1);
    await eventually(async () => (await card.isClickLit()) !== isLit, { what: "the click in the game" });
    expect(await open.count()).to.equal(0);
    await away();
    await page.mouse.move(500, 0);
    await open.waitFor();
    await away();
    await page.mouse.click(640, 4);
    await open.waitFor();
    await away();
    expect(await card.isClickLit(), "the handle's click is not the game's").to.equal(!isLit);
  });

  it("stays on the page when a file is dropped on it", async () => {
    const isRefused =
      await page.evaluate(`["dragover", "drop"].every((name) => !document.querySelector("video").dispatchEvent(
      new DragEvent(name, { bubbles: true, cancelable: true, dataTransfer: new DataTransfer() })))`);
    expect(isRefused).to.equal(true);
  });

  describe("in Firefox", () => {
    let firefox: Firefox;
    let there: FirefoxPage;
    let picture: Picture;

    before(async () => {
      firefox = await launchFirefox();
      there = await firefox.newPage();
      await there.goto(page.url()); // leads to the sign-in page and back
      await there.locator("input[type=email]").fill(user.email);
      await there.locator("input[type=password]").fill(user.password);
      await there.locator("button[type=submit]").click();
      await there.locator("::-p-text(Play here)").click();
      await there.waitForSelector('[data-phase="playing"]');
      await there.evaluate(await pageScript("probe"));
      const color = (area: PictureArea): Promise<Color> =>
        there.evaluate(`joypodProbe.color(${JSON.stringify(area)})`) as Promise<Color>;
      picture = { color, colors: (areas) => Promise.all(areas.map(color)) };
      await there.focus("[data-testid=game-surface]");
    });
    after(() => firefox.close());

    it("counts one notch of the wheel with and without modifiers", async () => {
      await there.mouse.move(640, 560);
      const at = (notches: number): Promise<void> =>
        waitForColor(picture, layout.wheelBlock, layout.cycle[(1 + notches) % layout.cycle.length] ?? "");
      await there.mouse.wheel({ deltaY: 100 });
      await at(1);
      await there.keyboard.down("Shift");
      await there.mouse.wheel({ deltaY: 100 });
      await there.keyboard.up("Shift");
      await at(2);
    });

    it("keeps a key held while a control is used, and releases it when the page asks before it closes", async () => {
      await there.keyboard.down("KeyA");
      await waitForColor(picture, layout.heldBlock, white);
      await there.focus(".controls button");
      await waitForColor(picture, layout.heldBlock, dark);
      await there.focus("[data-testid=game-surface]");
      await waitForColor(picture, layout.heldBlock, white);
      const asked = new Promise<string>((resolve) => {
        there.once("dialog", (dialog) => {
          resolve(dialog.type());
          void dialog.dismiss();
        });
      });
      await Promise.all([there.close({ runBeforeUnload: true }).catch(() => undefined), asked]);
      expect(await asked).to.equal("beforeunload");
      await waitForColor(picture, layout.heldBlock, dark);
      await there.keyboard.up("KeyA");
    });

    it("releases held keys before Firefox's menu, which Shift with the right button opens", async () => {
      await there.keyboard.down("KeyA");
      await waitForColor(picture, layout.heldBlock, white);
      await there.evaluate(`document.querySelector("video").dispatchEvent(
        new PointerEvent("pointerdown", { button: 2, buttons: 2, shiftKey: true, isPrimary: true, bubbles: true }))`);
      await there.evaluate(`document.querySelector("video").dispatchEvent(
        new PointerEvent("pointerup", { button: 2, buttons: 0, isPrimary: true, bubbles: true }))`);
      await waitForColor(picture, layout.heldBlock, dark);
      await there.keyboard.up("KeyA");
    });

    it("opens the controls by their handle", async () => {
      await there.mouse.move(640, 560);
      await there.waitForSelector(".controls:not(.controls-open)");
      await there.mouse.click(640, 4);
      await there.waitForSelector(".controls-open");
    });
  });
});
