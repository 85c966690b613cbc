import { expect } from "chai";
import type { Browser } from "playwright-core";
import { maintenanceConfigMap } from "#contracts/maintenance.ts";
import { configMaps } from "#kube/api/builtin.ts";
import { ResourceClient } from "#kube/client/resourceClient.ts";
import { launchBrowserShell, openWindow, type TestWindow } from "#test/support/browser/browser.ts";
import { signInAs } from "#test/support/browser/pages.ts";
import { buildWeb } from "#test/support/browser/web.ts";
import { sharedKubeApiServer } from "#test/support/cluster/kubeApiServer.ts";
import { eventually } from "#test/support/clocks/eventually.ts";
import { LaunchFixture } from "#test/support/fixtures/launchFixture.ts";

describe("the pages during maintenance", function () {
  this.timeout(120_000);
  let fixture: LaunchFixture;
  let browser: Browser;
  let tab: TestWindow;

  before(async () => {
    fixture = await LaunchFixture.start({ env: { WEB_ROOT: await buildWeb() } });
    await fixture.newPlayer();
    browser = await launchBrowserShell();
    tab = await openWindow(browser, { baseUrl: fixture.api.url, name: "the pages in maintenance" });
  });
  afterEach(async function () {
    await tab.close({ failed: this.currentTest?.state === "failed" });
  });
  after(async () => {
    await browser.close();
    await fixture.stop();
  });

  it("show the admin's message after a refused launch and on the sign-in page", async () => {
    const { page } = tab;
    const notice = page.getByRole("status").filter({ hasText: "Joypod is under maintenance." });
    await page.goto(`/games/${fixture.game.slug}`);
    await signInAs(page, fixture.user);
    await page.getByRole("button", { name: "Play", exact: true }).waitFor();
    expect(await notice.count()).to.equal(0);
    await new ResourceClient((await sharedKubeApiServer()).admin, configMaps).create({
      metadata: { namespace: fixture.api.deps.config.cluster.releaseNamespace, name: maintenanceConfigMap },
      data: { message: "We are back at 14:00." },
    });
    await eventually(() => fixture.api.deps.maintenance.current() !== undefined, {
      what: "the API to know of the maintenance",
    });
    await page.getByRole("button", { name: "Play", exact: true }).click();
    await page.getByRole("alert").filter({ hasText: "no game can be started right now" }).waitFor();
    await notice.filter({ hasText: "We are back at 14:00." }).waitFor();
    await page.context().clearCookies();
    await page.goto("/signin");
    await notice.filter({ hasText: "We are back at 14:00." }).waitFor();
  });
});
