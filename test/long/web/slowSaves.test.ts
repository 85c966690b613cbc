import { expect } from "chai";
import type { Browser, Locator, Page } from "playwright-core";
import { launchBrowserShell, openWindow, type TestWindow } from "#test/support/browser/browser.ts";
import { openSignedIn } from "#test/support/browser/pages.ts";
import { buildWeb } from "#test/support/browser/web.ts";
import { eventually } from "#test/support/clocks/eventually.ts";
import { SavesFixture } from "#test/support/fixtures/savesFixture.ts";

const minuteMs = 60_000;
const copies = "**/api/games/kept/saves/*/copy";

describe("a copy of a save that takes minutes", function () {
  this.timeout(60_000);
  let fixture: SavesFixture;
  let browser: Browser;
  let tab: TestWindow;
  let page: Page;

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
    tab = await openWindow(browser, {
      baseUrl: fixture.api.url,
      name: this.currentTest?.fullTitle() ?? "slow saves",
    });
    ({ page } = tab);
    await fixture.aVersion(await fixture.aSlot(1), "one");
    await page.clock.install();
    await openSignedIn(page, fixture.api, fixture.user, "/games/kept");
    await page.getByRole("list", { name: "Save slots" }).locator("summary").first().click();
    await copyButton().waitFor();
  });
  afterEach(async function () {
    await tab.close({ failed: this.currentTest?.state === "failed" });
  });
  after(async () => {
    await browser.close();
    await fixture.stop();
  });

  const copyButton = (): Locator => page.getByRole("button", { name: "Copy slot 1 to an empty slot" });
  const copied = (): Promise<void> =>
    page.getByRole("status").getByText("was copied to an empty slot.").waitFor();
  const labels = async (): Promise<(string | null)[]> =>
    (await fixture.saves()).slots.map(({ label }) => label);

  it("is waited for, with one request", async () => {
    const done = Promise.withResolvers<undefined>();
    let attempts = 0;
    await page.route(copies, async (route) => {
      attempts += 1;
      await done.promise;
      await route.continue();
    });
    const begun = page.waitForRequest(copies);
    await copyButton().click();
    await begun;
    await page.clock.fastForward(9 * minuteMs);
    done.resolve(undefined);
    await copied();
    expect(attempts).to.equal(1);
    expect(await labels()).to.deep.equal(["Slot 1", "Slot 1 (copy)", null]);
  });

  it("is requested with the same key until it is done, with the time counted from the lost response", async () => {
    const [lost, worked] = [Promise.withResolvers<undefined>(), Promise.withResolvers<undefined>()];
    const keys = new Array<string | undefined>();
    const asked = (attempts: number): Promise<boolean> =>
      eventually(() => keys.length === attempts, { what: `attempt ${attempts}` });
    await page.route(copies, async (route) => {
      const attempt = keys.push(route.request().headers()["idempotency-key"]);
      if (attempt === 1) {
        await lost.promise;
        return route.abort("connectionreset");
      }
      if (attempt > 3) return route.continue();
      if (attempt === 3) await worked.promise;
      return route.fulfill({
        status: 409,
        headers: { "retry-after": "1" },
        json: { error: "conflict", message: "This request is still being worked on." },
      });
    });
    await copyButton().click();
    await asked(1);
    await page.clock.fastForward(9 * minuteMs);
    lost.resolve(undefined);
    await asked(3); // The page's clock goes on by itself.
    await page.clock.fastForward(5 * minuteMs);
    worked.resolve(undefined);
    await eventually(
      async () => {
        if (keys.length < 4) await page.clock.fastForward(10_000);
        return keys.length === 4;
      },
      { what: "attempt 4" },
    );
    await copied();
    expect(new Set(keys).size).to.equal(1);
    expect(await labels()).to.deep.equal(["Slot 1", "Slot 1 (copy)", null]);
  });
});
