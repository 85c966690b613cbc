import { expect } from "chai";
import type { Browser, Page } from "playwright-core";
import { aUser } from "#test/factories/catalog.ts";
import { launchBrowserShell, openWindow, type TestWindow } from "#test/support/browser/browser.ts";
import { openSignedIn, pressPlay, sessionIdOf } from "#test/support/browser/pages.ts";
import { buildWeb } from "#test/support/browser/web.ts";
import type { FakeOperator } from "#test/support/cluster/fakeOperator.ts";
import { LaunchFixture } from "#test/support/fixtures/launchFixture.ts";

describe("a launch whose response is late or lost", function () {
  this.timeout(90_000);
  let fixture: LaunchFixture;
  let operator: FakeOperator;
  let browser: Browser;
  let tab: TestWindow;
  let page: Page;

  before(async () => {
    fixture = await LaunchFixture.start({
      env: { WEB_ROOT: await buildWeb() },
      game: { slug: "followed", title: "Followed" },
    });
    ({ operator } = fixture);
    browser = await launchBrowserShell();
  });
  beforeEach(async function () {
    tab = await openWindow(browser, {
      baseUrl: fixture.api.url,
      name: this.currentTest?.fullTitle() ?? "launch",
    });
    ({ page } = tab);
    await openSignedIn(page, fixture.api, await aUser(fixture.api.deps), "/games/followed");
  });
  afterEach(async function () {
    await tab.close({ failed: this.currentTest?.state === "failed" });
  });
  after(async () => {
    await browser.close();
    await fixture.stop();
  });

  it("launches once when the response was lost", async () => {
    let attempts = 0;
    const keys = new Set<string | undefined>();
    await page.route("**/api/game/launch", async (route) => {
      keys.add(route.request().headers()["idempotency-key"]);
      if (++attempts > 1) return route.continue();
      await route.fetch();
      await route.abort("connectionreset");
    });
    const id = await pressPlay(page);
    expect(attempts).to.equal(2);
    expect(keys.size).to.equal(1);
    expect(await operator.findSession(id)).to.not.equal(undefined);
    await operator.finish(id);
  });

  it("waits while the API still works on a launch whose response was lost", async () => {
    let attempts = 0;
    await page.route("**/api/game/launch", async (route) => {
      attempts += 1;
      if (attempts === 1) return route.abort("connectionreset");
      if (attempts > 4) return route.continue();
      return route.fulfill({
        status: 409,
        headers: { "retry-after": "1" },
        json: { error: "conflict", message: "This request is still being worked on." },
      });
    });
    const id = await pressPlay(page);
    expect(attempts).to.equal(5);
    await operator.finish(id);
  });

  it("does not leave the page that the player has opened since, and can be resumed there", async () => {
    const goOn = Promise.withResolvers<undefined>();
    await page.route("**/api/game/launch", async (route) => {
      await goOn.promise;
      await route.continue();
    });
    const begun = page.waitForRequest("**/api/game/launch");
    await page.getByRole("button", { name: "Play", exact: true }).click();
    await begun;
    await page.getByRole("link", { name: "Your account" }).click();
    await page.getByRole("heading", { name: "Where you are signed in" }).waitFor();
    goOn.resolve(undefined);
    const resume = page.getByRole("link", { name: "Resume Followed" });
    await resume.waitFor({ timeout: 10_000 }); // Sooner than the header reads it again by itself.
    expect(new URL(page.url()).pathname).to.equal("/account");
    await resume.click();
    await page.waitForURL("**/play/**");
    await operator.finish(sessionIdOf(page));
  });
});
