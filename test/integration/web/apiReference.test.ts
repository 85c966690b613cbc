import { expect } from "chai";
import type { Browser } from "playwright-core";
import { launchBrowserShell, openWindow, type TestWindow } from "#test/support/browser/browser.ts";
import { buildWeb } from "#test/support/browser/web.ts";
import { TestApi } from "#test/support/http/api.ts";

describe("the API reference at /docs", function () {
  this.timeout(120_000);
  let api: TestApi;
  let browser: Browser;
  let tab: TestWindow;

  before(async () => {
    api = await TestApi.start({ env: { WEB_ROOT: await buildWeb() } });
    browser = await launchBrowserShell();
    tab = await openWindow(browser, { baseUrl: api.url, name: "the API reference" });
  });
  after(async function () {
    await tab.close({ failed: this.test?.parent?.tests.some((test) => test.state === "failed") === true });
    await browser.close();
    await api.stop();
  });

  it("lists the operations and their schemas, without a console message and without another host", async () => {
    const { page, messages } = tab;
    const hosts = new Set<string>();
    page.on("request", (request) => {
      if (request.url().startsWith("http")) hosts.add(new URL(request.url()).origin);
    });
    await page.goto("/docs");
    await page.getByRole("heading", { name: "Launch a game" }).waitFor();
    await page.getByText("/api/game/launch").first().waitFor();
    expect(messages).to.deep.equal([]);
    expect([...hosts]).to.deep.equal([api.url]);
  });

  it("finds an operation by a search", async () => {
    const { page, messages } = tab;
    await page.getByPlaceholder("Search...").fill("favorite");
    await page.getByRole("menuitem").filter({ hasText: "favourite" }).first().waitFor();
    expect(messages).to.deep.equal([]);
  });
});
