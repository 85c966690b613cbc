import { expect } from "chai";
import type { Browser, Request } from "playwright-core";
import { aGame, aUser, type TestUser } from "#test/factories/catalog.ts";
import { TestApi } from "#test/support/http/api.ts";
import { launchBrowserShell, openWindow, type TestWindow } from "#test/support/browser/browser.ts";
import { freePort } from "#test/support/processes/childProgram.ts";
import { eventually } from "#test/support/clocks/eventually.ts";
import { providersEnv } from "#test/support/oidc/providersFile.ts";
import { FaultyIssuer } from "#test/support/oidc/faultyIssuer.ts";
import { olderBrowser, withoutFocusEvents } from "#test/support/browser/otherBrowsers.ts";
import { signInAs } from "#test/support/browser/pages.ts";
import { buildWeb } from "#test/support/browser/web.ts";

const unauthorized = { status: 401, contentType: "application/json", body: '{"error":"unauthorized"}' };

describe("signing in on the page", () => {
  let api: TestApi;
  let issuer: FaultyIssuer;
  let browser: Browser;
  let user: TestUser;
  let tab: TestWindow;

  before(async function () {
    this.timeout(120_000);
    issuer = await FaultyIssuer.start();
    const oidc = { type: "oidc", clientId: "joypod", allowInsecure: true };
    api = await TestApi.start({
      env: {
        WEB_ROOT: await buildWeb(),
        ...providersEnv([
          { ...oidc, id: "faulty", name: "Faulty", issuer: issuer.url },
          { ...oidc, id: "away", name: "Away", issuer: `http://127.0.0.1:${await freePort()}` },
        ]),
      },
    });
    await aGame(api.deps, { slug: "alpha-quest", title: "Alpha Quest", website: "https://studio.example/" });
    browser = await launchBrowserShell();
  });
  after(async () => {
    await browser.close();
    await api.stop();
    await issuer.stop();
  });

  beforeEach(async function () {
    await api.deps.redis.flushdb(); // All tests share the limits of one address.
    user = await aUser(api.deps);
    tab = await openWindow(browser, { baseUrl: api.url, name: this.currentTest?.fullTitle() ?? "sign in" });
  });
  afterEach(async function () {
    await tab.close({ failed: this.currentTest?.state === "failed" });
  });

  /**
   * Ends the player's sign-in as from another device, once the open page asks for nothing any more: a
   * response under way renews the cookie, or is a 401 itself.
   */
  async function endSignIn(): Promise<void> {
    await tab.page.reload({ waitUntil: "networkidle" });
    await api.deps.authSessions.revokeAllOf(user.id);
  }

  const isRedirect = (request: Request): boolean => request.url().endsWith("/api/auth/signin/faulty");

  /** Holds back the request for the provider's address; returns what lets it reach the API. */
  async function holdRedirect(): Promise<() => void> {
    const { promise, resolve } = Promise.withResolvers<undefined>();
    await tab.page.route("**/api/auth/signin/faulty", async (route) => {
      await promise;
      await route.continue();
    });
    return () => resolve(undefined);
  }

  it("leads to the requested page, and keeps the player signed in", async () => {
    const { page } = tab;
    await page.goto("/games/alpha-quest");
    await signInAs(page, user);
    await page.getByRole("heading", { name: "Alpha Quest" }).waitFor();
    expect(new URL(page.url()).pathname).to.equal("/games/alpha-quest");
    await page.reload();
    await page.getByRole("heading", { name: "Alpha Quest" }).waitFor();
  });

  it("leads to the requested page in older browsers too", async () => {
    const { page } = tab;
    await page.addInitScript(olderBrowser);
    await page.goto("/games/alpha-quest");
    await signInAs(page, user);
    await page.getByRole("heading", { name: "Alpha Quest" }).waitFor();
    await page.locator("a[href='https://studio.example/']").waitFor();
  });

  it("reports a failure after the sign-in, and succeeds at the next attempt", async () => {
    const { page } = tab;
    await page.goto("/signin");
    await page.getByLabel("E-mail").waitFor();
    await page.route("**/api/auth/session", (route) =>
      route.fulfill({ status: 503, contentType: "application/json", body: '{"error":"unavailable"}' }),
    );
    await signInAs(page, user);
    await page.getByRole("alert").getByText("Joypod is not available right now").waitFor();
    await page.unroute("**/api/auth/session");
    await signInAs(page, user);
    await page.getByRole("heading", { name: "Games" }).waitFor();
  });

  it("never leads to another site", async () => {
    const { page } = tab;
    await page.goto("/signin?callbackUrl=https%3A%2F%2Fevil.example%2F");
    await signInAs(page, user);
    await page.getByRole("heading", { name: "Games" }).waitFor();
    expect(page.url()).to.equal(`${api.url}/`);
  });

  it("reports a wrong password, and then how long the account is locked", async () => {
    const { page } = tab;
    await page.goto("/");
    for (let failures = 0; failures < 4; failures += 1) {
      await signInAs(page, { ...user, password: "wrong" });
      await page.getByRole("alert").getByText("do not match an account").waitFor();
    }
    await signInAs(page, { ...user, password: "wrong" });
    await signInAs(page, user);
    await page
      .getByRole("alert")
      .getByText(/locked for your safety.*Try again in \d+:\d\d/)
      .waitFor();
  });

  it("leads through an external provider to the requested page", async () => {
    const { page } = tab;
    await page.goto("/games/alpha-quest");
    await page.getByRole("button", { name: "Sign in with Faulty" }).click();
    await page.getByRole("heading", { name: "Alpha Quest" }).waitFor();
    expect(new URL(page.url()).pathname).to.equal("/games/alpha-quest");
  });

  it("explains why a provider's sign-in failed", async () => {
    const { page } = tab;
    await page.goto("/");
    await page.getByRole("button", { name: "Sign in with Away" }).click();
    await page.getByRole("alert").getByText("The provider is not available right now").waitFor();
    issuer.misbehaviour = { claims: { sub: "another", email: user.email } };
    try {
      await page.getByRole("button", { name: "Sign in with Faulty" }).click();
      await page
        .getByRole("status")
        .getByText("An account with this e-mail address already exists")
        .waitFor();
    } finally {
      issuer.misbehaviour = {};
    }
    for (const [error, words] of [
      ["AccessDenied", "was declined"],
      ["OAuthCallback", "was not completed"],
      ["<b>", "did not work"],
    ] as const) {
      await page.goto(`/signin?${new URLSearchParams({ error }).toString()}`);
      await page.getByRole("status").getByText(words).waitFor();
    }
  });

  it("offers the providers again after Back in the browser", async () => {
    const { page } = tab;
    // The page stays as it is left: a browser that tests drive keeps none for its Back.
    await page.route(`${issuer.url}/**`, (route) => route.fulfill({ status: 204 }));
    await page.goto("/");
    await page.getByRole("button", { name: "Sign in with Faulty" }).click();
    const going = page.getByRole("button", { name: "Going to Faulty…" });
    await going.waitFor();
    await page.evaluate("dispatchEvent(new PageTransitionEvent('pageshow', { persisted: true }))");
    await going.waitFor({ state: "detached" });
    expect(await page.getByRole("button", { name: "Sign in with Faulty" }).isEnabled()).to.equal(true);
  });

  it("does not redirect to a provider after the player submitted a password", async () => {
    const { page } = tab;
    const letGo = await holdRedirect();
    await page.goto("/");
    const begun = page.waitForRequest(isRedirect);
    await page.getByRole("button", { name: "Sign in with Faulty" }).click();
    await begun;
    const givenUp = page.waitForEvent("requestfailed", isRedirect);
    await signInAs(page, { ...user, password: "wrong" });
    await givenUp;
    letGo();
    await page.getByRole("alert").getByText("do not match an account").waitFor();
    await page.getByRole("button", { name: "Sign in with Faulty" }).waitFor();
  });

  it("does not redirect to a provider after the player left the account page", async () => {
    const { page } = tab;
    const letGo = await holdRedirect();
    await page.goto("/account");
    await signInAs(page, user);
    const begun = page.waitForRequest(isRedirect);
    await page.getByRole("button", { name: "Link Faulty" }).click();
    await begun;
    const givenUp = page.waitForEvent("requestfailed", isRedirect);
    await page.getByRole("link", { name: "Games", exact: true }).click();
    await givenUp;
    letGo();
    await page.getByRole("heading", { name: "Games" }).waitFor();
  });

  it("links a provider's account of a signed-in player, and reports one that another player has linked", async () => {
    const { page } = tab;
    issuer.misbehaviour = { claims: { sub: "linked", email: "linked@example.test" } };
    try {
      await page.goto("/");
      await signInAs(page, user);
      await page.getByRole("link", { name: "Your account" }).click();
      const faulty = page.getByRole("listitem").filter({ hasText: "Faulty" });
      await faulty.getByText("Not linked yet").waitFor();
      await faulty.getByRole("button", { name: "Link Faulty" }).focus();
      await page.keyboard.press("Enter");
      await page.getByRole("status").getByText("sign in with Faulty too").waitFor();
      await faulty.getByText("Signs in to this account").waitFor();
      await page.getByRole("button", { name: "Link Away" }).click();
      await page.getByRole("alert").getByText("The provider is not available right now").waitFor();

      await page.getByRole("button", { name: "Sign out" }).click();
      await signInAs(page, await aUser(api.deps));
      await page.goto("/account");
      await page.getByRole("button", { name: "Link Faulty" }).click();
      await page.getByRole("alert").getByText("signs in to another player's account").waitFor();
      expect(new URL(page.url()).pathname).to.equal("/account");
      await page.getByRole("button", { name: "Link Faulty" }).waitFor();
    } finally {
      issuer.misbehaviour = {};
    }
  });

  it("ends with signing out", async () => {
    const { page } = tab;
    await page.goto("/");
    await signInAs(page, user);
    await page.getByRole("heading", { name: "Games" }).waitFor();
    await page.getByRole("button", { name: "Sign out" }).click();
    await page.getByRole("button", { name: "Sign in", exact: true }).waitFor();
    await page.goto("/games/alpha-quest");
    await page.getByRole("button", { name: "Sign in", exact: true }).waitFor();
  });

  it("asks to sign in again when the sign-in was ended elsewhere", async () => {
    const { page } = tab;
    await page.goto("/");
    await signInAs(page, user);
    await page.getByRole("link", { name: "Alpha Quest" }).waitFor();
    await endSignIn();
    await page.getByRole("link", { name: "Alpha Quest" }).click();
    await page.getByText("Please sign in to continue").waitFor();
    await eventually(() => new URL(page.url()).searchParams.get("callbackUrl") === "/games/alpha-quest");
  });

  it("is not requested after a single 401, such as for a request overtaken by a new password", async () => {
    const { page } = tab;
    await page.goto("/");
    await signInAs(page, user);
    await page.route("**/api/games/alpha-quest", (route) => route.fulfill(unauthorized), { times: 1 });
    const visited = new Array<string>();
    page.on("framenavigated", (frame) => visited.push(new URL(frame.url()).pathname));
    await page.getByRole("link", { name: "Alpha Quest" }).click();
    await page.getByRole("heading", { name: "Alpha Quest", level: 1 }).waitFor();
    expect(visited).to.include("/games/alpha-quest").and.not.include("/signin");
  });

  it("is requested after a second 401 to the same request", async () => {
    const { page } = tab;
    await page.goto("/");
    await signInAs(page, user);
    let requests = 0;
    await page.route("**/api/games/alpha-quest", (route) => {
      requests += 1;
      return route.fulfill(unauthorized);
    });
    await page.getByRole("link", { name: "Alpha Quest" }).click();
    await page.getByText("Please sign in to continue").waitFor();
    expect(requests).to.equal(2);
  });

  it("continues on the same page after a sign-in in another tab", async () => {
    const { page } = tab;
    await page.goto("/");
    await signInAs(page, user);
    await page.getByRole("link", { name: "Your account" }).waitFor();
    await endSignIn();
    await page.getByRole("button", { name: "Favourite: Alpha Quest" }).click();
    await page.getByText("Please sign in to continue").waitFor();
    const other = await tab.context.newPage();
    await other.goto("/");
    await signInAs(other, user);
    await other.getByRole("link", { name: "Your account" }).waitFor();
    await other.close();
    await page.evaluate('document.dispatchEvent(new Event("visibilitychange", { bubbles: true }))');
    await page.getByRole("link", { name: "Your account" }).waitFor();
    expect(new URL(page.url()).pathname).to.equal("/");
    expect(await page.getByRole("alert").count()).to.equal(0);
  });

  it("is shown in other tabs at once without a focus event, as is signing out", async () => {
    const { page } = tab;
    await page.addInitScript(withoutFocusEvents);
    await page.goto("/");
    await signInAs(page, user);
    await page.getByRole("link", { name: "Your account" }).waitFor();
    const other = await tab.context.newPage();
    await other.goto("/");
    await other.getByRole("button", { name: "Sign out" }).click();
    await page.getByRole("button", { name: "Sign in", exact: true }).waitFor();
    const next = await aUser(api.deps);
    await signInAs(other, next);
    await page.getByTitle(next.email).waitFor();
    await other.close();
  });

  it("violates no content security policy", async () => {
    await tab.page.goto("/");
    await signInAs(tab.page, user);
    await tab.page.getByRole("link", { name: "Alpha Quest" }).waitFor();
    expect(
      tab.messages.filter((message) => /Content.Security.Policy|uncaught|violates/i.test(message)),
    ).to.deep.equal([]);
  });
});
