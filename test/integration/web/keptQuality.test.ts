import { expect } from "chai";
import type { Browser, Locator, Page } from "playwright-core";
import { aUser, type TestUser } from "#test/factories/catalog.ts";
import { eventually } from "#test/support/clocks/eventually.ts";
import { launchBrowserShell, openWindow, type TestWindow } from "#test/support/browser/browser.ts";
import { openSignedIn } from "#test/support/browser/pages.ts";
import { buildWeb } from "#test/support/browser/web.ts";
import { TestApi } from "#test/support/http/api.ts";

describe("the picture quality on the account page", () => {
  let api: TestApi;
  let browser: Browser;
  let user: TestUser;
  let tab: TestWindow;
  let page: Page;

  before(async function () {
    this.timeout(120_000);
    api = await TestApi.start({ env: { WEB_ROOT: await buildWeb() } });
    browser = await launchBrowserShell();
  });
  after(async () => {
    await browser.close();
    await api.stop();
  });

  beforeEach(async function () {
    user = await aUser(api.deps);
    tab = await openWindow(browser, { baseUrl: api.url, name: this.currentTest?.fullTitle() ?? "quality" });
    page = tab.page;
    await openSignedIn(page, api, user, "/account");
    await quality().getByRole("radio", { name: "Auto", checked: true }).waitFor();
  });
  afterEach(async function () {
    await tab.close({ failed: this.currentTest?.state === "failed" });
  });

  const quality = (): Locator => page.getByRole("group", { name: "Picture quality" });

  it("is saved, also by keyboard", async () => {
    await quality().getByRole("radio", { name: "Auto" }).focus();
    await page.keyboard.press("ArrowDown");
    await page.getByRole("status").getByText("Saved for your next game.").waitFor();
    await page.getByRole("combobox", { name: "Frames" }).selectOption("30 per second");
    await eventually(async () => {
      const {
        rows: [row],
      } = await api.deps.postgres.pool.query<{ stream_quality: unknown }>(
        "SELECT stream_quality FROM users WHERE id = $1",
        [user.id],
      );
      expect(row).to.deep.equal({ stream_quality: { preset: "lowLatency", fps: 30 } });
      return true;
    });
    await page.reload();
    await quality().getByRole("radio", { name: "Low latency", checked: true }).waitFor();
    expect(await page.getByRole("combobox", { name: "Frames" }).inputValue()).to.equal("30");
    expect(
      await quality().getByRole("radio", { name: "Data saver" }).locator("xpath=..").innerText(),
    ).to.contain("at most 780 MB per hour");
  });

  it("shows the saved choice after an earlier one could not be saved", async () => {
    const goOn = Promise.withResolvers<undefined>();
    await page.route(
      "**/api/account/stream-quality",
      async (route) => {
        await goOn.promise;
        await route.fulfill({ status: 503, json: { error: "unavailable" } });
      },
      { times: 1 },
    );
    for (const name of ["Sharp", "Data saver"]) {
      await quality().getByRole("radio", { name }).click();
      await quality().getByRole("radio", { name, checked: true }).waitFor();
    }
    goOn.resolve(undefined);
    await page.getByRole("status").getByText("Saved for your next game.").waitFor();
    expect(await quality().getByRole("radio", { name: "Data saver" }).isChecked()).to.equal(true);
  });
});
