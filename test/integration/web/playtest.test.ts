import { randomBytes } from "node:crypto";
import { expect } from "chai";
import type { Browser } from "playwright-core";
import { CreatedPlayLink } from "#contracts/http/gameChannels.ts";
import { aPartner } from "#test/factories/catalog.ts";
import { expectAccessible } from "#test/support/browser/accessibility.ts";
import { launchBrowserShell, openWindow, type TestWindow } from "#test/support/browser/browser.ts";
import { pressPlay, sessionIdOf, signInAs } from "#test/support/browser/pages.ts";
import { buildWeb } from "#test/support/browser/web.ts";
import { LaunchFixture } from "#test/support/fixtures/launchFixture.ts";

describe("a play link in the browser", function () {
  this.timeout(60_000);
  let fixture: LaunchFixture;
  let browser: Browser;
  let tab: TestWindow;

  before(async function () {
    this.timeout(120_000);
    fixture = await LaunchFixture.start({ env: { WEB_ROOT: await buildWeb() }, game: { slug: "tried" } });
    browser = await launchBrowserShell();
    await fixture.newPlayer();
    tab = await openWindow(browser, { baseUrl: fixture.api.url, name: "play link" });
  });
  after(async function () {
    await tab.close({ failed: this.currentTest?.state === "failed" });
    await browser.close();
    await fixture.stop();
  });

  it("opens a channel after the sign-in, whose saves older versions continue only after a question", async () => {
    const { api, operator, game, user } = fixture;
    const { prisma } = api.deps.postgres;
    const partner = await aPartner(api.deps);
    await prisma.game.update({ where: { id: game.id }, data: { partnerId: partner.id } });
    const sha256 = randomBytes(32).toString("hex");
    const { id: versionId } = await prisma.gameVersion.create({
      data: {
        gameId: game.id,
        objectKey: `archives/${game.id}/beta.tar.gz`,
        sha256,
        sizeBytes: 1n,
        unpackedSizeBytes: 1n,
      },
    });
    await prisma.gameChannel.create({ data: { gameId: game.id, name: "beta", versionId } });
    const created = await api
      .asPartner(partner)
      .post(`/api/partners/games/${game.slug}/play-links`, { channel: "beta" });
    const { url } = CreatedPlayLink.parse(created.json());

    const { page } = tab;
    await page.goto(`/playtest${new URL(url).hash}`);
    await signInAs(page, user);
    await page.waitForURL("**/games/tried?channel=beta");
    const version = page.getByLabel("Version");
    expect(await version.inputValue()).to.equal("beta");
    await expectAccessible(page);
    const first = await pressPlay(page);
    expect((await operator.session(first)).spec.contentDigest).to.equal(sha256);
    expect(new URL(page.url()).searchParams.get("channel")).to.equal("beta");

    const ended = new Date();
    const { slotId } = await prisma.gameSession.update({
      where: { id: first },
      data: { status: "stopped", endedAt: ended, recordedAt: ended, slotReleasedAt: ended },
    });
    await prisma.saveSlot.update({
      where: { id: slotId ?? "" },
      data: { objectKey: `saves/${slotId}/1-${first}-1.tar.gz`, sha256, bytes: 1n, generation: 1 },
    });
    await page.goto("/games/tried");
    await page.getByRole("button", { name: "Continue playing" }).click();
    const question = page.getByRole("dialog", { name: "This save is from a newer version" });
    await question.waitFor();
    await expectAccessible(page);
    await question.getByRole("button", { name: "Continue it anyway" }).click();
    await page.waitForURL("**/play/**");
    expect((await operator.session(sessionIdOf(page))).spec.contentDigest).to.equal(game.sha256);
  });
});
