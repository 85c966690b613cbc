import { expect } from "chai";
import type { Browser, Page } from "playwright-core";
import { aGame, aGameSessionRow, aUser, type TestUser } from "#test/factories/catalog.ts";
import { expectAccessible } from "#test/support/browser/accessibility.ts";
import { launchBrowserShell, openWindow, type TestWindow } from "#test/support/browser/browser.ts";
import { openSignedIn } from "#test/support/browser/pages.ts";
import { buildWeb } from "#test/support/browser/web.ts";
import { eventually } from "#test/support/clocks/eventually.ts";
import { TestApi } from "#test/support/http/api.ts";

describe("the history page", () => {
  let api: TestApi;
  let browser: Browser;
  let tab: TestWindow;
  let page: Page;
  let user: TestUser;

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
    tab = await openWindow(browser, { baseUrl: api.url, name: this.currentTest?.fullTitle() ?? "history" });
    ({ page } = tab);
    user = await aUser(api.deps);
  });
  afterEach(async function () {
    await tab.close({ failed: this.currentTest?.state === "failed" });
  });

  it("shows play times and sessions, and those of one game from its page", async () => {
    const moon = await aGame(api.deps, { slug: "moon", title: "Moon" });
    const sun = await aGame(api.deps, { slug: "sun", title: "Sun" });
    for (let number = 1; number <= 24; number++)
      await aGameSessionRow(
        api.deps,
        { user, game: number === 24 ? sun : moon },
        {
          slotId: null,
          status: "stopped",
          startedAt: new Date(Date.UTC(2026, 0, number)),
          endedAt: new Date(Date.UTC(2026, 0, number, 1)),
          durationSeconds: 600,
          stopReason: number === 24 ? "IdleTimeout" : "UserRequested",
        },
      );
    await openSignedIn(page, api, user, "/");
    await page.getByRole("link", { name: "Play history" }).click();
    await page.getByText("24 sessions, 4 h 0 min played").waitFor();
    const sessions = page.getByRole("list", { name: "Sessions" }).getByRole("listitem");
    expect(await sessions.count()).to.equal(20);
    expect(await sessions.first().textContent()).to.include("Stopped when idle");
    await expectAccessible(page);
    await page.getByRole("button", { name: "Show older sessions" }).click();
    await eventually(async () => (await sessions.count()) === 24);
    const games = page.getByRole("list", { name: "Time in each game" }).getByRole("listitem");
    expect(await games.first().textContent()).to.include("3 h 50 min");
    await sessions.first().getByRole("link", { name: "Sun" }).click();
    await page.getByText(/10 min 0 s in 1 session, last played/).waitFor();
    await page.getByRole("link", { name: "History of Sun" }).click();
    await page.getByRole("link", { name: "Show all sessions" }).waitFor();
    await eventually(async () => (await sessions.count()) === 1);
    await expectAccessible(page);
  });

  it("says that nothing was played yet", async () => {
    await openSignedIn(page, api, user, "/history");
    await page.getByRole("heading", { name: "Nothing played yet" }).waitFor();
    await expectAccessible(page);
  });
});
