import { expect } from "chai";
import type { Browser, Page } from "playwright-core";
import { expectAccessible } from "#test/support/browser/accessibility.ts";
import { launchBrowserShell, openWindow, type TestWindow } from "#test/support/browser/browser.ts";
import { buildWeb } from "#test/support/browser/web.ts";
import { TestApi } from "#test/support/http/api.ts";
import { MailServer } from "#test/support/mail/mailServer.ts";

describe("the pages of new accounts", () => {
  let mail: MailServer;
  let api: TestApi;
  let browser: Browser;
  let tab: TestWindow;
  let page: Page;

  before(async function () {
    this.timeout(120_000);
    mail = await MailServer.start();
    api = await TestApi.start({ env: { WEB_ROOT: await buildWeb(), SIGN_UP: "open", ...mail.env } });
    browser = await launchBrowserShell();
  });
  after(async () => {
    await browser.close();
    await api.stop();
    await mail.stop();
  });
  beforeEach(async function () {
    await api.deps.redis.flushdb();
    tab = await openWindow(browser, { baseUrl: api.url, name: this.currentTest?.fullTitle() ?? "sign up" });
    ({ page } = tab);
  });
  afterEach(async function () {
    await tab.close({ failed: this.currentTest?.state === "failed" });
  });

  const linkIn = (text: string): string => /http\S+#\S+/.exec(text)?.[0] ?? "";

  it("open an account, confirm it by mail, and replace a forgotten password", async () => {
    const email = "eve@example.test";
    await page.goto("/signin");
    await page.getByRole("link", { name: "Create an account" }).click();
    await page.getByRole("button", { name: "Create account" }).waitFor();
    await page.getByLabel("E-mail").fill(email);
    await page.getByLabel("Your name").fill("Eve");
    await page.getByLabel("Choose a password").fill("Password1");
    await page.getByRole("button", { name: "Create account" }).click();
    await page.getByRole("alert").getByText("too common").waitFor();
    await expectAccessible(page);
    await page.getByLabel("Choose a password").fill("a quite uncommon password");
    await page.getByRole("button", { name: "Create account" }).click();
    await page.getByRole("status").getByText(`We sent a mail to ${email}`).waitFor();

    const confirmation = linkIn((await mail.next(email)).text);
    await expectAccessible(page);
    await page.goto(confirmation);
    expect(await page.getByLabel("E-mail").inputValue()).to.equal(email);
    await page.getByLabel("The password that you chose").fill("not this one");
    await page.getByRole("button", { name: "Confirm and play" }).click();
    await page.getByRole("alert").waitFor();
    await expectAccessible(page);
    await page.getByLabel("The password that you chose").fill("a quite uncommon password");
    await page.getByRole("button", { name: "Confirm and play" }).click();
    await page.getByRole("link", { name: "Your account" }).getByText("Eve").waitFor();
    await page.getByRole("button", { name: "Sign out" }).click();

    await page.getByRole("link", { name: "Forgot password?" }).click();
    // The page before has a field of this name, too.
    await page.getByRole("button", { name: "Send the link" }).waitFor();
    await page.getByLabel("E-mail").fill(email);
    await page.getByRole("button", { name: "Send the link" }).click();
    await page.getByRole("status").getByText("a mail is on its way").waitFor();
    await expectAccessible(page);
    await page.goto(linkIn((await mail.next(email)).text));
    await page.getByLabel("New password").fill("another uncommon password");
    await expectAccessible(page);
    await page.getByRole("button", { name: "Save and continue" }).click();
    await page.getByRole("link", { name: "Your account" }).getByText("Eve").waitFor();

    await page.goto(confirmation);
    await page.getByRole("alert").getByText("used already, or it has expired").waitFor();
    await expectAccessible(page);
  });
});
