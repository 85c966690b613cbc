import { expect } from "chai";
import type { Browser, Locator, Page } from "playwright-core";
import { maintenanceConfigMap } from "#contracts/maintenance.ts";
import { configMaps } from "#kube/api/builtin.ts";
import { ResourceClient } from "#kube/client/resourceClient.ts";
import { aGame } from "#test/factories/catalog.ts";
import { expectAccessible } from "#test/support/browser/accessibility.ts";
import { launchBrowserShell, openWindow, type TestWindow } from "#test/support/browser/browser.ts";
import { openSignedIn, pressPlay, signInAs } from "#test/support/browser/pages.ts";
import { buildWeb } from "#test/support/browser/web.ts";
import { sharedKubeApiServer } from "#test/support/cluster/kubeApiServer.ts";
import { eventually } from "#test/support/clocks/eventually.ts";
import { aSave, SavesFixture } from "#test/support/fixtures/savesFixture.ts";

describe("saves that change while a game's page is open", function () {
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
      name: this.currentTest?.fullTitle() ?? "changed saves",
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
    await card(1).waitFor();
  }

  const card = (number: number): Locator =>
    page
      .getByRole("list", { name: "Save slots" })
      .locator(":scope > li")
      .nth(number - 1);
  const button = (name: string): Locator => page.getByRole("button", { name, exact: true });
  const said = (text: string): Promise<void> => page.getByRole("status").getByText(text).waitFor();
  const openSaves = (number: number): Promise<void> => card(number).locator("summary").click();
  const labels = async (): Promise<(string | null)[]> =>
    (await fixture.saves()).slots.map(({ label }) => label);

  async function deleteSlot(number: number): Promise<void> {
    await button(`Delete slot ${number}`).click();
    await button("Delete it").click();
    await said(`Slot ${number} was deleted and is now empty.`);
  }

  /** Begins an upload into the first empty slot, and returns what lets it reach the API. */
  async function beginUpload(number: number): Promise<() => void> {
    const { promise, resolve } = Promise.withResolvers<undefined>();
    await page.route("**/api/games/kept/saves", async (route) => {
      if (route.request().method() === "POST") await promise;
      await route.continue();
    });
    await page
      .getByLabel(`Upload a save into slot ${number}`)
      .setInputFiles({ name: "save.tar.gz", mimeType: "application/gzip", buffer: aSave("uploaded") });
    await card(number).getByRole("progressbar").waitFor();
    return () => resolve(undefined);
  }

  it("do not interrupt an upload when another slot is filled or deleted", async () => {
    await fixture.aVersion(await fixture.aSlot(1), "one");
    await open();
    await openSaves(1);
    const letGo = await beginUpload(2);
    await button("Copy slot 1 to an empty slot").click();
    await card(2).getByText("Slot 1 (copy)", { exact: true }).waitFor();
    await card(3).getByRole("progressbar").waitFor();
    await deleteSlot(1);
    await card(1).getByRole("progressbar").waitFor();
    letGo();
    await said("The upload is now the save of slot 1.");
    await button("Continue slot 1").waitFor();
    expect(await labels()).to.deep.equal(["Playthrough 1", "Slot 1 (copy)", null]);
  });

  it("report a failed upload when all slots were filled before it arrived", async () => {
    await fixture.aVersion(await fixture.aSlot(1), "one");
    await fixture.aVersion(await fixture.aSlot(2), "two");
    await open();
    await openSaves(1);
    const letGo = await beginUpload(3);
    await button("Copy slot 1 to an empty slot").click();
    await card(3).getByText("Slot 1 (copy)", { exact: true }).waitFor();
    await page.getByRole("progressbar").waitFor();
    letGo();
    await page.getByRole("alert").getByText("All save slots of this game are in use.").waitFor();
    expect(await labels()).to.deep.equal(["Slot 1", "Slot 2", "Slot 1 (copy)"]);
  });

  it("are read again after a cancelled upload, which may have been stored", async () => {
    await page.clock.install();
    const slotId = await fixture.aSlot(1);
    await fixture.aVersion(slotId, "one");
    await open();
    await openSaves(1);
    await page.route("**/api/games/kept/saves/*/archive", () => undefined); // Its response is never seen.
    const input = page.getByLabel("Upload a save into slot 1");
    await input.setInputFiles({
      name: "save.tar.gz",
      mimeType: "application/gzip",
      buffer: aSave("cancelled"),
    });
    await button("Cancel").click();
    await input.waitFor({ state: "attached" }); // The page has read the saves as they were when it was cancelled.
    const stored = Promise.withResolvers<undefined>();
    await page.route("**/api/games/kept/saves", async (route) => {
      await stored.promise; // The page's clock goes on by itself.
      await route.continue();
    });
    const response = await fixture.player.post(`${fixture.path}/${slotId}/archive`, aSave("cancelled"), {
      "content-type": "application/gzip",
    });
    expect(response.status, response.text).to.equal(200);
    stored.resolve(undefined);
    await page.clock.runFor(3_000);
    await page.getByRole("list", { name: "Saves of slot 1" }).getByText("Uploaded or copied").waitFor();
  });

  describe("of a game that is removed from the catalogue", () => {
    const setDeletedAt = async (deletedAt: Date | null): Promise<void> => {
      await fixture.api.deps.postgres.prisma.game.update({
        where: { id: fixture.game.id },
        data: { deletedAt },
      });
    };

    afterEach(() => setDeletedAt(null));

    it("can be downloaded, renamed and deleted, but not played", async () => {
      const slotId = await fixture.aSlot();
      await fixture.aVersion(slotId, "one");
      await fixture.aVersion(slotId, "two");
      await open();
      await openSaves(1);
      await page.getByRole("button", { name: /^Restore the save of/ }).click();
      await setDeletedAt(new Date());
      await button("Restore it").click();
      await page.getByText("You can download or delete its saves, but not play them.").waitFor();
      await openSaves(1);
      await expectAccessible(page);
      const [download] = await Promise.all([
        page.waitForEvent("download"),
        page
          .getByRole("link", { name: /^Download the save of/ })
          .first()
          .click(),
      ]);
      expect(await download.failure()).to.equal(null);
      for (const name of [/^Continue/, /^New game/, /^Restore/, /^Copy/])
        expect(await page.getByRole("button", { name }).count(), String(name)).to.equal(0);
      expect(await page.getByLabel(/^Upload a save/).count()).to.equal(0);
      await button("Rename slot 1").click();
      await page.getByLabel("Name of slot 1").fill("The end");
      await button("Save name").click();
      await said("Slot 1 has been renamed.");
      await button("Delete slot 1").click();
      await button("Delete it").click();
      await page.getByRole("list", { name: "Save slots" }).waitFor({ state: "detached" });
      await page.getByText("This game is not available").waitFor();
    });

    it("are shown to their player only", async () => {
      await fixture.aVersion(await fixture.aSlot(2), "two");
      await setDeletedAt(new Date());
      await openSignedIn(page, fixture.api, fixture.user, "/games/kept");
      await card(2).getByText("Slot 2", { exact: true }).waitFor();
      await fixture.launches.newPlayer();
      await page.getByRole("button", { name: "Sign out" }).click();
      await page.getByLabel("E-mail").waitFor();
      const looked = page.waitForResponse("**/api/games/kept/saves");
      await signInAs(page, fixture.user);
      expect((await looked).status()).to.equal(404);
      await page.getByText("This game is not available").waitFor();
      expect(await page.getByRole("heading", { name: "Your saves" }).count()).to.equal(0);
    });
  });

  it("are stored on request while playing, and the result is announced", async () => {
    await open();
    const id = await pressPlay(page);
    const { operator } = fixture.launches;
    await fixture.launches.makeReady(id);
    await button("Save now").press("Enter");
    await page.getByRole("status").getByText("Saving…").waitFor();
    expect(await button("Save now").isDisabled()).to.equal(true);
    await eventually(async () => (await operator.session(id)).spec.saveRequestedAt !== undefined, {
      what: "the wish to reach the node",
    });
    const { saveRequestedAt } = (await operator.session(id)).spec;
    const { slotId } = await fixture.launches.rowOf(id);
    await operator.report(id, {
      save: {
        objectKey: `saves/${slotId}/1-${id}-1.1.tar.gz`,
        sha256: "a".repeat(64),
        bytes: 10,
        unpackedBytes: 4096,
        generation: 1,
        sequence: 1,
        final: false,
        persistedAt: new Date().toISOString(),
        ...(saveRequestedAt !== undefined && { requestedAt: saveRequestedAt }),
      },
    });
    await page.getByRole("status").getByText("Saved", { exact: true }).waitFor();
    await operator.finish(id);
  });

  it("are not deleted for a new game while no game can start", async () => {
    const { api, launches } = fixture;
    const { slug } = await aGame(api.deps, { title: "Another one" });
    for (const number of [1, 2, 3]) await fixture.aVersion(await fixture.aSlot(number), `save ${number}`);
    const id = await launches.launched({ gameSlug: slug });
    await launches.makeReady(id);
    await open();
    await button("Replace a slot…").click();
    const dialog = page.getByRole("dialog", { name: "Which slot do you want to replace?" });
    const replace = dialog.getByRole("button", { name: "Delete it and start a new game" });
    await dialog.getByRole("radio", { name: /Slot 2/ }).check();
    await dialog.getByRole("status").getByText("Another one is still running").waitFor();
    expect(await replace.isEnabled(), "a new game beside another").to.equal(false);
    await launches.operator.finish(id);
    await launches.ended(id);
    await page.evaluate("dispatchEvent(new Event('focus'))"); // The page looks again when the player comes back to it.
    await eventually(() => replace.isEnabled(), { what: "a new game after the other's end" });
    await dialog.getByRole("status").getByText("The slot is deleted first").waitFor();
    const maintenance = new ResourceClient((await sharedKubeApiServer()).admin, configMaps);
    const name = { namespace: api.deps.config.cluster.releaseNamespace, name: maintenanceConfigMap };
    await maintenance.create({ metadata: name, data: {} });
    try {
      await eventually(() => api.deps.maintenance.current() !== undefined, {
        what: "the API to know of the maintenance",
      });
      await page.evaluate("dispatchEvent(new Event('focus'))");
      await dialog.getByRole("status").getByText("Joypod is under maintenance").waitFor();
      expect(await replace.isEnabled(), "a new game in maintenance").to.equal(false);
      await dialog.getByRole("button", { name: "Only delete it" }).click();
      await said("Slot 2 was deleted and is now empty.");
      expect(await labels()).to.deep.equal(["Slot 1", null, "Slot 3"]);
    } finally {
      await maintenance.delete(name);
      await eventually(() => api.deps.maintenance.current() === undefined, {
        what: "the end of the maintenance",
      });
    }
  });
});
