import { expect } from "chai";
import type { Browser, Locator, Page } from "playwright-core";
import { aUser, type TestUser } from "#test/factories/catalog.ts";
import { expectAccessible } from "#test/support/browser/accessibility.ts";
import { launchBrowserShell, openWindow, type TestWindow } from "#test/support/browser/browser.ts";
import { openSignedIn, signInAs, signInBeside } from "#test/support/browser/pages.ts";
import { buildWeb } from "#test/support/browser/web.ts";
import { TestApi } from "#test/support/http/api.ts";
import { expectErrorResponse, type ApiClient } from "#test/support/http/apiClient.ts";
import { postSignIn } from "#test/support/http/authForms.ts";
import { FaultyIssuer } from "#test/support/oidc/faultyIssuer.ts";
import { providersEnv } from "#test/support/oidc/providersFile.ts";
import { freePort } from "#test/support/processes/childProgram.ts";

const newPassword = "a quite uncommon password";

describe("the account page", () => {
  let api: TestApi;
  let issuer: FaultyIssuer;
  let browser: Browser;
  let user: TestUser;
  let tab: TestWindow;
  let page: Page;
  let visitors = 0;

  before(async function () {
    this.timeout(120_000);
    issuer = await FaultyIssuer.start();
    const oidc = { type: "oidc", clientId: "joypod", allowInsecure: true };
    api = await TestApi.start({
      env: {
        WEB_ROOT: await buildWeb(),
        ...providersEnv([
          { ...oidc, id: "example", name: "Example", issuer: issuer.url },
          { ...oidc, id: "away", name: "Away", issuer: `http://127.0.0.1:${await freePort()}` },
        ]),
      },
    });
    browser = await launchBrowserShell();
  });
  after(async () => {
    await browser.close();
    await api.stop();
    await issuer.stop();
  });

  beforeEach(async function () {
    user = await aUser(api.deps);
    visitors += 1;
    issuer.misbehaviour = {
      claims: { sub: `visitor-${visitors}`, email: `visitor-${visitors}@example.test` },
    };
    await api.deps.redis.flushdb();
    tab = await openWindow(browser, { baseUrl: api.url, name: this.currentTest?.fullTitle() ?? "account" });
    page = tab.page;
  });
  afterEach(async function () {
    await tab.close({ failed: this.currentTest?.state === "failed" });
  });

  async function openAccount(): Promise<void> {
    await openSignedIn(page, api, user, "/");
    await goToAccount();
  }

  async function goToAccount(): Promise<void> {
    await page.getByRole("link", { name: "Your account" }).click();
    await page.getByRole("heading", { name: "Where you are signed in" }).waitFor();
  }

  /** Makes every sign-in older than counts as proof. */
  async function growOld(): Promise<void> {
    await api.deps.postgres.pool.query("UPDATE auth_sessions SET created_at = now() - interval '6 minutes'");
    await api.deps.redis.flushdb();
  }

  /** Another browser that the player is signed in with. */
  async function elsewhere(userAgent: string): Promise<ApiClient> {
    const client = api.anonymous();
    const { csrfToken } = (await client.get("/api/auth/csrf")).json<{ csrfToken: string }>();
    await client.post(
      "/api/auth/callback/credentials",
      new URLSearchParams({ ...user, csrfToken, json: "true" }),
      { "user-agent": userAgent },
    );
    return client;
  }

  const isSignedIn = async (client: ApiClient): Promise<boolean> =>
    (await client.get("/api/games")).status === 200;
  const signIns = (): Locator => page.getByRole("list", { name: "Sign-ins" }).getByRole("listitem");

  async function fillPassword(password: string, repeated = password): Promise<void> {
    await page.getByLabel("New password", { exact: true }).fill(password);
    await page.getByLabel("Repeat the new password").fill(repeated);
    await page.getByRole("button", { name: "Save password" }).click();
  }

  it("changes the password, and reports what is wrong with a new one", async () => {
    await openAccount();
    const other = await elsewhere("Firefox/140.0");
    await page.getByRole("button", { name: "Change password" }).click();
    await fillPassword(newPassword, "something else");
    await page.getByRole("alert").getByText("do not match").waitFor();
    await fillPassword("Password1");
    await page.getByRole("alert").getByText("too common and easy to guess").waitFor();
    await fillPassword(newPassword);
    await page
      .getByRole("status")
      .getByText("Your new password is set. One other browser was signed out.")
      .waitFor();
    expect(await isSignedIn(other)).to.equal(false);
    await page.reload();
    await page.getByText("This device").waitFor();
    expectErrorResponse(await postSignIn(api.anonymous(), user), 401, "invalid_credentials");
    expect((await postSignIn(api.anonymous(), { ...user, password: newPassword })).status).to.equal(200);
  });

  it("changes name and picture, exports the data, and deletes the account unless the player keeps it", async () => {
    await openAccount();
    await page.getByRole("button", { name: "Change name" }).click();
    await page.getByLabel("The name that others see").fill("Grace");
    await page.getByRole("button", { name: "Save name" }).click();
    await page.getByRole("status").getByText("Your new name is saved.").waitFor();
    await page.getByRole("link", { name: "Your account" }).getByText("Grace").waitFor();
    await page
      .getByLabel("Choose a picture")
      .setInputFiles({ name: "me.png", mimeType: "image/png", buffer: await page.screenshot() });
    await page.getByRole("status").getByText("Your new picture is saved.").waitFor();
    await page.locator(".account-link img").waitFor();
    await growOld();
    const downloading = page.waitForEvent("download");
    await page.getByRole("button", { name: "Download my data" }).click();
    const prompt = page.getByRole("dialog", { name: "Confirm that it is you" });
    await prompt.getByLabel("Your password").fill(user.password);
    await prompt.getByRole("button", { name: "Confirm" }).click();
    expect((await downloading).suggestedFilename()).to.equal("joypod-account.json");
    await page.getByRole("button", { name: "Delete my account" }).click();
    await page.getByRole("button", { name: "Delete everything" }).click();
    await prompt.getByLabel("Your password").fill(user.password);
    await prompt.getByRole("button", { name: "Confirm" }).click();
    await page.getByText("Your account and your saves will be deleted on").waitFor();
    await expectAccessible(page);
    await page.getByRole("button", { name: "Keep my account" }).click();
    await page.getByRole("status").getByText("Your account stays.").waitFor();
  });

  it("asks for the password after an older sign-in, until it is right", async () => {
    await openAccount();
    await growOld();
    await page.getByRole("button", { name: "Change password" }).click();
    await fillPassword(newPassword);
    const prompt = page.getByRole("dialog", { name: "Confirm that it is you" });
    const confirm = prompt.getByRole("button", { name: "Confirm" });
    await prompt.getByLabel("Your password").fill("not this one");
    await confirm.click();
    await prompt.getByRole("alert").getByText("That is not your password").waitFor();
    await prompt.getByLabel("Your password").fill(user.password);
    await page.keyboard.press("Enter");
    const news = page.getByRole("status").filter({ hasText: "Your new password is set" });
    await news.waitFor();
    await prompt.waitFor({ state: "detached" });
    await news.and(page.locator(":focus")).waitFor(); // Both dialogs are gone, with what had the focus.
  });

  it("keeps a dialog open while its change is in progress", async () => {
    const holdOne = async (): Promise<() => void> => {
      const goOn = Promise.withResolvers<undefined>();
      await page.route(
        "**/api/account/password",
        async (route) => {
          await goOn.promise;
          await route.continue();
        },
        { times: 1 },
      );
      return () => goOn.resolve(undefined);
    };
    const expectKept = async (dialog: Locator, word: string): Promise<void> => {
      await dialog.getByRole("button", { name: word }).waitFor();
      await page.keyboard.press("Escape");
      expect(await dialog.getByRole("button", { name: "Cancel" }).isDisabled(), word).to.equal(true);
    };
    await openAccount();
    await growOld();
    const refuse = await holdOne();
    await page.getByRole("button", { name: "Change password" }).click();
    await fillPassword(newPassword);
    await expectKept(page.getByRole("dialog", { name: "Change your password" }), "Saving…");
    refuse();
    const prompt = page.getByRole("dialog", { name: "Confirm that it is you" });
    await prompt.getByLabel("Your password").fill(user.password);
    const change = await holdOne();
    await prompt.getByRole("button", { name: "Confirm" }).click();
    await expectKept(prompt, "Checking…");
    change();
    await page.getByRole("status").filter({ hasText: "Your new password is set" }).waitFor();
  });

  it("changes nothing without the password", async () => {
    await openAccount();
    await growOld();
    await page.getByRole("button", { name: "Link Example" }).click();
    await page.getByRole("dialog", { name: "Confirm that it is you" }).waitFor();
    await page.keyboard.press("Escape");
    await page.getByRole("dialog").waitFor({ state: "detached" });
    expect(await page.getByRole("button", { name: "Link Example" }).isEnabled()).to.equal(true);
    await page.getByRole("button", { name: "Link Example" }).and(page.locator(":focus")).waitFor();
    expect(await api.deps.postgres.prisma.identity.count({ where: { userId: user.id } })).to.equal(0);
  });

  it("keeps a dialog open when a text selection ends outside, and closes it by a click outside", async () => {
    await openAccount();
    await growOld();
    await page.getByRole("button", { name: "Link Example" }).click();
    const prompt = page.getByRole("dialog", { name: "Confirm that it is you" });
    const field = prompt.getByLabel("Your password");
    await field.fill("typed already");
    const box = await field.boundingBox();
    if (box === null) throw new Error("The field is not in view.");
    await page.mouse.move(box.x + 60, box.y + box.height / 2);
    await page.mouse.down();
    await page.mouse.move(5, box.y + box.height / 2);
    await page.mouse.up();
    expect(await field.inputValue()).to.equal("typed already");
    await page.mouse.click(5, 5);
    await prompt.waitFor({ state: "detached" });
  });

  it("shows another player who has signed in in another tab", async () => {
    await openAccount();
    const next = await aUser(api.deps);
    await signInBeside(tab, next);
    await page.evaluate('document.dispatchEvent(new Event("visibilitychange", { bubbles: true }))');
    await page.getByText(next.email).first().waitFor();
    expect(await page.getByText(user.email).count()).to.equal(0);
  });

  it("shows another player who has signed in in another window when it gets the focus, with one request for focus and visibility", async () => {
    await openAccount();
    const next = await aUser(api.deps);
    await signInBeside(tab, next);
    await page.evaluate('window.dispatchEvent(new Event("focus"))');
    await page.getByText(next.email).first().waitFor();
    expect(await page.getByText(user.email).count()).to.equal(0);
    const requests = new Array<string>();
    page.on("request", (request) => requests.push(new URL(request.url()).pathname));
    const response = page.waitForResponse("**/api/auth/session");
    await page.evaluate(
      'document.dispatchEvent(new Event("visibilitychange", { bubbles: true })); window.dispatchEvent(new Event("focus"));',
    );
    await response;
    expect(requests.filter((path) => path === "/api/auth/session")).to.have.length(1);
  });

  it("changes nothing for another player who has signed in without the page knowing", async () => {
    await openAccount();
    const next = await aUser(api.deps);
    await signInBeside(tab, next);
    await page.getByRole("button", { name: "Change password" }).click();
    await fillPassword(newPassword);
    await page.getByText("Please sign in to continue").waitFor();
    for (const player of [user, next])
      expect((await postSignIn(api.anonymous(), player)).status).to.equal(200);
  });

  it("shows no data of the former player to the next one, even while data is loading", async () => {
    await openAccount();
    await page.getByRole("radio", { name: "Sharp" }).click();
    await page.getByRole("status").getByText("Saved for your next game.").waitFor();
    const next = await aUser(api.deps);
    await signInBeside(tab, next);
    await page.route("**/api/account/**", () => undefined); // There is no response.
    await page.evaluate('document.dispatchEvent(new Event("visibilitychange", { bubbles: true }))');
    await page.getByText(next.email).first().waitFor();
    expect(await page.getByRole("radio", { name: "Sharp" }).count()).to.equal(0);
  });

  it("keeps its content and reports the failure while Joypod cannot be reached", async () => {
    await openAccount();
    const quality = page.getByRole("group", { name: "Picture quality" });
    await quality.getByRole("radio", { name: "Auto", checked: true }).waitFor();
    const section = page.getByRole("region", { name: "Picture quality" });
    await tab.context.setOffline(true);
    // It may be taken back before anybody could see it checked.
    await quality.getByRole("radio", { name: "Sharp" }).click();
    await section.getByRole("alert").getByText("Joypod did not answer.").first().waitFor();
    await tab.context.setOffline(false);
    await section.getByRole("button", { name: "Try again" }).click();
    await quality.getByRole("radio", { name: "Auto", checked: true }).waitFor();
    await quality.getByRole("radio", { name: "Sharp" }).click();
    await page.getByRole("status").getByText("Saved for your next game.").waitFor();
  });

  it("repeats everything that could not be loaded with one click", async () => {
    await page.route("**/api/account/**", (route) => route.abort());
    await page.route("**/api/account", (route) => route.abort());
    await openAccount();
    const retry = page.getByRole("button", { name: "Try again" });
    await retry.nth(2).waitFor();
    await page.unrouteAll();
    await retry.first().click();
    await retry.first().waitFor({ state: "detached" });
    await page.getByRole("group", { name: "Picture quality" }).waitFor();
    await page.getByRole("list", { name: "Sign-ins" }).waitFor();
  });

  it("reports that the connection cannot be tested without WebRTC", async () => {
    await page.addInitScript(
      "for (const name of ['RTCPeerConnection', 'RTCRtpReceiver']) delete globalThis[name];",
    );
    await openAccount();
    await page.getByRole("button", { name: "Test my connection" }).click();
    await page
      .getByRole("status")
      .getByText("This browser cannot show the game: it has no WebRTC, or WebRTC is switched off.")
      .waitFor();
  });

  it("links a provider after the password, and unlinks it again", async () => {
    await openAccount();
    await growOld();
    await page.getByRole("button", { name: "Link Example" }).click();
    await page.getByLabel("Your password").fill(user.password);
    await page.getByRole("button", { name: "Confirm" }).click();
    await page.getByRole("status").getByText("sign in with Example too").waitFor();
    await growOld();
    await page.getByRole("button", { name: "Unlink Example" }).click();
    await page.getByLabel("Your password").fill(user.password);
    await page.getByRole("button", { name: "Confirm" }).click();
    await page.getByRole("status").getByText("You can no longer sign in with").waitFor();
    await page.getByRole("button", { name: "Link Example" }).waitFor();
  });

  it("reports after the right password that the provider to link does not answer, and does not ask again", async () => {
    await openAccount();
    await growOld();
    await page.getByRole("button", { name: "Link Away" }).click();
    const prompt = page.getByRole("dialog", { name: "Confirm that it is you" });
    await prompt.getByLabel("Your password").fill(user.password);
    await prompt.getByRole("button", { name: "Confirm" }).click();
    await page.getByRole("alert").getByText("The provider is not available right now").waitFor();
    await prompt.waitFor({ state: "detached" });
    expect(await page.getByRole("button", { name: "Link Away" }).isEnabled()).to.equal(true);
  });

  it("creates no account when a player who links a provider was signed out elsewhere", async () => {
    await openAccount();
    await page.reload({ waitUntil: "networkidle" }); // A request under way would be told first.
    await api.deps.authSessions.revokeAllOf(user.id);
    const before = await api.deps.postgres.prisma.user.count();
    await page.getByRole("button", { name: "Link Example" }).click();
    await page.getByText("Please sign in to continue").waitFor();
    expect(await api.deps.postgres.prisma.user.count()).to.equal(before);
    await signInAs(page, user);
    await page.getByRole("button", { name: "Link Example" }).waitFor();
  });

  it("lets a player without a password sign in again at the provider, and then set one", async () => {
    await page.goto("/account");
    await page.getByRole("button", { name: "Sign in with Example" }).click();
    await page.getByRole("button", { name: "Unlink Example" }).click();
    await page.getByRole("alert").getByText("This is your only way to sign in.").waitFor();
    await growOld();
    await page.getByRole("button", { name: "Set a password" }).click();
    await fillPassword(newPassword);
    await Promise.all([
      page.waitForEvent("load"),
      page.getByRole("button", { name: "Sign in again with Example" }).click(),
    ]);
    await page.getByRole("button", { name: "Set a password" }).click();
    await fillPassword(newPassword);
    await page.getByRole("status").getByText("Your new password is set.").waitFor();
    await page.getByText("Password set").waitFor();
  });

  it("lists the sign-ins, and ends one of them or all others", async () => {
    const [phone, laptop, tablet] = [
      await elsewhere("Version/18.5 (iPhone) Safari/604.1"),
      await elsewhere("(Windows) Firefox/140.0"),
      await elsewhere("(Android) Firefox/140.0"),
    ];
    await page.goto("/");
    await signInAs(page, user);
    await goToAccount();
    await signIns().nth(3).waitFor();
    const own = signIns().filter({ hasText: "This device" });
    await own.getByText("Chrome on Linux").waitFor();
    await own.getByText("Network 127.0.0.0/24 · in use").waitFor();
    await signIns().filter({ hasText: "Safari on iPhone" }).getByText("last used just now").waitFor();

    await page.getByRole("button", { name: "Sign out Firefox on Windows" }).focus();
    await page.keyboard.press("Enter");
    await signIns().filter({ hasText: "Windows" }).waitFor({ state: "detached" });
    expect(await Promise.all([phone, laptop, tablet].map(isSignedIn))).to.deep.equal([true, false, true]);

    await page.getByRole("button", { name: "Sign out everywhere else" }).click();
    await page.getByRole("status").getByText("signed out everywhere else").waitFor();
    await signIns().nth(1).waitFor({ state: "detached" });
    expect(await Promise.all([phone, tablet].map(isSignedIn))).to.deep.equal([false, false]);
    await page.reload();
    await own.waitFor();
    expect(await page.getByRole("button", { name: "Sign out everywhere else" }).count()).to.equal(0);
  });
});
