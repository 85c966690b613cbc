import { expect } from "chai";
import type { Browser, Page } from "playwright-core";
import { announcementConfigMap } from "#contracts/announcement.ts";
import { limits } from "#contracts/limits.ts";
import { configMaps } from "#kube/api/builtin.ts";
import { ResourceClient } from "#kube/client/resourceClient.ts";
import { sweepIdle } from "#api/gameSessions/sessions/stopIdleSessions.ts";
import { aGameSessionRow } from "#test/factories/catalog.ts";
import { expectAccessible } from "#test/support/browser/accessibility.ts";
import {
  launchBrowserShell,
  openWindow,
  ordinaryWindow,
  type TestWindow,
} from "#test/support/browser/browser.ts";
import { openSignedIn, pressPlay } from "#test/support/browser/pages.ts";
import { buildWeb } from "#test/support/browser/web.ts";
import { eventually } from "#test/support/clocks/eventually.ts";
import { asIfSwept } from "#test/support/fixtures/idleSweeps.ts";
import { LaunchFixture } from "#test/support/fixtures/launchFixture.ts";

const minuteMs = 60_000;
const phone = { width: 390, height: 844 };
/** One in which today began at least ten hours ago, so that the time played is in today. */
const timeZone = new Date().getUTCHours() < 10 ? "Pacific/Kiritimati" : "UTC";

describe("what the page tells about the end of a session", function () {
  this.timeout(90_000);
  let fixture: LaunchFixture;
  let browser: Browser;
  let tab: TestWindow;
  let page: Page;

  before(async () => {
    fixture = await LaunchFixture.start({
      env: {
        WEB_ROOT: await buildWeb(),
        PLAY_HOURS_PER_DAY: "2",
        PLAY_HOURS_PER_MONTH: "700",
        PLAY_LIMIT_TIME_ZONE: timeZone,
      },
      game: { slug: "ending", title: "Ending" },
    });
    browser = await launchBrowserShell();
  });
  beforeEach(async function () {
    await fixture.newPlayer();
    tab = await openWindow(browser, {
      baseUrl: fixture.api.url,
      name: this.currentTest?.fullTitle() ?? "ending",
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

  async function openGame(): Promise<void> {
    await openSignedIn(page, fixture.api, fixture.user, "/games/ending");
  }

  async function play(): Promise<string> {
    const id = await pressPlay(page);
    await fixture.makeReady(id);
    await page.getByRole("toolbar").waitFor();
    return id;
  }

  /** Expects no accessibility problem in a window of a desktop and on a phone. */
  async function expectAccessibleEverywhere(): Promise<void> {
    for (const size of [phone, ordinaryWindow]) {
      await page.setViewportSize(size);
      await expectAccessible(page);
    }
  }

  /** Stores an ended session that was played for this time until just now. */
  async function havePlayed(minutes: number): Promise<void> {
    const { api, user, game } = fixture;
    const [since, until] = [new Date(Date.now() - minutes * minuteMs), new Date()];
    const times = { startedAt: since, readyAt: since, stoppingAt: until, endedAt: until };
    await aGameSessionRow(api.deps, { user, game }, { slotId: null, status: "stopped", ...times });
  }

  it("shows what is left of the play time before a game, when it is nearly used up, and afterwards", async () => {
    const { prisma } = fixture.api.deps.postgres;
    await havePlayed(110);
    await openGame();
    await page.getByText("10 min of 2 h left to play today").waitFor();
    await page.getByText("of 700 h left to play this month").waitFor();
    await expectAccessibleEverywhere();
    const id = await play();
    // As if the game had been played for a while.
    const readyAt = new Date(Date.now() - 7 * minuteMs);
    await prisma.gameSession.update({ where: { id }, data: { startedAt: readyAt, readyAt } });
    await page.reload();
    const notice = page.getByRole("alert").filter({ hasText: "Your play time is almost used up" });
    await notice.filter({ hasText: /saved and stopped in 2:\d\d/ }).waitFor();
    await expectAccessibleEverywhere();
    await fixture.operator.finish(id, { stopReason: "MaxDuration" });
    await page.getByRole("heading", { name: "Your play time is used up" }).waitFor();
    await expectAccessibleEverywhere();
    await havePlayed(20);
    await openGame();
    await page.getByText("Your play time for today is used up. You can play again from").waitFor();
    await page.getByRole("button", { name: "Continue playing" }).click();
    await page.getByRole("alert").filter({ hasText: "Your play time is used up" }).waitFor();
    await expectAccessibleEverywhere();
  });

  it("warns a hidden tab without input, whose session then ends with its save", async () => {
    const { deps } = fixture.api;
    await openGame();
    await page.clock.install();
    const id = await play();
    await page.evaluate(`
      Object.defineProperty(document, "visibilityState", { get: () => "hidden" });
      Object.defineProperty(document, "hidden", { get: () => true });
      document.dispatchEvent(new Event("visibilitychange"));
    `);
    const { expiresAt } = await fixture.rowOf(id);
    await page.clock.fastForward(limits.gameSession.idleTimeoutSeconds * 1000 - 4.5 * minuteMs);
    const warning = page.getByRole("alert").filter({ hasText: "Are you still there?" });
    await warning.filter({ hasText: /saved and stopped in 4:\d\d/ }).waitFor();
    expect(await page.title()).to.match(/^4:\d\d Still there\? /);
    await expectAccessibleEverywhere();
    expect((await fixture.rowOf(id)).expiresAt, "no keepalive since").to.deep.equal(expiresAt);

    await deps.postgres.prisma.gameSession.update({
      where: { id },
      data: { expiresAt: new Date(Date.now() - 1) },
    });
    await eventually(async () => {
      await asIfSwept(deps);
      await sweepIdle(deps);
      return (await fixture.rowOf(id)).status === "stopping";
    });
    expect((await fixture.rowOf(id)).stopReason).to.equal("IdleTimeout");
    await fixture.operator.finish(id, { stopReason: "IdleTimeout" });
    await page.getByRole("heading", { name: "Ended while you were away" }).waitFor();
    await page.getByText("Your progress is saved.").waitFor();
    await expectAccessibleEverywhere();
  });

  it("shows a planned end with the admin's message, below an announcement", async () => {
    const { api, operator } = fixture;
    await openGame();
    const id = await play();
    const at = new Date(Date.now() + 20 * minuteMs).toISOString();
    await operator.sessions.mergePatch(
      { name: id, namespace: api.kube!.sessionsNamespace },
      { spec: { plannedEnd: { at, reason: "Maintenance", message: "New disks." } } },
    );
    await page.getByRole("alert").filter({ hasText: "Maintenance begins soon" }).waitFor();
    await expectAccessibleEverywhere();
    const configMap = { namespace: api.deps.config.cluster.releaseNamespace, name: announcementConfigMap };
    const client = new ResourceClient(api.kube!.server.admin, configMaps);
    await client.create({ metadata: configMap, data: { message: "Tournament at 20:00!" } });
    await page.getByRole("status").filter({ hasText: "Tournament at 20:00!" }).waitFor();
    await expectAccessibleEverywhere();
    await client.delete(configMap);
    await operator.finish(id);
  });
});
