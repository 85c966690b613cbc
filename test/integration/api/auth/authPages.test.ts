import { expect } from "chai";
import { createHash } from "node:crypto";
import type { Browser } from "playwright-core";
import { aUser } from "#test/factories/catalog.ts";
import { TestApi } from "#test/support/http/api.ts";
import { expectErrorResponse } from "#test/support/http/apiClient.ts";
import { launchBrowserShell, openWindow } from "#test/support/browser/browser.ts";
import { providersEnv } from "#test/support/oidc/providersFile.ts";
import { FaultyIssuer } from "#test/support/oidc/faultyIssuer.ts";

describe("the plain sign-in page", () => {
  let api: TestApi;
  let issuer: FaultyIssuer;
  let browser: Browser;

  before(async function () {
    this.timeout(60_000);
    issuer = await FaultyIssuer.start();
    api = await TestApi.start({
      env: providersEnv([
        {
          id: "faulty",
          name: "<Faulty> & Co",
          type: "oidc",
          issuer: issuer.url,
          clientId: "joypod",
          allowInsecure: true,
        },
      ]),
    });
    browser = await launchBrowserShell();
  });
  after(async () => {
    await browser.close();
    await api.stop();
    await issuer.stop();
  });

  it("runs no script, loads nothing, and cannot be framed", async () => {
    const page = await api.anonymous().get("/api/auth/signin?error=CredentialsSignin");
    expect(page.status).to.equal(200);
    expect(page.headers.get("content-type")).to.equal("text/html; charset=utf-8");
    expect(page.headers.get("cache-control")).to.equal("no-store");
    const policy = page.headers.get("content-security-policy") ?? "";
    expect(policy).to.contain("form-action 'self' https: http://127.0.0.1:* http://localhost:*;");
    expect(policy)
      .to.contain("default-src 'none'")
      .and.contain("frame-ancestors 'none'")
      .and.contain("base-uri 'none'")
      .and.not.contain("unsafe");
    const style = /<style>([^]*?)<\/style>/.exec(page.text)?.[1] ?? "";
    expect(policy).to.contain(`style-src 'sha256-${createHash("sha256").update(style).digest("base64")}'`);
    expect(page.text).to.not.match(/<script|<img|<link|\son\w+=|javascript:/i);
    expect(page.text).to.contain("do not match an account").and.contain("&lt;Faulty&gt; &amp; Co");
    expect(page.setCookies).to.have.length(1);
  });

  it("shows only known messages, whatever the address says, and leads to no other site", async () => {
    const client = api.anonymous();
    const page = await client.get(
      `/api/auth/signin?error=%3Cscript%3Ealert(1)&callbackUrl=${encodeURIComponent('https://evil.test/"><script>')}`,
    );
    expect(page.text).to.not.contain("evil").and.not.contain("<script");
    expect(page.text).to.contain(`name="callbackUrl" value="${api.url}/"`);
    expect((await client.get("/api/auth/error?error=OAuthAccountNotLinked")).text).to.contain(
      "An account with this e-mail address already exists",
    );
    expect((await client.get("/api/auth/signin?error=CredentialsSignin&code=locked")).text).to.contain(
      "locked for a while",
    );
    expect((await client.get("/api/auth/signin?error=Whatever")).text).to.contain("The sign-in did not work");
    expect(
      (await client.get(`/api/auth/signin?callbackUrl=${encodeURIComponent('/a?b="&c=<d>')}`)).text,
    ).to.match(/value="[^"<>]*\/a\?b=[^"<>]*"/);
  });

  it("restricts its forms to trusted origins without providers", async () => {
    const alone = await TestApi.start({
      database: api.database,
      env: { ALLOWED_ORIGINS: "https://front.test" },
    });
    try {
      expect(
        (await alone.anonymous().get("/api/auth/signin")).headers.get("content-security-policy"),
      ).to.contain("form-action 'self' https://front.test;");
    } finally {
      await alone.stop();
    }
  });

  it("asks for confirmation instead of signing out by a GET", async () => {
    const user = await aUser(api.deps);
    const client = api.as(user);
    expect((await client.get("/api/auth/signout")).text).to.contain(
      'method="post" action="/api/auth/signout"',
    );
    expect((await client.get("/api/games")).status).to.equal(200);
    expectErrorResponse(await client.get("/api/auth/callback/credentials"), 405, "method_not_allowed");
  });

  it("signs a browser in with a password by keyboard only and with a provider, and signs it out", async function () {
    this.timeout(60_000);
    const user = await aUser(api.deps);
    const tab = await openWindow(browser, { baseUrl: api.url, name: "plain sign-in page" });
    let failed = true;
    try {
      const { page } = tab;
      const session = async (): Promise<string> =>
        (await tab.context.request.get("/api/auth/session")).text();
      const callbackUrl = encodeURIComponent("/api/auth/session");
      await page.goto(`/api/auth/signin?callbackUrl=${callbackUrl}`);
      await page.keyboard.type(user.email);
      await page.keyboard.press("Tab");
      await page.keyboard.type("wrong");
      await page.keyboard.press("Enter");
      await page.getByRole("alert").getByText("do not match an account").waitFor();
      await page.goto(`/api/auth/signin?callbackUrl=${callbackUrl}`);
      await page.getByLabel("E-mail").fill(user.email);
      await page.getByLabel("Password").fill(user.password);
      await page.getByRole("button", { name: "Sign in", exact: true }).click();
      await page.waitForURL("**/api/auth/session");
      expect(JSON.parse(await page.locator("body").innerText())).to.have.nested.property(
        "user.email",
        user.email,
      );

      await page.goto("/api/auth/signout");
      await page.getByRole("button", { name: "Sign out" }).click();
      await page.waitForURL(`${api.url}/`);
      expect(await session()).to.equal("{}");

      await page.goto(`/api/auth/signin?callbackUrl=${callbackUrl}`);
      await page.getByRole("button", { name: "Sign in with <Faulty> & Co" }).click();
      await page.waitForURL("**/api/auth/session");
      expect(await session()).to.contain("faulty@example.test");
      expect(
        tab.messages.filter((message) => /Content Security Policy|uncaught/.test(message)),
      ).to.deep.equal([]);
      failed = false;
    } finally {
      await tab.close({ failed });
    }
  });
});

describe("a configured sign-in page", () => {
  it("receives failed navigations, with the reason as one word", async () => {
    const api = await TestApi.start({ env: { SIGN_IN_PAGE_URL: "https://front.test/enter" } });
    try {
      const client = api.anonymous();
      const signIn = await client.get(
        `/api/auth/signin?error=SessionRequired&callbackUrl=${encodeURIComponent(`${api.url}/a`)}`,
      );
      expect(signIn.status).to.equal(302);
      expect(signIn.headers.get("location")).to.equal(
        `https://front.test/enter?error=SessionRequired&callbackUrl=${encodeURIComponent(`${api.url}/a`)}`,
      );
      expect((await client.get("/api/auth/error?error=%3Cscript%3E")).headers.get("location")).to.equal(
        "https://front.test/enter",
      );
      expect((await client.get("/api/auth/signout")).headers.get("location")).to.equal(`${api.url}/`);
    } finally {
      await api.stop();
    }
  });
});
