import { expect } from "chai";
import type { Browser } from "playwright-core";
import { aGameSessionRow } from "#test/factories/catalog.ts";
import { expectAccessible } from "#test/support/browser/accessibility.ts";
import { launchBrowserShell, openWindow, type TestWindow } from "#test/support/browser/browser.ts";
import { openSignedIn } from "#test/support/browser/pages.ts";
import { buildWeb } from "#test/support/browser/web.ts";
import { SavesFixture } from "#test/support/fixtures/savesFixture.ts";

describe("the page after a game was killed", function () {
  this.timeout(60_000);
  let fixture: SavesFixture;
  let browser: Browser;
  let tab: TestWindow;

  before(async function () {
    this.timeout(120_000);
    fixture = await SavesFixture.start({
      env: { WEB_ROOT: await buildWeb() },
      game: { slug: "killed", title: "Killed" },
    });
    browser = await launchBrowserShell();
  });
  beforeEach(async () => {
    await fixture.launches.newPlayer();
    tab = await openWindow(browser, { baseUrl: fixture.api.url, name: "killed game" });
  });
  afterEach(async function () {
    await tab.close({ failed: this.currentTest?.state === "failed" });
  });
  after(async () => {
    await browser.close();
    await fixture.stop();
  });

  it("says that the last save may be incomplete and restores the one before with a click", async () => {
    const { prisma } = fixture.api.deps.postgres;
    const slotId = await fixture.aSlot();
    const now = new Date();
    const { id } = await aGameSessionRow(
      fixture.api.deps,
      { user: fixture.user, game: fixture.game },
      {
        slotId,
        status: "stopped",
        stopReason: "UserRequested",
        endedAt: now,
        recordedAt: now,
        slotReleasedAt: now,
        isSaveSuspect: true,
        fullFolders: ["Home"],
        saveNotice: "The game had to be ended by force. Its last save may be incomplete.",
      },
    );
    const before = await fixture.aVersion(slotId, "good", { storedAt: new Date(now.getTime() - 60_000) });
    const last = await fixture.aVersion(slotId, "half", { gameSession: id });
    await prisma.saveVersion.update({ where: { id: last.id }, data: { isSuspect: true } });

    const { page } = tab;
    await openSignedIn(page, fixture.api, fixture.user, `/play/${id}?game=killed`);
    await page.getByText("Its last save may be incomplete.").waitFor();
    expect(await page.getByText("Your progress is saved.").count()).to.equal(0);
    await page.getByText("The game's save folder was full during the session.").waitFor();
    await page.getByTestId("last-save").getByText("Slot 1 was last saved just now.").waitFor();
    await expectAccessible(page);
    await page.getByRole("button", { name: /^Use the save of / }).click();
    await page
      .getByRole("status")
      .getByText(/is now the save of this slot[.]$/)
      .waitFor();
    expect((await fixture.slot(slotId)).versions[0]).to.include({ kind: "restored", isCurrent: true });
    expect((await prisma.saveSlot.findUniqueOrThrow({ where: { id: slotId } })).objectKey).to.equal(
      before.objectKey,
    );
    await page.goto("/games/killed");
    await page.getByText("Slot 1").first().waitFor();
    await page.locator("summary").first().click();
    await page.getByText("The game was ended by force. This save may be incomplete.").waitFor();
  });
});
