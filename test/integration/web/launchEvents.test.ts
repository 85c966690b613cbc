import { expect } from "chai";
import type { Browser, Page } from "playwright-core";
import { aUser } from "../../factories/catalog.ts";
import { aCondition } from "../../factories/gameSession.ts";
import type { TestApi } from "../../support/http/api.ts";
import { launchBrowser, openWindow, type TestWindow } from "../../support/browser/browser.ts";
import { eventually } from "../../support/clocks/eventually.ts";
import { LaunchFixture } from "../../support/fixtures/launchFixture.ts";
import { signInAs } from "../../support/browser/pages.ts";
import type { FakeOperator } from "../../support/cluster/fakeOperator.ts";
import { buildWeb } from "../../support/browser/web.ts";

const statusPath = "/api/game/session-status";
const eventsPath = "/api/game/events";

describe("a launch on the play page", function () {
  this.timeout(90_000);
  let fixture: LaunchFixture;
  let api: TestApi;
  let operator: FakeOperator;
  let browser: Browser;
  let tab: TestWindow;
  let page: Page;
  let asked: string[];

  before(async () => {
    fixture = await LaunchFixture.start({ env: { WEB_ROOT: await buildWeb() }, game: { slug: "followed", title: "Followed" } });
    ({ api, operator } = fixture);
    browser = await launchBrowser();
  });
  beforeEach(async function () {
    tab = await openWindow(browser, { baseUrl: api.url, name: this.currentTest?.fullTitle() ?? "launch" });
    ({ page } = tab);
    asked = [];
    page.on("request", (request) => asked.push(new URL(request.url()).pathname));
  });
  afterEach(async function () {
    await tab.close({ failed: this.currentTest?.state === "failed" });
  });
  after(async () => {
    await browser.close();
    await fixture.stop();
  });

  async function play(): Promise<string> {
    await page.goto("/games/followed");
    await signInAs(page, await aUser(api.deps));
    await page.getByRole("button", { name: "Play", exact: true }).click();
    await page.waitForURL("**/play/**");
    return decodeURIComponent(new URL(page.url()).pathname.split("/").at(-1) ?? "");
  }

  async function expectProgress(id: string): Promise<void> {
    const passed = [aCondition("Scheduled")];
    for (const [next, title] of [["ContentReady", "Getting the game"], ["SaveRestored", "Restoring your save"], ["PodReady", "Starting the game"]] as const) {
      await operator.report(id, { nodeName: "node-a", conditions: passed });
      await page.locator("[aria-current=step]").filter({ hasText: title }).waitFor();
      passed.push(aCondition(next));
    }
    await operator.finish(id, { stopReason: "Failed", failure: { reason: "StartTimeout", message: "it took too long" } });
    await page.getByText("The game could not be started").first().waitFor();
  }

  it("follows the event stream and hardly polls", async () => {
    const id = await play();
    await eventually(() => asked.includes(eventsPath) && api.deps.gameSessionEvents.followers === 1);
    await expectProgress(id);
    expect(asked.filter((path) => path === statusPath).length).to.be.at.most(3);
    await eventually(() => api.deps.gameSessionEvents.followers === 0);
    expect(asked.filter((path) => path === eventsPath)).to.have.length(1);
  });

  it("polls where the event stream is blocked", async () => {
    await page.route(`**${eventsPath}*`, (route) => route.fulfill({ status: 502, contentType: "text/html", body: "" }));
    await expectProgress(await play());
    expect(asked.filter((path) => path === statusPath).length).to.be.above(2);
  });

  it("launches once when the response was lost", async () => {
    let attempts = 0;
    const keys = new Set<string | undefined>();
    await page.route("**/api/game/launch", async (route) => {
      keys.add(route.request().headers()["idempotency-key"]);
      if (++attempts > 1) return route.continue();
      await route.fetch();
      await route.abort("connectionreset");
    });
    const id = await play();
    expect(attempts).to.equal(2);
    expect(keys.size).to.equal(1);
    expect(await operator.findSession(id)).to.not.equal(undefined);
    await operator.finish(id);
  });
});
