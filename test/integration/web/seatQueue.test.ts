import { expect } from "chai";
import type { Browser } from "playwright-core";
import { aUser, type TestUser } from "#test/factories/catalog.ts";
import { expectAccessible } from "#test/support/browser/accessibility.ts";
import { launchBrowserShell, openWindow, type TestWindow } from "#test/support/browser/browser.ts";
import { openSignedIn, pressPlay } from "#test/support/browser/pages.ts";
import { buildWeb } from "#test/support/browser/web.ts";
import { LaunchFixture } from "#test/support/fixtures/launchFixture.ts";

describe("the queue on the play page", function () {
  this.timeout(90_000);
  let fixture: LaunchFixture;
  let browser: Browser;
  let tab: TestWindow;

  before(async () => {
    fixture = await LaunchFixture.start({
      slots: 1,
      env: { WEB_ROOT: await buildWeb() },
      game: { slug: "wanted", title: "Wanted" },
    });
    browser = await launchBrowserShell();
    tab = await openWindow(browser, { baseUrl: fixture.api.url, name: "the queue" });
  });
  after(async function () {
    await tab.close({ failed: this.currentTest?.state === "failed" });
    await browser.close();
    await fixture.stop();
  });

  function wait(user: TestUser) {
    return fixture.api.as(user).post("/api/game/launch", { gameSlug: "wanted", wait: true });
  }

  it("shows place and estimate, keeps them through a reload, and starts after the player takes the seat", async () => {
    const { api, operator } = fixture;
    const { page } = tab;
    await fixture.newPlayer();
    const playing = await fixture.running();
    const first = await aUser(api.deps);
    const { sessionId: ahead } = (await wait(first)).json<{ sessionId: string }>();

    await openSignedIn(page, api, await aUser(api.deps), "/games/wanted");
    const id = await pressPlay(page);
    await page.getByRole("heading", { name: "Waiting for a free seat" }).waitFor();
    await page.getByText("Place 2 in the queue").waitFor();
    await page.getByText(/^Estimated wait: /).waitFor();
    await expectAccessible(page);
    await page.reload();
    await page.getByText("Place 2 in the queue").waitFor();

    await api.as(first).post("/api/game/stop", { sessionId: ahead });
    await page.getByText("You are next").waitFor();

    await operator.finish(playing);
    const dialog = page.getByRole("dialog", { name: "Your seat is ready" });
    await dialog.waitFor();
    await expectAccessible(page);
    expect(await page.title()).to.match(/^\d:\d\d · Your seat is ready · /);
    await dialog.getByRole("button", { name: "Take the seat" }).click();
    await page.locator("[aria-current=step]").filter({ hasText: "Finding a server" }).waitFor();
    expect((await operator.session(id)).metadata.name).to.equal(id);
    expect(await page.title()).to.not.contain("Your seat is ready");
  });

  it("lets the player leave, and says so when the place is lost", async () => {
    const { api } = fixture;
    const { page } = tab;
    await openSignedIn(page, api, await aUser(api.deps), "/games/wanted");
    await pressPlay(page);
    await page.getByRole("button", { name: "Leave the queue" }).click();
    await page.getByText("The launch was cancelled. Your saves are unchanged.").waitFor();

    await page.getByRole("button", { name: "Play again" }).click();
    await page.getByText("You are next").waitFor();
    await api.deps.postgres.pool.query(
      "UPDATE game_sessions SET offered_at = now() - interval '61 seconds' WHERE queue_number IS NOT NULL",
    );
    await page.getByRole("heading", { name: "Your place in the queue is gone" }).waitFor();
    await expectAccessible(page);
  });

  it("shows the place in the header of other pages", async () => {
    const { api } = fixture;
    const { page } = tab;
    const user = await aUser(api.deps);
    await wait(user);
    const kept = page.waitForResponse("**/api/game/keepalive");
    await openSignedIn(page, api, user, "/games/wanted");
    await page.getByRole("link", { name: "No. 1 in queue Wanted" }).waitFor();
    expect((await kept).status(), "the place is kept").to.equal(200);
  });
});
