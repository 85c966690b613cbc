import type { Browser, Page } from "playwright-core";
import { aGame, aSaveSlot } from "#test/factories/catalog.ts";
import { expectAccessible } from "#test/support/browser/accessibility.ts";
import { launchBrowserShell, openWindow, type TestWindow } from "#test/support/browser/browser.ts";
import { openSignedIn, pressPlay, sessionIdOf, signInAs } from "#test/support/browser/pages.ts";
import { buildWeb } from "#test/support/browser/web.ts";
import { SavesFixture } from "#test/support/fixtures/savesFixture.ts";

/** As axe-core sees them; what it cannot see, such as focus and keyboard, the other tests of the pages have. */
describe("everybody can use", function () {
  this.timeout(60_000);
  let fixture: SavesFixture;
  let browser: Browser;
  let tab: TestWindow;
  let page: Page;

  before(async function () {
    this.timeout(120_000);
    fixture = await SavesFixture.start({ env: { WEB_ROOT: await buildWeb() }, game: { slug: "kept", title: "Kept", description: "A game with saves.", tags: ["calm"] } });
    await aGame(fixture.api.deps, { slug: "other", title: "Other", tags: ["fast"], popularity: 3 });
    browser = await launchBrowserShell();
  });
  after(async () => {
    await browser.close();
    await fixture.stop();
  });

  beforeEach(async function () {
    await fixture.launches.newPlayer();
    tab = await openWindow(browser, { baseUrl: fixture.api.url, name: this.currentTest?.fullTitle() ?? "accessibility" });
    ({ page } = tab);
  });
  afterEach(async function () {
    await tab.close({ failed: this.currentTest?.state === "failed" });
  });

  async function signInAt(path: string): Promise<void> {
    await openSignedIn(page, fixture.api, fixture.user, path);
  }

  it("the sign-in page, also after a wrong password", async () => {
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

  it("the catalogue, with games and without", async () => {
    await signInAt("/");
    await page.getByRole("link", { name: "Kept" }).waitFor();
    await expectAccessible(page);
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
    for (const [control, title] of [["Delete slot 1", /Delete/], [/^Restore the save of/, /Restore/]] as const) {
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

  it("the account page", async () => {
    await signInAt("/account");
    await page.getByRole("heading", { name: "Where you are signed in" }).waitFor();
    await expectAccessible(page);
  });

  it("a page that does not exist", async () => {
    await signInAt("/no/such/page");
    await page.getByText("There is nothing here").waitFor();
    await expectAccessible(page);
  });

  it("a launch that waits, and how it ended", async () => {
    await signInAt("/games/kept");
    await pressPlay(page);
    await page.getByRole("listitem").filter({ hasText: "Finding a server" }).waitFor();
    await expectAccessible(page);
    await page.getByRole("button", { name: "Cancel" }).click();
    await fixture.launches.operator.finish(sessionIdOf(page));
    await page.getByRole("heading", { name: "See you soon" }).waitFor();
    await expectAccessible(page);
  });
});
