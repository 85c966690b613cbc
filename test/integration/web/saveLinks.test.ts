import { expect } from "chai";
import type { Browser, Page } from "playwright-core";
import { aUser, type TestUser } from "#test/factories/catalog.ts";
import { expectAccessible } from "#test/support/browser/accessibility.ts";
import { launchBrowserShell, openWindow, type TestWindow } from "#test/support/browser/browser.ts";
import { aDrawnPicture } from "#test/support/browser/drawnPicture.ts";
import { openSignedIn, sessionIdOf, signInAs } from "#test/support/browser/pages.ts";
import { buildWeb } from "#test/support/browser/web.ts";
import { SavesFixture } from "#test/support/fixtures/savesFixture.ts";

describe("a link to a save", function () {
  this.timeout(60_000);
  let fixture: SavesFixture;
  let browser: Browser;
  let tab: TestWindow;
  let page: Page;
  let receiver: TestUser;

  before(async function () {
    this.timeout(120_000);
    fixture = await SavesFixture.start({
      env: { WEB_ROOT: await buildWeb() },
      game: { slug: "kept", title: "Kept" },
    });
    browser = await launchBrowserShell();
  });
  beforeEach(async function () {
    await fixture.launches.newPlayer();
    receiver = await aUser(fixture.api.deps, { name: "Grace" });
    tab = await openWindow(browser, {
      baseUrl: fixture.api.url,
      name: this.currentTest?.fullTitle() ?? "save links",
    });
    ({ page } = tab);
  });
  afterEach(async function () {
    await tab.close({ failed: this.currentTest?.state === "failed" });
  });
  after(async () => {
    await browser.close();
    await fixture.stop();
  });

  it("is made on the game's page, and gives a player who signs in a copy to play", async () => {
    const slotId = await fixture.aSlot();
    const { objectKey } = await fixture.aVersion(slotId, "a moment");
    await fixture.aPicture(slotId, objectKey, await aDrawnPicture(page, "teal"));
    await openSignedIn(page, fixture.api, fixture.user, "/games/kept");
    await page.getByRole("list", { name: "Save slots" }).locator("summary").first().click();
    await page.getByRole("button", { name: "Give a copy of the save of" }).click();
    await expectAccessible(page);
    await page.getByRole("button", { name: "Create a link" }).click();
    const link = new URL(await page.getByRole("textbox", { name: "Link to the copy" }).inputValue());
    await expectAccessible(page);

    const requested = new Array<string>();
    page.on("request", (request) => requested.push(request.url()));
    await page.context().clearCookies();
    await page.goto(`${link.pathname}${link.hash}`);
    await signInAs(page, receiver);
    await page.getByRole("heading", { name: `${fixture.user.name} gives you a save of Kept` }).waitFor();
    expect(new URL(page.url()).hash).to.equal("");
    await page.getByRole("img", { name: "The game when it was saved" }).waitFor();
    await expectAccessible(page);
    await page.getByRole("button", { name: "Get the copy" }).click();
    await page.getByText("It is in slot 1 of Kept.").waitFor();
    await expectAccessible(page);
    expect(requested.filter((url) => url.includes(link.hash.slice(1)) && !url.includes("#"))).to.deep.equal(
      [],
    );
    await page.getByRole("button", { name: "Play it" }).click();
    await page.waitForURL("**/play/**");
    await fixture.launches.operator.finish(sessionIdOf(page));

    await page.goto(`${link.pathname}${link.hash}`);
    await page.getByRole("heading", { name: "This link does not work any more" }).waitFor();
    await expectAccessible(page);
  });
});
