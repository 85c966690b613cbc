import { expect } from "chai";
import jsonwebtoken, { type SignOptions } from "jsonwebtoken";
import { generateKeyPairSync, randomBytes, createHmac } from "node:crypto";
import { deriveKey } from "#api/auth/tokens.ts";
import { aUser, type TestUser } from "#test/factories/catalog.ts";
import { TestApi } from "#test/support/http/api.ts";
import { expectErrorResponse, type ApiResponse } from "#test/support/http/apiClient.ts";
import { postSignIn } from "#test/support/http/authForms.ts";

const cookieName = "auth.session-token";
const masterKey = randomBytes(32);
const signingKey = deriveKey(masterKey, "session");

type Claims = Record<string, unknown>;

describe("session tokens", () => {
  let api: TestApi;
  let user: TestUser;
  let good: string;
  let claims: Claims;

  before(async () => {
    api = await TestApi.start({ env: { SIGNING_KEYS: `one:${masterKey.toString("base64")}` } });
    user = await aUser(api.deps);
    const browser = api.anonymous();
    await postSignIn(browser, user);
    good = browser.cookies.get(cookieName) ?? "";
    claims = jsonwebtoken.decode(good) as Claims;
  });
  after(() => api.stop());

  function present(token: string): Promise<ApiResponse> {
    const browser = api.anonymous();
    browser.cookies.set(cookieName, token);
    return browser.get("/api/games");
  }

  function sign(
    payload: Claims | string,
    key: Buffer | string = signingKey,
    options: SignOptions = {},
  ): string {
    return jsonwebtoken.sign(payload, key, { algorithm: "HS256", keyid: "one", ...options });
  }

  const encode = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString("base64url");
  const without = (name: string): Claims =>
    Object.fromEntries(Object.entries(claims).filter(([key]) => key !== name));

  it("contain only the user and the sign-in, signed with HS256 under a named key", async () => {
    expect(jsonwebtoken.decode(good, { complete: true })?.header).to.deep.equal({
      alg: "HS256",
      typ: "JWT",
      kid: "one",
    });
    expect(claims).to.have.all.keys("sub", "name", "email", "sid", "iat", "exp");
    expect(claims).to.include({ sub: user.id, name: user.name, email: user.email });
    expect((await present(good)).status).to.equal(200);
    expect((await present(sign(claims))).status, "this test signs as the API does").to.equal(200);
  });

  const rsa = generateKeyPairSync("rsa", { modulusLength: 2048 });
  const now = Math.floor(Date.now() / 1000);
  const forged: [string, () => string][] = [
    ["unsigned", () => `${encode({ alg: "none", typ: "JWT", kid: "one" })}.${good.split(".")[1] ?? ""}.`],
    [
      "unsigned, in other letters",
      () => `${encode({ alg: "nOnE", kid: "one" })}.${good.split(".")[1] ?? ""}.`,
    ],
    ["HS512 under the right key", () => sign(claims, signingKey, { algorithm: "HS512" })],
    ["HS384 under the right key", () => sign(claims, signingKey, { algorithm: "HS384" })],
    [
      "RS256 under a key of the sender's",
      () =>
        sign(claims, rsa.privateKey.export({ format: "pem", type: "pkcs8" }).toString(), {
          algorithm: "RS256",
        }),
    ],
    [
      "the header of RS256 over an HMAC",
      () => {
        const signed = `${encode({ alg: "RS256", kid: "one" })}.${encode(claims)}`;
        return `${signed}.${createHmac("sha256", signingKey).update(signed).digest("base64url")}`;
      },
    ],
    ["another key", () => sign(claims, randomBytes(32))],
    ["the master key itself", () => sign(claims, masterKey)],
    ["the key of form tokens", () => sign(claims, deriveKey(masterKey, "csrf"))],
    ["the key of ways to a provider", () => sign(claims, deriveKey(masterKey, "oauth"))],
    ["an unknown key id", () => sign(claims, signingKey, { keyid: "two" })],
    ["a key id of every object", () => sign(claims, signingKey, { keyid: "__proto__" })],
    ["a key id that is a path", () => sign(claims, signingKey, { keyid: "../../dev/null" })],
    ["no key id", () => jsonwebtoken.sign(claims, signingKey, { algorithm: "HS256" })],
    ["expired", () => sign({ ...claims, iat: now - 7200, exp: now - 3600 })],
    ["not valid yet", () => sign({ ...claims, nbf: now + 3600 })],
    ["without an end", () => sign(without("exp"))],
    ["without a subject", () => sign(without("sub"))],
    ["without a sign-in", () => sign(without("sid"))],
    ["without a begin", () => sign(without("iat"), signingKey, { noTimestamp: true })],
    ["of an unknown sign-in", () => sign({ ...claims, sid: randomBytes(16).toString("base64url") })],
    ["of a sign-in that is no id", () => sign({ ...claims, sid: "'; --" })],
    [
      "of another user's sign-in",
      () => sign(Object.fromEntries([...Object.entries(claims), ["sub", "somebody-else"]])),
    ],
    ["a text in place of claims", () => sign("just a text")],
    [
      "a list in place of claims",
      () => {
        const signed = `${encode({ alg: "HS256", kid: "one" })}.${encode([claims])}`;
        return `${signed}.${createHmac("sha256", signingKey).update(signed).digest("base64url")}`;
      },
    ],
    [
      "with a changed subject",
      () => {
        const [header = "", , signature = ""] = good.split(".");
        return `${header}.${encode({ ...claims, sub: "root" })}.${signature}`;
      },
    ],
    ["with a cut signature", () => good.slice(0, -4)],
    ["with something behind", () => `${good}.x`],
    ["encrypted", () => `${encode({ alg: "dir", enc: "A256GCM" })}..a.b.c`],
    ["noise", () => "a.b.c"],
    ["empty", () => ""],
    ["of 12 KB", () => sign({ ...claims, name: "n".repeat(9000) }, randomBytes(32))],
    ["of 12 KB, signed as the API does", () => sign({ ...claims, name: "n".repeat(9000) })],
    ["of 100 KB", () => sign({ ...claims, name: "n".repeat(76_000) }).padEnd(100 * 1024, "A")],
    ["of 100 KB, signed as the API does", () => sign({ ...claims, name: "n".repeat(76_000) })],
  ];
  for (const [what, forge] of forged) {
    it(`are refused when ${what}`, async () => {
      await api.deps.redis.flushdb(); // So that the database is asked too.
      const response = await present(forge());
      expectErrorResponse(response, 401, "unauthorized");
      expect(response.text).to.equal('{"error":"unauthorized"}');
      expect(response.setCookies).to.deep.equal([
        `${cookieName}=; Path=/; HttpOnly; SameSite=Lax; Max-Age=0`,
      ]);
    });
  }

  it("are not replaceable by a form's token or a pending sign-in at a provider", async () => {
    const csrf = api.deps.csrfTokens.create();
    const { value } = api.deps.oauthTransactions.seal(cookieName, {
      provider: "p",
      state: "s",
      verifier: "v",
      callbackUrl: api.url,
    });
    for (const token of [csrf.token, csrf.cookie, value])
      expectErrorResponse(await present(token), 401, "unauthorized");
    expect(api.deps.csrfTokens.read(good)).to.equal(undefined);
    expect(api.deps.oauthTransactions.open(cookieName, good)).to.equal(undefined);
  });

  it("are accepted only as a cookie, not as Bearer or Basic", async () => {
    for (const authorization of [`Bearer ${good}`, `Basic ${Buffer.from("a:b").toString("base64")}`]) {
      expectErrorResponse(await api.anonymous().get("/api/games", { authorization }), 401, "unauthorized");
    }
    const browser = api.anonymous();
    browser.cookies.set(cookieName, good);
    expect((await browser.get("/api/games", { authorization: "Bearer nonsense" })).status).to.equal(200);
    for (const empty of ["", '""']) {
      const headers = { cookie: `${cookieName}=${empty}` };
      expectErrorResponse(
        await api.anonymous().get("/api/games", { ...headers, authorization: `Bearer ${good}` }),
        401,
        "unauthorized",
      );
      expectErrorResponse(await api.anonymous().get("/api/games", headers), 401, "unauthorized");
    }
  });
});
