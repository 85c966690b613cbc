import { expect } from "chai";
import type { Browser, Locator, Page } from "playwright-core";
import { aGame, aSaveSlot } from "#test/factories/catalog.ts";
import { expectAccessible } from "#test/support/browser/accessibility.ts";
import { launchBrowserShell, openWindow, type TestWindow } from "#test/support/browser/browser.ts";
import { translatedPage } from "#test/support/browser/otherBrowsers.ts";
import { openSignedIn, pressPlay, sessionIdOf, signInAs } from "#test/support/browser/pages.ts";
import { buildWeb } from "#test/support/browser/web.ts";
import { eventually } from "#test/support/clocks/eventually.ts";
import { SavesFixture } from "#test/support/fixtures/savesFixture.ts";

/**
 * Returns the texts of a paragraph of two text nodes: once it is translated, and after each change that React
 * makes to the first one.
 */
const changedTexts = `(async () => {
  const paragraph = document.createElement("p");
  const first = new Text("one");
  paragraph.append(first, document.createElement("b"), new Text(", two"));
  document.body.append(paragraph);
  const texts = [];
  for (const change of [
    () => undefined,
    () => { first.nodeValue = "three"; },
    () => paragraph.insertBefore(new Text("zero, "), first),
    () => paragraph.removeChild(first),
  ]) {
    change();
    await new Promise((resolve) => setTimeout(resolve, 50));
    texts.push(paragraph.textContent);
  }
  paragraph.remove();
  return texts;
})()`;

/**
 * As axe-core sees them; what it cannot see, such as focus and keyboard, the other tests of the pages have.
 */
describe("accessibility of", function () {
  this.timeout(60_000);
  let fixture: SavesFixture;
  let browser: Browser;
  let tab: TestWindow;
  let page: Page;

  before(async function () {
    this.timeout(120_000);
    fixture = await SavesFixture.start({
      env: { WEB_ROOT: await buildWeb() },
      game: { slug: "kept", title: "Kept", description: "A game with saves.", tags: ["calm"] },
    });
    await aGame(fixture.api.deps, { slug: "other", title: "Other", tags: ["fast"], popularity: 3 });
    browser = await launchBrowserShell();
  });
  after(async () => {
    await browser.close();
    await fixture.stop();
  });

  beforeEach(async function () {
    await fixture.launches.newPlayer();
    tab = await openWindow(browser, {
      baseUrl: fixture.api.url,
      name: this.currentTest?.fullTitle() ?? "accessibility",
    });
    ({ page } = tab);
  });
  afterEach(async function () {
    await tab.close({ failed: this.currentTest?.state === "failed" });
  });

  async function signInAt(path: string): Promise<void> {
    await openSignedIn(page, fixture.api, fixture.user, path);
  }

  it("the sign-in page, before and after a wrong password", async () => {
    await page.goto("/signin");
    await page.getByLabel("E-mail").waitFor();
    await expectAccessible(page);
    await signInAs(page, { email: fixture.user.email, password: "not this one" });
    await page.getByRole("alert").waitFor();
    await expectAccessible(page);
  });

  it("the sign-in pages without scripts", async () => {
    for (const path of ["/api/auth/signin", "/api/auth/signout", "/api/auth/error?error=AccessDenied"]) {
      await page.goto(path);
      await expectAccessible(page);
    }
  });

  it("the catalogue, with and without games", async () => {
    await signInAt("/");
    await page.getByRole("link", { name: "Kept" }).waitFor();
    await expectAccessible(page);
    await expectSeenPressed(page.getByRole("button", { name: "calm", exact: true }));
    await page.getByRole("searchbox").fill("nothing is called like this");
    await page.getByRole("link", { name: "Kept" }).waitFor({ state: "detached" });
    await expectAccessible(page);
  });

  it("a game's page, with saves of several slots and their dialogs", async () => {
    const slotId = await fixture.aSlot();
    await fixture.aVersion(slotId, "one", { kind: "requested" });
    await fixture.aVersion(slotId, "two");
    await aSaveSlot(fixture.api.deps, { user: fixture.user, game: fixture.game, number: 2 });
    await signInAt("/games/kept");
    const card = page.getByRole("list", { name: "Save slots" }).locator(":scope > li").first();
    await card.locator("summary").click();
    await page.getByRole("list", { name: "Saves of slot 1" }).waitFor();
    await expectAccessible(page);
    for (const [control, title] of [
      ["Delete slot 1", /Delete/],
      [/^Restore the save of/, /Restore/],
    ] as const) {
      await page.getByRole("button", { name: control }).first().click();
      await page.getByRole("dialog").getByRole("heading", { name: title }).waitFor();
      await expectAccessible(page);
      await page.keyboard.press("Escape");
      await page.getByRole("dialog").waitFor({ state: "detached" });
    }
    await page.getByRole("button", { name: "Rename slot 1" }).click();
    await page.getByRole("textbox", { name: "Name of slot 1" }).waitFor();
    await expectAccessible(page);
  });

  it("the account page, with the saves of the exported data", async () => {
    const slotId = await fixture.aSlot();
    await fixture.aVersion(slotId, "one");
    await signInAt("/account");
    await page.getByRole("heading", { name: "Where you are signed in" }).waitFor();
    await expectAccessible(page);
    const [data] = await Promise.all([
      page.waitForEvent("download"),
      page.getByRole("button", { name: "Download my data" }).click(),
    ]);
    expect(data.suggestedFilename()).to.equal("joypod-account.json");
    const link = page.getByRole("link", { name: /^kept, slot 1: / });
    await link.waitFor();
    await expectAccessible(page);
    const [save] = await Promise.all([page.waitForEvent("download"), link.click()]);
    expect(save.suggestedFilename()).to.match(/\.tar\.gz$/);
    expect(await save.failure()).to.equal(null);
  });

  it("a page that does not exist", async () => {
    await signInAt("/no/such/page");
    await page.getByText("Page not found").waitFor();
    await expectAccessible(page);
  });

  it("the game controls, which open by touch at the edge", async () => {
    const devtools = await page.context().newCDPSession(page);
    await devtools.send("Emulation.setTouchEmulationEnabled", { enabled: true });
    await signInAt("/games/kept");
    const id = await pressPlay(page);
    await fixture.launches.makeReady(id);
    const controls = page.getByRole("toolbar", { name: "Game controls" });
    await expectSeenPressed(controls.getByRole("button", { name: "Statistics" }));
    await page.mouse.move(640, 600);
    await page.locator(".controls-open").waitFor({ state: "detached" });
    await page.evaluate(
      "Promise.all(document.querySelector('[role=toolbar]').getAnimations().map(({ finished }) => finished))",
    );
    const { y, height } = (await controls.boundingBox()) ?? expect.fail("The controls have no place.");
    expect(y).to.be.below(0);
    expect(y + height, "the pixels in view").to.be.at.least(24);
    await fixture.launches.operator.finish(id);
  });

  it("pages that the browser translates, whose texts still change", async () => {
    await signInAt("/games/kept");
    await page.evaluate(translatedPage);
    await page.getByRole("button", { name: "PLAY", exact: true }).click();
    await page.getByText("FINDING A SERVER").first().waitFor();
    expect(await page.evaluate(changedTexts)).to.deep.equal([
      "ONE, TWO",
      "THREE, TWO",
      "ZERO, THREE, TWO",
      "ZERO, , TWO",
    ]);
    const id = sessionIdOf(page);
    await fixture.launches.makeReady(id);
    await page.getByRole("toolbar").waitFor();
    await page.getByText(/^(CONNECTING…|NOT CONNECTED YET. TRYING AGAIN…)$/).waitFor();
    await fixture.launches.operator.finish(id);
    await page.getByRole("heading", { name: "SEE YOU SOON" }).waitFor();
  });

  it("the buttons on top of the picture, at a zoom of up to 400 %", async () => {
    await page.addInitScript("delete globalThis.RTCPeerConnection"); // Then no stream is available.
    await signInAt("/games/kept");
    const id = await pressPlay(page);
    await fixture.launches.makeReady(id);
    const message = page.getByRole("heading", { name: "The stream is not available" });
    await message.waitFor();
    const viewport = { width: 320, height: 180 };
    await page.setViewportSize(viewport);
    const isInWindow = async (locator: Locator): Promise<boolean> => {
      const box = await locator.boundingBox();
      return (
        box !== null &&
        box.y >= 0 &&
        box.y + box.height <= viewport.height &&
        box.x >= 0 &&
        box.x + box.width <= viewport.width
      );
    };
    await page.mouse.move(160, 120);
    for (const [locator, way] of [
      [page.locator(".overlay").getByRole("link", { name: "All games" }), 2_000],
      [message, -2_000],
    ] as const) {
      await page.mouse.wheel(0, way);
      await eventually(() => isInWindow(locator), { what: "what the wheel leads to" });
    }
    await fixture.launches.operator.finish(id);
  });

  it("a launch in progress, and its end", async () => {
    await signInAt("/games/kept");
    await pressPlay(page);
    await page.getByRole("listitem").filter({ hasText: "Finding a server" }).waitFor();
    await expectAccessible(page);
    await page.getByRole("button", { name: "Cancel" }).click();
    await fixture.launches.operator.finish(sessionIdOf(page));
    await page.getByRole("heading", { name: "See you soon" }).waitFor();
    await expectAccessible(page);
  });

  /**
   * Presses a button, and expects it to look otherwise then in the colours of a system that allows only its
   * own.
   */
  async function expectSeenPressed(button: Locator): Promise<void> {
    await page.emulateMedia({ forcedColors: "active", reducedMotion: "reduce" });
    const before = await button.evaluate(colorOf);
    await button.click();
    await button.and(page.locator("[aria-pressed=true]")).waitFor();
    await eventually(async () => (await button.evaluate(colorOf)) !== before, {
      what: "another colour of what is pressed",
    });
    await page.emulateMedia({ forcedColors: "none" });
  }
});

/** What an element's window has for it. */
interface Styled {
  ownerDocument: { defaultView: { getComputedStyle: (element: Styled) => { color: string } } };
}

/** Returns the colour in which an element is shown. */
function colorOf(element: Styled): string {
  return element.ownerDocument.defaultView.getComputedStyle(element).color;
}
