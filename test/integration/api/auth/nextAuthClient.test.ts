import { expect } from "chai";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Browser, Page } from "playwright-core";
import { build } from "vite";
import { aUser, type TestUser } from "#test/factories/catalog.ts";
import { TestApi } from "#test/support/http/api.ts";
import { launchBrowserShell, openWindow, type TestWindow } from "#test/support/browser/browser.ts";
import { freePort } from "#test/support/processes/childProgram.ts";
import { eventually } from "#test/support/clocks/eventually.ts";
import { clientId, clientSecret, IdentityProvider } from "#test/support/oidc/identityProvider.ts";
import { providersEnv } from "#test/support/oidc/providersFile.ts";
import { repositoryRoot } from "#test/support/processes/programs.ts";

interface SignInResult {
  error: string | null;
  status: number;
  ok: boolean;
  url: string | null;
}

describe("the unmodified next-auth client", function () {
  this.timeout(60_000);
  const webRoot = mkdtempSync(join(tmpdir(), "joypod-next-auth-"));
  let api: TestApi;
  let provider: IdentityProvider;
  let browser: Browser;
  let tab: TestWindow;
  let page: Page;
  let user: TestUser;

  before(async () => {
    await build({
      root: join(repositoryRoot, "test/support/browser/page/nextAuth"),
      configFile: false,
      logLevel: "error",
      // It is written for a bundler that fills these in.
      define: {
        "process.env.NEXTAUTH_URL": "undefined",
        "process.env.NEXTAUTH_URL_INTERNAL": "undefined",
        "process.env.VERCEL_URL": "undefined",
      },
      build: { outDir: webRoot, emptyOutDir: true, reportCompressedSize: false },
    });
    const port = await freePort();
    api = await TestApi.start({
      env: {
        WEB_ROOT: webRoot,
        ...providersEnv([
          {
            id: "example",
            name: "Example",
            type: "oidc",
            issuer: `http://127.0.0.1:${port}`,
            clientId,
            clientSecret,
            allowInsecure: true,
          },
        ]),
      },
    });
    provider = await IdentityProvider.start({
      port,
      redirectUris: [`${api.url}/api/auth/callback/example`],
      accounts: { ada: { email: "ada@example.test", email_verified: true, name: "Ada" } },
    });
    browser = await launchBrowserShell();
  });
  after(async () => {
    await browser.close();
    await provider.stop();
    await api.stop();
    rmSync(webRoot, { recursive: true });
  });

  beforeEach(async function () {
    await api.deps.redis.flushdb();
    user = await aUser(api.deps);
    tab = await openWindow(browser, { baseUrl: api.url, name: this.currentTest?.fullTitle() ?? "next-auth" });
    ({ page } = tab);
    await page.goto("/");
    await shows("unauthenticated");
  });
  afterEach(async function () {
    await tab.close({ failed: this.currentTest?.state === "failed" });
  });

  async function shows(status: string, email?: string): Promise<void> {
    await page.getByTestId("status").getByText(status, { exact: true }).waitFor();
    if (email !== undefined) await page.getByTestId("email").getByText(email, { exact: true }).waitFor();
  }

  /** Calls a function of the client in the page. */
  function call<T>(name: string, ...args: unknown[]): Promise<T> {
    return page.evaluate(`nextAuth.${name}(...${JSON.stringify(args)})`);
  }

  function signIn(password: string): Promise<SignInResult> {
    return call("signIn", "credentials", { redirect: false, email: user.email, password });
  }

  it("distinguishes a wrong password from a right one, and shows the signed-in user", async () => {
    const wrong = await signIn("wrong");
    expect(wrong).to.deep.equal({ error: "CredentialsSignin", status: 401, ok: false, url: null });
    await shows("unauthenticated");
    const right = await signIn(user.password);
    expect(right).to.deep.equal({ error: null, status: 200, ok: true, url: `${api.url}/` });
    await shows("authenticated", user.email);
    const session = await call<{ user: object; expires: string }>("getSession");
    expect(session.user).to.deep.equal({ id: user.id, name: user.name, email: user.email, image: "" });
    expect(Date.parse(session.expires)).to.be.greaterThan(Date.now() + 29 * 86_400_000);
    await page.reload();
    await shows("authenticated", user.email);
    expect(await page.evaluate("document.cookie"), "scripts see no cookie").to.equal("");
  });

  it("reports a locked account as an error", async () => {
    for (let failure = 0; failure < 5; failure += 1) await signIn("wrong");
    expect(await signIn(user.password)).to.deep.equal({
      error: "CredentialsSignin",
      status: 429,
      ok: false,
      url: null,
    });
  });

  it("redirects to the requested page, and to the sign-in page after a wrong password", async () => {
    await page.evaluate(
      `void nextAuth.signIn("credentials", ${JSON.stringify({ email: user.email, password: "wrong", callbackUrl: "/library" })})`,
    );
    await page.waitForURL(`${api.url}/signin?error=CredentialsSignin&code=credentials`);
    await page.evaluate(
      `void nextAuth.signIn("credentials", ${JSON.stringify({ email: user.email, password: user.password, callbackUrl: `${api.url}/library` })})`,
    );
    await page.waitForURL(`${api.url}/library`);
    await shows("authenticated", user.email);
  });

  it("updates the session from the database, whatever data it sends", async () => {
    await signIn(user.password);
    await shows("authenticated");
    await api.deps.postgres.prisma.user.update({ where: { id: user.id }, data: { name: "Renamed" } });
    const updated = await call<{ user: { name: string; id: string } }>("update", {
      user: { id: "root", name: "Root" },
    });
    expect(updated.user).to.include({ id: user.id, name: "Renamed" });
  });

  it("signs out, with a redirect and without", async () => {
    await signIn(user.password);
    await shows("authenticated");
    const [stolen] = await tab.context.cookies();
    expect(await call("signOut", { redirect: false })).to.deep.equal({ url: `${api.url}/` });
    await shows("unauthenticated");
    expect(stolen?.httpOnly).to.equal(true);
    await signIn(user.password);
    await shows("authenticated");
    await page.evaluate('void nextAuth.signOut({ callbackUrl: "/bye" })');
    await page.waitForURL(`${api.url}/bye`);
    await shows("unauthenticated");
  });

  it("lists the providers, and sends unknown ones and members' pages to the sign-in page", async () => {
    const providers = await call<Record<string, { type: string }>>("getProviders");
    expect(Object.entries(providers).map(([id, { type }]) => [id, type])).to.deep.equal([
      ["credentials", "credentials"],
      ["example", "oidc"],
    ]);
    expect(await call("getCsrfToken")).to.match(/^[0-9a-f]{64}$/);
    await page.evaluate('void nextAuth.signIn("nowhere")');
    await page.waitForURL(`${api.url}/signin?callbackUrl=*`);
    await page.goto("/members");
    await page.waitForURL(`${api.url}/signin?error=SessionRequired&callbackUrl=*`);
  });

  it("signs in through a provider's own pages", async () => {
    await page.evaluate('void nextAuth.signIn("example", { callbackUrl: "/library" })');
    await page.getByPlaceholder("Enter any login").fill("ada");
    await page.getByPlaceholder("and password").fill("any");
    await page.getByRole("button", { name: "Sign-in" }).click();
    await page.getByRole("button", { name: "Continue" }).click();
    await page.waitForURL(`${api.url}/library`);
    await shows("authenticated", "ada@example.test");
    expect(await page.evaluate("document.cookie")).to.equal("");
  });

  it("can report errors, which are not stored", async () => {
    await page.route("**/api/auth/providers", (route) => route.abort());
    const reported = page.waitForResponse(
      (response) => new URL(response.url()).pathname === "/api/auth/_log",
    );
    await call("getProviders");
    expect((await reported).status()).to.equal(204);
    await eventually(() => api.logLines.some((line) => line.includes("/api/auth/_log")), {
      what: "the report's request in the log",
    });
    expect(api.logLines.join("")).to.not.contain("CLIENT_FETCH_ERROR");
  });
});
