import { expect } from "chai";
import { once } from "node:events";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { TestApi } from "#test/support/http/api.ts";
import { ApiClient } from "#test/support/http/apiClient.ts";
import { ApiProcess } from "#test/support/http/apiProcess.ts";
import { csrfToken, postProviderSignIn, postSignIn, postSignOut } from "#test/support/http/authForms.ts";
import { providersEnv } from "#test/support/oidc/providersFile.ts";
import { respondWithJson, FaultyIssuer, type Misbehaviour } from "#test/support/oidc/faultyIssuer.ts";
import { wholeInterface } from "#test/support/openapi/interfaceDocument.ts";
import { ownedThings, type Owned } from "#test/support/openapi/interfaceFixture.ts";
import { sampleRequest } from "#test/support/openapi/sampleRequest.ts";
import { exchange } from "#test/support/http/rawHttp.ts";

/** In whatever a client sends that might be a secret, or be taken for a line of the log. */
const canary = "canary";
const fields = Object.fromEntries(
  ["password", "email", "csrfToken", "token", "secret", "key", "code", "state", "callbackUrl"].map((name) => [
    name,
    `${canary}-${name}`,
  ]),
);
const query = new URLSearchParams({
  ...fields,
  access_token: `${canary}-token`,
  id_token: `${canary}\r\n{"level":"error","msg":"forged"}`,
  error_description: `${canary}\u001b[31m`,
}).toString();
/** What is in the place of a thing's name. */
const names = Object.fromEntries(
  ["slug", "gameSlug", "gameId", "sessionId", "saveSlotId", "connectionId", "developer"].map((name) => [
    name,
    `${canary}-name`,
  ]),
);
const cookie = ["auth.session-token", "auth.csrf-token", "auth.oauth.0123456789abcdef"]
  .map((name) => `${name}=${canary}`)
  .join("; ");
const basic = Buffer.from(`${canary}:${canary}`).toString("base64");

describe("the API's log", function () {
  this.timeout(60_000);
  let api: TestApi;
  let issuer: FaultyIssuer;
  let store: Server;
  let written: ApiProcess;
  let own: Owned;
  /** Cookie of a real sign-in. */
  let session: string;
  /** Real ones, each of which would be enough to be somebody else. */
  const secrets: string[] = [basic];
  let addresses = 0;

  before(async () => {
    api = await TestApi.start({ kube: true, isLed: true });
    issuer = await FaultyIssuer.start();
    // A library repeats what such a store refuses, and says so on the console.
    store = createServer((_, response) => response.writeHead(503).end()).listen(0, "127.0.0.1");
    await once(store, "listening");
    const many = "100000";
    written = await ApiProcess.beside(api, {
      LOG_LEVEL: "trace",
      TRUSTED_PROXIES: "1",
      STOP_WAIT_SECONDS: "1",
      S3_ENDPOINT: `http://127.0.0.1:${(store.address() as AddressInfo).port}`,
      CATALOG_REQUESTS_PER_MINUTE: many,
      PARTNER_REQUESTS_PER_MINUTE: many,
      LAUNCHES_PER_MINUTE: many,
      LAUNCHES_PER_HOUR: many,
      PARTNER_UPLOADS_PER_HOUR: many,
      ...providersEnv([
        {
          id: "faulty",
          name: "Faulty",
          type: "oidc",
          issuer: issuer.url,
          clientId: "joypod",
          clientSecret: `${canary}-secret`,
          allowInsecure: true,
          trustsEmail: true,
        },
      ]),
    });
    own = await ownedThings(api);
    session = `auth.session-token=${(await signedIn()).cookies.get("auth.session-token")}`;
    secrets.push(
      own.user.password,
      own.user.email,
      own.partner.key,
      api.deps.config.postgres.url,
      api.deps.config.auth.pepper,
    );
  });
  after(async () => {
    await written.stop();
    store.close();
    await issuer.stop();
    await api.stop();
  });

  /** From an address of its own, so that nothing is refused for coming too often. */
  function client(headers: Record<string, string> = {}): ApiClient {
    addresses++;
    return new ApiClient(
      written.url,
      Promise.resolve({ ...headers, "x-forwarded-for": `10.1.${addresses >> 8}.${addresses & 255}` }),
    );
  }

  /** Each route's request, full of canaries, by those who may and those who may not. */
  async function walk(authorization: string): Promise<void> {
    // Each time that it is asked a store has to refuse twice.
    for (const route of wholeInterface().routes.filter(({ name }) => name !== "isReady")) {
      const { method, path, body, headers } = sampleRequest(route, { ...own.known, provider: "faulty" });
      const more = `${path}${path.includes("?") ? "&" : "?"}${query}`;
      const sent = {
        "idempotency-key": `${canary}-key`,
        "user-agent": `${canary}\t`,
        referer: `https://play.test/?code=${canary}`,
        ...headers,
      };
      const full =
        typeof body === "string" ? `${body}&${query}` : JSON.stringify({ ...(body as object), ...fields });
      const foreign = sampleRequest(route, { ...own.known, ...names });
      const requests: [ApiClient, string, unknown][] = [
        [client({ authorization, cookie }), more, body],
        [client({ cookie: session }), path, body],
        [client({ cookie: session }), foreign.path, foreign.body],
        [client({ cookie: `${session}; ${cookie}` }), more, full],
        [client({ authorization: `Bearer ${own.partner.key}` }), foreign.path, foreign.body],
        [client({ authorization: `Bearer ${own.partner.key}` }), path, full],
        [client({ authorization: `Bearer ${own.partner.key}`, cookie }), more, `{"password":"${canary}`],
      ];
      for (const [from, address, content] of requests) {
        const isRead = method === "GET";
        await from.request(method, address, {
          headers: {
            ...(!isRead && typeof content === "string" && { "content-type": "application/json" }),
            ...sent,
          },
          ...(!isRead && { body: content }),
        });
      }
    }
  }

  async function signedIn(): Promise<ApiClient> {
    const browser = client();
    await postSignIn(browser, own.user);
    secrets.push(...browser.cookies.values());
    return browser;
  }

  it("contains no secrets from successful and failed sign-ins, and from every route with every credential", async () => {
    const browser = await signedIn();
    secrets.push(await csrfToken(browser));
    await postSignOut(browser);
    await postSignIn(client(), { email: `${canary}@example.test`, password: `${canary}-password` });
    const forms = [
      "Bearer",
      `Bearer ${canary}`,
      `bearer   ${canary} ${canary}`,
      `Basic ${basic}`,
      `Token ${canary}`,
      `joypod_live_${canary}`,
      `Bearer ${own.partner.key.slice(0, -1)}`,
      `Bearer ${own.partner.key}, Bearer ${canary}`,
    ];
    for (const authorization of forms) await client({ authorization }).get("/api/partners/games");
    await walk(`Bearer joypod_live_${canary}`);
    expectNoSecrets();
  });

  it("contains no secrets from callbacks of a provider: valid, invalid, and with an error", async () => {
    const refused = { error: "invalid_grant", error_description: `${canary} of a code` };
    const misbehaviours: Misbehaviour[] = [
      {},
      { claims: { nonce: canary } },
      { claims: { aud: canary } },
      { iss: `https://${canary}.test` },
      { userinfo: canary, claims: { email: undefined } },
      { sign: () => `${canary}.${canary}.${canary}` },
      { token: (response) => respondWithJson(response, refused) },
      {
        token: (response) =>
          response.writeHead(400, { "content-type": "application/json" }).end(JSON.stringify(refused)),
      },
      {
        token: (response) =>
          response.writeHead(200, { "content-type": "application/json" }).end(`${canary}=a-token`),
      },
      { token: (response) => response.writeHead(302, { location: `${issuer.url}/?token=${canary}` }).end() },
    ];
    for (const misbehaviour of misbehaviours) {
      issuer.misbehaviour = misbehaviour;
      await comeBack((back) => back.set("code", `${canary}-code`));
      secrets.push(issuer.exchange?.get("code_verifier") ?? canary);
    }
    await comeBack((back) => back.set("state", `${canary}-state`));
    await comeBack((back) => {
      back.delete("code");
      back.set("error", `${canary}\u001b[31m`);
      back.set("error_description", `${canary}\r\n{"level":"error"}`);
    });
    expect(written.output).to.contain("The API refused a sign-in through a provider.");
    expectNoSecrets();
  });

  async function comeBack(change: (query: URLSearchParams) => void): Promise<void> {
    const browser = client();
    const { url } = (
      await postProviderSignIn(browser, "faulty", { json: "true", callbackUrl: `/?${query}` })
    ).json<{ url: string }>();
    for (const name of ["state", "nonce", "code_challenge"])
      secrets.push(new URL(url).searchParams.get(name) ?? canary);
    secrets.push(...browser.cookies.values());
    const back = new URL((await fetch(url, { redirect: "manual" })).headers.get("location") ?? "");
    change(back.searchParams);
    expect((await browser.get(back.pathname + back.search)).status).to.equal(302);
  }

  it("contains no secrets after faults: missing tables, and a failing store", async () => {
    await client().get(`/readyz?${query}`);
    const search = `/api/games?search=${canary}&tag=${canary}`;
    expect((await client().get("/readyz")).status).to.equal(503);
    for (const table of ["users", "partner_keys", "games"]) {
      await api.deps.postgres.pool.query(`ALTER TABLE ${table} RENAME TO mislaid`);
      try {
        await walk(`Bearer ${canary}`);
        await client({ cookie: session }).get(search);
      } finally {
        await api.deps.postgres.pool.query(`ALTER TABLE mislaid RENAME TO ${table}`);
      }
    }
    expect(written.output.match(/"level":"error"/g)).to.have.length.above(30);
    expect(written.output).to.contain("Output bypassed the logger.");
    expectNoSecrets();
  });

  it("contains no secrets from input that is not HTTP", async () => {
    const lines = [`Cookie: auth.session-token=${canary}`, `Authorization: Bearer ${canary}`];
    const heads = [
      `GET /api/games?code=${canary} HTTP/1.1\r\nHost: x\r\n${lines.join("\n")}\r\n\r\n`,
      `GET /${canary}\u001b[31m HTTP/1.1\r\nHost: x\r\n\r\n`,
      `${canary}\r\n\r\n`,
      `GET / HTTP/1.1\r\nHost: x\r\n${lines[0]}\u001b[31m\r\n\r\n`,
      `GET / HTTP/1.1\r\nHost: x\r\nCookie: ${canary}=${"x".repeat(20_000)}\r\n\r\n`,
      `POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n${lines[1]}\r\n\r\n`,
      `GET /%0d%0a${canary}%1b%5b31m HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n`,
    ];
    for (const head of heads)
      expect(await exchange(written.url, Buffer.from(head, "latin1"))).to.match(/^HTTP\/1\.1 4\d\d /);
    expectNoSecrets();
  });

  it("contains no secrets in any line", async () => {
    await written.stop("SIGTERM");
    expect(written.output.trimEnd().split("\n").at(-1)).to.contain('"msg":"The program has stopped."');
    expectNoSecrets();
    await written.start();
  });

  /** All of it is lines of JSON, each of them ours, without any secret. */
  function expectNoSecrets(): void {
    const { output } = written;
    const lines = output.trimEnd().split("\n");
    for (const line of lines)
      expect(Object.keys(parsed(line)), line.slice(0, 500)).to.include.members([
        "level",
        "time",
        "program",
        "msg",
      ]);
    for (const secret of [canary, ...secrets])
      expect(
        lines.find((line) => line.includes(secret)),
        secret,
      ).to.equal(undefined);
    expect(output.match(/[^\x20-\x7e\n]|forged/g)).to.be.null;
  }
});

function parsed(line: string): object {
  try {
    return JSON.parse(line) as object;
  } catch {
    return {};
  }
}
