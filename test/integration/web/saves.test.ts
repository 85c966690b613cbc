import { expect } from "chai";
import type { Browser, Locator, Page } from "playwright-core";
import { aCondition } from "#test/factories/gameSession.ts";
import { aTarGz } from "#test/factories/tarArchive.ts";
import { expectAccessible } from "#test/support/browser/accessibility.ts";
import { launchBrowserShell, openWindow, type TestWindow } from "#test/support/browser/browser.ts";
import { olderBrowser } from "#test/support/browser/otherBrowsers.ts";
import { aDrawnPicture } from "#test/support/browser/drawnPicture.ts";
import { openSignedIn, sessionIdOf } from "#test/support/browser/pages.ts";
import { buildWeb } from "#test/support/browser/web.ts";
import { eventually } from "#test/support/clocks/eventually.ts";
import { aSave, SavesFixture } from "#test/support/fixtures/savesFixture.ts";

const mebibyte = 2 ** 20;
/** How often the page reads the saves while a slot is in use. */
const pollMs = 5_000;

describe("the saves on a game's page", function () {
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
    await fixture.api.deps.postgres.prisma.game.update({
      where: { id: fixture.game.id },
      data: { saveLimitMb: 16 },
    });
    browser = await launchBrowserShell();
  });
  beforeEach(async function () {
    await fixture.launches.newPlayer();
    tab = await openWindow(browser, {
      baseUrl: fixture.api.url,
      name: this.currentTest?.fullTitle() ?? "saves",
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

  async function open(): Promise<void> {
    await openSignedIn(page, fixture.api, fixture.user, "/games/kept");
    await page.getByRole("list", { name: "Save slots" }).waitFor();
  }

  const card = (number: number): Locator =>
    page
      .getByRole("list", { name: "Save slots" })
      .locator(":scope > li")
      .nth(number - 1);
  const button = (name: string): Locator => page.getByRole("button", { name, exact: true });
  const said = (text: string): Promise<void> => page.getByRole("status").getByText(text).waitFor();
  const openSaves = (number: number): Promise<void> => card(number).locator("summary").click();
  const versions = (number: number): Locator =>
    page.getByRole("list", { name: `Saves of slot ${number}` }).getByRole("listitem");
  const focused = (locator: Locator): Promise<boolean> => locator.and(page.locator(":focus")).isVisible();
  const daysAgo = (days: number): Date => new Date(Date.now() - days * 86_400_000);
  const labels = async (): Promise<(string | null)[]> =>
    (await fixture.saves()).slots.map(({ label }) => label);
  const choose = (number: number, buffer: Buffer): Promise<void> =>
    page
      .getByLabel(`Upload a save into slot ${number}`)
      .setInputFiles({ name: "save.tar.gz", mimeType: "application/gzip", buffer });

  /** Opens the page of a player who has one save, and that slot's list. */
  async function openWithOne(): Promise<void> {
    await fixture.aVersion(await fixture.aSlot(), "one");
    await open();
    await openSaves(1);
  }

  it("show each moment, and continue from an earlier one in an empty slot", async () => {
    const slotId = await fixture.aSlot();
    const earlier = await fixture.aVersion(slotId, "one", { storedAt: daysAgo(2) });
    const last = await fixture.aVersion(slotId, "two", { storedAt: daysAgo(1) });
    await fixture.aPicture(slotId, earlier.objectKey, await aDrawnPicture(page, "teal"));
    await fixture.aPicture(slotId, last.objectKey, await aDrawnPicture(page, "purple"));
    await open();
    const isShown = (picture: Locator): Promise<boolean> =>
      picture.evaluate<boolean, { naturalWidth: number }>(({ naturalWidth }) => naturalWidth === 320);
    await eventually(() => isShown(card(1).getByRole("img").first()), { what: "the slot's picture" });
    await openSaves(1);
    await eventually(() => isShown(versions(1).last().getByRole("img")), { what: "a version's picture" });
    await expectAccessible(page);
    await versions(1).last().getByRole("button", { name: "Continue from here" }).click();
    await page.getByRole("dialog").waitFor();
    await expectAccessible(page);
    await button("Copy and play").click();
    await page.waitForURL("**/play/**");
    expect(await labels()).to.deep.equal(["Slot 1", "Slot 1 (copy)", null]);
    const [, second] = (await fixture.saves()).slots;
    expect(new URL(page.url()).searchParams.get("slot")).to.equal(second!.id);
    expect(second!.state).to.equal("playing");
    await fixture.launches.operator.finish(sessionIdOf(page));
  });

  it("show time, size and origin, and copies that arrived late", async () => {
    const slotId = await fixture.aSlot();
    await fixture.aVersion(slotId, "one", { kind: "requested", storedAt: daysAgo(3) });
    await fixture.aVersion(slotId, "two", { storedAt: daysAgo(2) });
    await fixture.aVersion(slotId, "elsewhere", { kind: "conflict", storedAt: daysAgo(1) });
    await open();
    await card(1).getByText("A save from another device or server arrived late.").waitFor();
    await openSaves(1);
    await eventually(async () => (await versions(1).count()) === 3);
    const texts = await versions(1).allInnerTexts();
    expect(texts[0])
      .to.match(/Arrived late from another device or server · 1 day ago · 1 KB/)
      .and.to.contain("Restore")
      .and.not.contain("Current");
    expect(texts[1])
      .to.match(/Current\s[\s\S]*Played · 2 days ago/)
      .and.not.contain("Restore");
    expect(texts[2])
      .to.match(/Saved by you · 3 days ago/)
      .and.to.contain("Restore");
    const [download] = await Promise.all([
      page.waitForEvent("download"),
      versions(1)
        .nth(2)
        .getByRole("link", { name: /^Download the save of/ })
        .click(),
    ]);
    expect(download.suggestedFilename()).to.match(/^kept-slot1-.*\.tar\.gz$/);
    expect(await download.failure()).to.equal(null);
  });

  it("are restored after a dialog that names the replaced save, and the focus returns", async () => {
    const slotId = await fixture.aSlot();
    const first = await fixture.aVersion(slotId, "one", { storedAt: daysAgo(3) });
    await fixture.aVersion(slotId, "two", { storedAt: daysAgo(2) });
    await open();
    await openSaves(1);
    const restore = versions(1)
      .nth(1)
      .getByRole("button", { name: /^Restore the save of/ });
    await restore.click();
    const current = await versions(1).nth(0).locator("time").innerText();
    const dialog = page.getByRole("dialog", { name: "Restore this save?" });
    await dialog.getByText(`It replaces the current save of ${current}, which stays in the list.`).waitFor();
    await page.keyboard.press("Escape");
    await dialog.waitFor({ state: "detached" });
    expect(await focused(restore)).to.equal(true);
    expect((await fixture.slot(slotId)).versions).to.have.length(2);
    await restore.press("Enter");
    await button("Restore it").click();
    await said("is now the save of slot 1");
    await eventually(async () => (await versions(1).count()) === 3);
    expect(await versions(1).nth(0).innerText()).to.match(/Current[\s\S]*Restored · just now/);
    const row = await fixture.api.deps.postgres.prisma.saveSlot.findUniqueOrThrow({ where: { id: slotId } });
    expect(row.objectKey).to.equal(first.objectKey);
  });

  it("show which ones cannot be read, and offer the previous version", async () => {
    const slotId = await fixture.aSlot();
    const first = await fixture.aVersion(slotId, "one", { storedAt: daysAgo(3) });
    await fixture.aVersion(slotId, "two", { storedAt: daysAgo(2), stored: Buffer.from("rotten") });
    await fixture.aVersion(slotId, "three", { storedAt: daysAgo(1) });
    await open();
    await openSaves(1);
    await versions(1)
      .nth(1)
      .getByRole("button", { name: /^Restore the save of/ })
      .click();
    await button("Restore it").click();
    await page
      .getByRole("alert")
      .getByText("That save is missing or damaged. The previous one can be read.")
      .waitFor();
    await versions(1).nth(1).getByText("This save is missing or damaged.").waitFor();
    await page
      .getByRole("dialog")
      .getByRole("button", { name: /^Restore the save of/ })
      .click();
    await said("is now the save of slot 1");
    const row = await fixture.api.deps.postgres.prisma.saveSlot.findUniqueOrThrow({ where: { id: slotId } });
    expect(row.objectKey).to.equal(first.objectKey);
  });

  it("can be replaced by a new game when all slots are full", async () => {
    for (const number of [1, 2, 3]) await fixture.aVersion(await fixture.aSlot(number), `save ${number}`);
    await open();
    await button("Replace a slot…").click();
    const dialog = page.getByRole("dialog", { name: "Which slot do you want to replace?" });
    const replace = dialog.getByRole("button", { name: "Delete it and start a new game" });
    expect(await replace.isDisabled()).to.equal(true);
    await dialog.getByRole("radio", { name: /Slot 2/ }).check();
    await dialog.getByText("You lose slot 2, “Slot 2”, with its save.").waitFor();
    expect(await labels()).to.deep.equal(["Slot 1", "Slot 2", "Slot 3"]);
    await replace.click();
    await page.waitForURL("**/play/**");
    expect(await labels()).to.deep.equal(["Slot 1", "New playthrough", "Slot 3"]);
  });

  it("are copied, deleted after a dialog, and renamed in place", async () => {
    await openWithOne();
    await button("Rename slot 1").click();
    const name = page.getByLabel("Name of slot 1");
    expect(await focused(name)).to.equal(true);
    await name.fill("x".repeat(41));
    await page.getByRole("alert").getByText("at most 40 characters").waitFor();
    await name.fill("Before the boss");
    // Cancels what an input method offers, and nothing else; Safari says so by the key's code.
    for (const composing of [{ isComposing: true }, { keyCode: 229 }])
      await name.dispatchEvent("keydown", { key: "Escape", ...composing });
    await page.evaluate("new Promise(requestAnimationFrame)");
    expect(await name.isVisible(), "the form after another's Escape").to.equal(true);
    await name.press("Enter");
    await card(1).getByText("Before the boss", { exact: true }).waitFor();
    await eventually(() => focused(button("Rename slot 1")));
    await button("Rename slot 1").press("Enter");
    await name.press("Escape");
    await name.waitFor({ state: "detached" });
    await button("Copy slot 1 to an empty slot").click();
    await card(2).getByText("Before the boss (copy)", { exact: true }).waitFor();
    await button("Delete slot 1").click();
    expect(await labels()).to.deep.equal(["Before the boss", "Before the boss (copy)", null]);
    await button("Delete it").click();
    await said("Slot 1 was deleted and is now empty.");
    await card(1).getByText("Empty slot").waitFor();
    expect(await labels()).to.deep.equal([null, "Before the boss (copy)", null]);
    expect(await focused(page.getByText("Slot 1 was deleted and is now empty."))).to.equal(true);
  });

  it("move the focus to an announcement once, and not after the player has continued", async () => {
    await page.clock.install();
    await openWithOne();
    await button("Delete slot 1").click();
    await button("Delete it").click();
    const told = page.getByText("Slot 1 was deleted and is now empty.");
    await eventually(() => focused(told));
    await page.locator("header.header").click({ position: { x: 3, y: 3 } });
    await page.clock.runFor(61_000); // The slots tell anew how long ago things were.
    await page.evaluate("new Promise(requestAnimationFrame)");
    expect(await focused(told)).to.equal(false);
  });

  it("are uploaded, or refused with a message", async () => {
    await openWithOne();
    await choose(1, Buffer.from("this is no archive"));
    await card(1).getByRole("alert").getByText("This file is not a save.").waitFor();
    await choose(1, aTarGz([{ name: "zeros", body: Buffer.alloc(16 * mebibyte + 1) }]));
    await card(1).getByRole("alert").getByText("can have at most 16 MB").waitFor();
    await choose(1, aSave("uploaded"));
    await said("The upload is now the save of slot 1.");
    await eventually(async () =>
      /Current[\s\S]*Uploaded or copied/.test(await versions(1).nth(0).innerText()),
    );
    await choose(2, aSave("uploaded"));
    await said("The upload is now the save of slot 2.");
    await card(2).getByRole("button", { name: "Continue slot 2" }).waitFor();
  });

  it("announce a repeated change again, but not next to its failure", async () => {
    await openWithOne();
    const told = page.getByRole("status").getByText("The upload is now the save of slot 1.");
    await choose(1, aSave("first"));
    await told.waitFor();
    const response = Promise.withResolvers<undefined>();
    await page.route(
      "**/api/games/kept/saves/*/archive",
      async (route) => {
        await response.promise;
        await route.fulfill({
          status: 503,
          json: { error: "unavailable", message: "The database is unavailable." },
        });
      },
      { times: 1 },
    );
    await choose(1, aSave("second"));
    await told.waitFor({ state: "detached" });
    response.resolve(undefined);
    await card(1).getByRole("alert").getByText("Joypod is not available right now.").waitFor();
    expect(await told.count()).to.equal(0);
    await choose(1, aSave("third"));
    await told.waitFor();
  });

  it("are uploaded from older browsers too", async () => {
    await page.addInitScript(olderBrowser);
    await openWithOne();
    await choose(1, aSave("uploaded"));
    await said("The upload is now the save of slot 1.");
  });

  it("keep the typed name and report the failure while Joypod cannot be reached", async () => {
    await openWithOne();
    await button("Rename slot 1").click();
    const name = page.getByLabel("Name of slot 1");
    await name.fill("Before the boss");
    await tab.context.setOffline(true);
    await name.press("Enter");
    await card(1).getByRole("alert").getByText("Joypod did not answer.").waitFor();
    expect(await name.inputValue()).to.equal("Before the boss");
    await tab.context.setOffline(false);
    await button("Save name").click();
    await said("Slot 1 has been renamed.");
    expect(await labels()).to.include("Before the boss");
  });

  it("are not deleted by a key held since the dialog opened, and the dialog stays until the end", async () => {
    await openWithOne();
    const deletions = new Array<string>();
    page.on("request", (request) => {
      if (request.method() === "DELETE") deletions.push(request.url());
    });
    const response = Promise.withResolvers<undefined>();
    await page.route("**/api/games/kept/saves/*", async (route) => {
      await response.promise;
      await route.fulfill({
        status: 503,
        json: { error: "unavailable", message: "The database is unavailable." },
      });
    });
    await button("Delete slot 1").focus();
    for (let repeats = 0; repeats < 3; repeats += 1) await page.keyboard.down("Enter");
    await page.keyboard.up("Enter");
    await button("Delete it").waitFor();
    // On a slow machine the dialog opens between the two events of a key press and gets only the second.
    const devTools = await tab.context.newCDPSession(page);
    await devTools.send("Input.dispatchKeyEvent", { type: "char", text: "\r", key: "Enter" });
    expect(await button("Delete it").isEnabled()).to.equal(true);
    expect(deletions).to.deep.equal([]);
    await page.keyboard.press("Enter");
    await button("Deleting…").waitFor();
    await page.keyboard.press("Escape");
    response.resolve(undefined);
    await page
      .getByRole("dialog")
      .getByRole("alert")
      .getByText("Joypod is not available right now.")
      .waitFor();
    expect(await focused(button("Delete it"))).to.equal(true);
    await page.keyboard.press("Escape");
    await page.getByRole("dialog").waitFor({ state: "detached" });
    expect(await labels()).to.include("Slot 1");
  });

  it("show the state of a slot in use, and refresh it", async () => {
    await page.clock.install();
    const { launches } = fixture;
    const [playing, other] = [await fixture.aSlot(1), await fixture.aSlot(2)];
    await fixture.aVersion(playing, "one");
    await fixture.aVersion(other, "one");
    const id = await launches.launched({ saveSlotId: playing });
    await launches.makeReady(id);
    await open();
    await card(1).getByText("This slot is being played.").waitFor();
    expect(await card(1).getByRole("link", { name: "Resume slot 1" }).getAttribute("href")).to.equal(
      `/play/${id}?game=kept`,
    );
    await openSaves(1);
    expect(await button("Delete slot 1").count()).to.equal(0);
    await launches.operator.finish(id, { conditions: [aCondition("SavePersisted", { status: "Unknown" })] });
    await launches.ended(id);
    await page.clock.runFor(pollMs);
    await card(1).getByText("The last save of this slot is still being stored.").waitFor();
    expect(await button("Continue slot 1").count()).to.equal(0);
    expect(await button("Continue slot 2").isEnabled()).to.equal(true);
    await fixture.api.deps.postgres.prisma.gameSession.update({
      where: { id },
      data: { slotReleasedAt: new Date() },
    });
    await page.clock.runFor(pollMs);
    await button("Continue slot 1").waitFor();
    await button("Delete slot 1").waitFor();
  });

  it("fit a narrow window, and can be reloaded after a failure", async () => {
    await page.setViewportSize({ width: 375, height: 800 });
    const slotId = await fixture.aSlot();
    await fixture.api.deps.postgres.prisma.saveSlot.update({
      where: { id: slotId },
      data: { label: "W".repeat(40) },
    });
    await fixture.aVersion(slotId, "one");
    await fixture.aVersion(slotId, "elsewhere", { kind: "conflict" });
    let isFailing = true;
    await page.route("**/api/games/kept/saves", (route) =>
      isFailing ? route.fulfill({ status: 502, contentType: "text/html", body: "" }) : route.continue(),
    );
    await openSignedIn(page, fixture.api, fixture.user, "/games/kept");
    await page.getByRole("alert").getByText("Your saves could not be loaded").waitFor();
    isFailing = false;
    await button("Try again").click();
    await openSaves(1);
    await versions(1).first().waitFor();
    expect(await page.evaluate("document.documentElement.scrollWidth")).to.equal(375);
    await button("Delete slot 1").click();
    await page.getByRole("dialog").getByText("W".repeat(40)).waitFor();
    expect(
      await page.evaluate(
        "(({ scrollWidth, clientWidth }) => scrollWidth - clientWidth)(document.querySelector('dialog'))",
      ),
      "what the question has beyond its edge",
    ).to.equal(0);
  });
});
