import { expect } from "chai";
import { createHash, generateKeyPairSync } from "node:crypto";
import type { ServerResponse } from "node:http";
import { accountHashOf } from "#api/auth/tokens.ts";
import { TestApi } from "#test/support/http/api.ts";
import { expectErrorResponse, type ApiClient, type ApiResponse } from "#test/support/http/apiClient.ts";
import { postProviderSignIn } from "#test/support/http/authForms.ts";
import { freePort } from "#test/support/processes/childProgram.ts";
import { providersEnv } from "#test/support/oidc/providersFile.ts";
import { everythingStored } from "#test/support/openapi/storedState.ts";
import { respondWithJson, FaultyIssuer, type Misbehaviour } from "#test/support/oidc/faultyIssuer.ts";

const clientSecret = "shared with the faulty issuer";
/** The name under which accounts of a provider are kept that calls itself by another one. */
const storedIssuer = "https://renamed.test";

describe("a misbehaving issuer", function () {
  this.timeout(30_000);
  let api: TestApi;
  let issuer: FaultyIssuer;

  before(async () => {
    issuer = await FaultyIssuer.start();
    const { url } = issuer;
    const common = { issuer: url, clientId: "joypod", clientSecret, allowInsecure: true, trustsEmail: true };
    const oauth = {
      ...common,
      type: "oauth",
      authorizationEndpoint: `${url}/authorize`,
      tokenEndpoint: `${url}/token`,
      userinfoEndpoint: `${url}/userinfo`,
    };
    api = await TestApi.start({
      env: providersEnv([
        { ...common, id: "faulty", name: "Faulty", type: "oidc" },
        {
          ...oauth,
          id: "plain",
          name: "Plain",
          clientAuthentication: "post",
          scopes: ["user"],
          userinfo: { subject: "account.id", email: "mail", emailVerified: "mail_verified", name: "login" },
        },
        {
          ...oauth,
          id: "hub",
          name: "Hub",
          scopes: ["user:email"],
          userinfo: { subject: "id", email: "email", name: "login" },
          emails: { endpoint: `${url}/user/emails` },
        },
        {
          ...oauth,
          id: "renamed",
          name: "Renamed",
          issuer: storedIssuer,
          responseIssuer: url,
          userinfo: { subject: "id", email: "email", emailVerified: "verified" },
        },
      ]),
    });
  });
  after(async () => {
    await api.stop();
    await issuer.stop();
  });
  beforeEach(async () => {
    issuer.misbehaviour = {};
    issuer.requests.length = 0;
    await api.deps.redis.flushdb();
    await api.deps.postgres.prisma.user.deleteMany();
  });

  /** The way out and back, as a browser makes it. */
  async function signIn(browser: ApiClient = api.anonymous(), id = "faulty"): Promise<ApiResponse> {
    const { url } = (await postProviderSignIn(browser, id, { json: "true", callbackUrl: "/library" })).json<{
      url: string;
    }>();
    const back = new URL((await fetch(url, { redirect: "manual" })).headers.get("location") ?? "");
    return browser.get(back.pathname + back.search);
  }

  async function expectNobody(
    response: ApiResponse,
    browser: ApiClient,
    reason = "OAuthCallback",
  ): Promise<void> {
    expect(response.status, response.text).to.equal(302);
    expect(response.headers.get("location")).to.equal(`${api.url}/api/auth/signin?error=${reason}`);
    expect((await browser.get("/api/auth/session")).json()).to.deep.equal({});
    expect(await api.deps.postgres.prisma.user.count()).to.equal(0);
  }

  /** Whoever redeems the code shows by it that they began this sign-in. */
  function expectProvenExchange(): void {
    const verifier = issuer.exchange?.get("code_verifier") ?? "";
    expect(verifier).to.have.length.of.at.least(43);
    expect(issuer.visit.get("code_challenge_method")).to.equal("S256");
    expect(issuer.visit.get("code_challenge")).to.equal(
      createHash("sha256").update(verifier).digest("base64url"),
    );
  }

  it("is accepted while it behaves", async () => {
    const browser = api.anonymous();
    expect((await signIn(browser)).headers.get("location")).to.equal(`${api.url}/library`);
    expect((await browser.get("/api/auth/session")).json<{ user: { email: string } }>().user.email).to.equal(
      "faulty@example.test",
    );
    expectProvenExchange();
    expect(issuer.exchange?.get("redirect_uri")).to.equal(`${api.url}/api/auth/callback/faulty`);
  });

  it("has its tokens used immediately and not stored", async () => {
    expect((await signIn()).headers.get("location")).to.equal(`${api.url}/library`);
    const stored = await everythingStored(api);
    expect(stored).to.contain("faulty@example.test");
    const { access_token, refresh_token, id_token = "" } = issuer.tokens!;
    for (const token of [access_token, refresh_token, id_token, ...id_token.split(".")])
      expect(stored).to.not.contain(token);
  });

  const seconds = (fromNow: number): number => Math.floor(Date.now() / 1000) + fromNow;
  const tokens: [string, () => Misbehaviour][] = [
    ["another issuer's name", () => ({ claims: { iss: "https://evil.test" } })],
    ["another client's token", () => ({ claims: { aud: "another-client" } })],
    [
      "a token for several, ours not the authorized party",
      () => ({ claims: { aud: ["joypod", "another"], azp: "another" } }),
    ],
    ["another nonce", () => ({ claims: { nonce: "another" } })],
    ["no nonce", () => ({ claims: { nonce: undefined } })],
    ["an expired token", () => ({ claims: { iat: seconds(-7200), exp: seconds(-3600) } })],
    ["a token without an end", () => ({ claims: { exp: undefined } })],
    ["a token that is not valid yet", () => ({ claims: { nbf: seconds(3600) } })],
    ["no subject", () => ({ claims: { sub: undefined } })],
    ["a subject that is no text", () => ({ claims: { sub: { $ne: "" } } })],
    ["a subject of any length", () => ({ claims: { sub: "s".repeat(5000) } })],
    ["an unsigned token", () => ({ sign: (claims) => issuer.forge(claims, "none") })],
    [
      "a token signed with the public key as a secret",
      () => ({ sign: (claims) => issuer.forge(claims, "HS256", issuer.publicKeyPem) }),
    ],
    [
      "a token signed with the client's secret",
      () => ({ sign: (claims) => issuer.forge(claims, "HS256", clientSecret) }),
    ],
    [
      "a token signed with another key",
      () => ({
        sign: (claims) =>
          issuer.sign(claims, { key: generateKeyPairSync("ec", { namedCurve: "P-256" }).privateKey }),
      }),
    ],
    ["no ID token", () => ({ sign: () => undefined })],
    ["noise for a token", () => ({ sign: () => "a.b.c" })],
    ["another issuer's response", () => ({ iss: "https://evil.test" })],
    ["a response in nobody's name", () => ({ iss: null })],
    [
      "a profile of somebody else",
      () => ({
        claims: { email: undefined },
        userinfo: { sub: "somebody-else", email: "faulty@example.test", email_verified: true },
      }),
    ],
  ];
  for (const [what, misbehaviour] of tokens) {
    it(`is refused with ${what}`, async () => {
      issuer.misbehaviour = misbehaviour();
      const browser = api.anonymous();
      await expectNobody(await signIn(browser), browser);
    });
  }

  it("does not receive the code if the response names another issuer", async () => {
    issuer.misbehaviour = { iss: "https://evil.test" };
    await signIn();
    expect(issuer.requests).to.not.include("/token");
  });

  for (const verified of ["true", 1, "false", [true]]) {
    it(`does not verify an address with ${JSON.stringify(verified)}`, async () => {
      issuer.misbehaviour = { claims: { email_verified: verified } };
      const browser = api.anonymous();
      await expectNobody(await signIn(browser), browser, "OAuthCreateAccount");
    });
  }

  const exchanges: [string, (response: ServerResponse) => void][] = [
    ["a redirect", (response) => response.writeHead(307, { location: `${issuer.url}/canary` }).end()],
    [
      "an error",
      (response) =>
        response.writeHead(400, { "content-type": "application/json" }).end('{"error":"invalid_grant"}'),
    ],
    ["a fault", (response) => response.writeHead(500).end("stack")],
    ["a page", (response) => response.writeHead(200, { "content-type": "text/html" }).end("<h1>Hello</h1>")],
    ["broken JSON", (response) => response.writeHead(200, { "content-type": "application/json" }).end("{")],
    ["a list", (response) => respondWithJson(response, [])],
    ["nothing", (response) => response.writeHead(204).end()],
    ["a cut connection", (response) => response.destroy()],
  ];
  for (const [what, token] of exchanges) {
    it(`is refused if it answers the exchange with ${what}`, async () => {
      issuer.misbehaviour = { token };
      const browser = api.anonymous();
      await expectNobody(await signIn(browser), browser);
      expect(issuer.requests).to.not.include("/canary");
    });
  }

  it("is read only up to a size limit", async () => {
    let sent = 0;
    issuer.misbehaviour = {
      token: (response) => {
        response.writeHead(200, { "content-type": "application/json" });
        const chunk = Buffer.alloc(64 * 1024, " ");
        const pour = (): void => {
          while (!response.destroyed && sent < 512 * 2 ** 20) {
            sent += chunk.length;
            if (!response.write(chunk)) return void response.once("drain", pour);
          }
        };
        pour();
      },
    };
    const browser = api.anonymous();
    await expectNobody(await signIn(browser), browser);
    expect(sent, "bytes that the issuer could send; sockets hold some").to.be.lessThan(32 * 2 ** 20);
  });

  it("has five seconds to respond, before and during a response", async () => {
    const started = performance.now();
    const hangs: NonNullable<Misbehaviour["token"]>[] = [
      () => undefined,
      (response) => void response.writeHead(200, { "content-type": "application/json" }).write("{"),
    ];
    let exchange = 0;
    issuer.misbehaviour = { token: (response) => hangs[exchange++ % hangs.length]?.(response) };
    const browsers = [api.anonymous(), api.anonymous()];
    const responses = await Promise.all(browsers.map((browser) => signIn(browser)));
    expect(performance.now() - started).to.be.at.least(4_500);
    for (const [index, browser] of browsers.entries()) await expectNobody(responses[index]!, browser);
  });

  describe("with plain OAuth", () => {
    it("returns the profile, whose field names are configured", async () => {
      issuer.misbehaviour = {
        sign: () => undefined,
        userinfo: { account: { id: 42 }, mail: "Plain@example.test", mail_verified: true, login: "plain" },
      };
      const browser = api.anonymous();
      expect((await signIn(browser, "plain")).headers.get("location")).to.equal(`${api.url}/library`);
      expect((await browser.get("/api/auth/session")).json()["user"]).to.include({
        name: "plain",
        email: "plain@example.test",
      });
      expect((await api.deps.postgres.prisma.identity.findFirstOrThrow()).subject).to.equal("42");
      expectProvenExchange();
      expect(issuer.exchange?.get("client_secret")).to.equal(clientSecret);
    });

    it("may use the one configured issuer in responses that differs from that of its identities", async () => {
      const misbehaviour = {
        sign: () => undefined,
        userinfo: { id: 7, email: "renamed@example.test", verified: true },
      };
      for (const iss of [storedIssuer, "https://evil.test"]) {
        issuer.misbehaviour = { ...misbehaviour, iss };
        const browser = api.anonymous();
        await expectNobody(await signIn(browser, "renamed"), browser);
      }
      expect(issuer.requests).to.not.include("/token");
      for (const iss of [issuer.url, null]) {
        issuer.misbehaviour = { ...misbehaviour, iss };
        expect((await signIn(api.anonymous(), "renamed")).headers.get("location")).to.equal(
          `${api.url}/library`,
        );
      }
      const identities = await api.deps.postgres.prisma.identity.findMany({
        select: { issuer: true, subject: true },
      });
      expect(identities).to.deep.equal([{ issuer: storedIssuer, subject: "7" }]);
    });

    const hubUser = { id: 7, email: "public@example.test", login: "hub" };
    const primary = { email: "primary@example.test", primary: true, verified: true, visibility: null };
    const other = { email: "other@example.test", primary: false, verified: true, visibility: "public" };

    it("returns its list of addresses, of which the verified primary one creates an account", async () => {
      issuer.misbehaviour = { sign: () => undefined, userinfo: hubUser, emails: [other, primary] };
      const browser = api.anonymous();
      expect((await signIn(browser, "hub")).headers.get("location")).to.equal(`${api.url}/library`);
      expect((await browser.get("/api/auth/session")).json()["user"]).to.include({
        name: "hub",
        email: primary.email,
      });
    });

    it("creates no account if the primary address is unverified, invalid or not listed", async () => {
      for (const emails of [
        [other, { ...primary, verified: false }],
        [{ ...primary, email: "none" }],
        [other],
        [],
      ]) {
        issuer.misbehaviour = { sign: () => undefined, userinfo: hubUser, emails };
        const browser = api.anonymous();
        await expectNobody(await signIn(browser, "hub"), browser, "OAuthCreateAccount");
      }
      const subjectId = accountHashOf(api.deps.config.auth.pepper, primary.email);
      expect(
        await api.deps.postgres.prisma.auditEvent.count({
          where: { action: "signIn.refused", subjectKind: "account", subjectId },
        }),
      ).to.equal(1);
    });

    for (const emails of [undefined, {}, "x"]) {
      it(`is refused with the addresses ${JSON.stringify(emails)}`, async () => {
        issuer.misbehaviour = { sign: () => undefined, userinfo: hubUser, emails };
        const browser = api.anonymous();
        await expectNobody(await signIn(browser, "hub"), browser);
      });
    }

    for (const userinfo of [[], "x", {}, { account: { id: null } }, { account: { id: "" } }]) {
      it(`is refused with the profile ${JSON.stringify(userinfo)}`, async () => {
        issuer.misbehaviour = { sign: () => undefined, userinfo };
        const browser = api.anonymous();
        await expectNobody(await signIn(browser, "plain"), browser);
      });
    }
  });
});

describe("an unavailable issuer", () => {
  it("does not delay the start of the API, is reported, and works as soon as it is available", async () => {
    const port = await freePort();
    const api = await TestApi.start({
      env: providersEnv([
        {
          id: "late",
          name: "Late",
          type: "oidc",
          issuer: `http://127.0.0.1:${port}`,
          clientId: "joypod",
          allowInsecure: true,
        },
      ]),
    });
    try {
      const unavailable = await postProviderSignIn(api.anonymous(), "late");
      expectErrorResponse(unavailable, 503, "unavailable");
      expect(unavailable.headers.get("retry-after")).to.match(/^\d+$/);
      expect(unavailable.json()["url"]).to.equal(`${api.url}/api/auth/signin?error=OAuthSignin`);
      const plain = await postProviderSignIn(api.anonymous(), "late", {});
      expect(plain.headers.get("location")).to.equal(`${api.url}/api/auth/signin?error=OAuthSignin`);
      const issuer = await FaultyIssuer.start(port);
      try {
        const there = await postProviderSignIn(api.anonymous(), "late");
        expect(new URL(there.json<{ url: string }>().url).origin).to.equal(issuer.url);
      } finally {
        await issuer.stop();
      }
    } finally {
      await api.stop();
    }
  });
});
