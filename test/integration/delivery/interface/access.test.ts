import { expect } from "chai";
import type { Route } from "#api/http/route.ts";
import { aPartner, aUser, type TestPartner, type TestUser } from "#test/factories/catalog.ts";
import { TestApi } from "#test/support/http/api.ts";
import { ApiClient, expectErrorResponse, type ApiResponse } from "#test/support/http/apiClient.ts";
import { checkAgainstDocument } from "#test/support/openapi/documentCheck.ts";
import { wholeInterface } from "#test/support/openapi/interfaceDocument.ts";
import { ownedThings, unknownNames, type Owned } from "#test/support/openapi/interfaceFixture.ts";
import { awayProvider, providersEnv } from "#test/support/oidc/providersFile.ts";
import { sampleRequest, type KnownValues } from "#test/support/openapi/sampleRequest.ts";

/** Names of things that belong to somebody: for anybody else they do not exist. */
const ownNames: Record<"user" | "partner", readonly string[]> = {
  user: ["sessionId", "saveSlotId", "slotId", "signInId"],
  partner: ["slug", "webhookId"],
};

describe("access to routes:", function () {
  this.timeout(60_000);
  let api: TestApi;
  let other: { user: TestUser; partner: TestPartner };

  before(async () => {
    api = await TestApi.start({
      env: {
        CATALOG_REQUESTS_PER_MINUTE: "10000",
        PARTNER_REQUESTS_PER_MINUTE: "10000",
        AUTH_READS_PER_MINUTE: "10000",
        STOP_WAIT_SECONDS: "1",
        ...providersEnv([awayProvider]),
      },
    });
    other = { user: await aUser(api.deps), partner: await aPartner(api.deps) };
  });
  after(() => api.stop());

  const { routes } = wholeInterface();
  for (const route of routes.filter(({ access }) => access !== "public")) {
    it(`${route.method} ${route.path} accepts only its own credential`, async () => {
      const own = await ownedThings(api);
      const own2 = await ownedThings(api);
      const isUser = route.access !== "partner";
      for (const client of [api.anonymous(), isUser ? api.asPartner(own.partner) : api.as(own.user)]) {
        const refused = await call(client, route, own.known);
        expectErrorResponse(refused, 401, "unauthorized");
        if (isUser) expect(refused.text).to.equal('{"error":"unauthorized"}');
        else expect(refused.json()).to.have.all.keys("error", "message");
      }
      const stranger = isUser ? api.as(other.user) : api.asPartner(other.partner);
      await expectStranger(route, stranger, own);
      expectServed(await call(isUser ? api.as(own.user) : api.asPartner(own.partner), route, own.known));
      expectServed(await call(await withBoth(own2), route, own2.known));
    });
  }

  for (const route of routes.filter(({ access }) => access === "public")) {
    it(`${route.method} ${route.path} treats all credentials alike`, async () => {
      const own = await ownedThings(api);
      for (const client of [
        api.anonymous(),
        api.as(own.user),
        api.asPartner(own.partner),
        await withBoth(own),
      ]) {
        const response = await call(client, route, own.known);
        expect(response.status, response.text).to.not.equal(401).and.not.equal(500);
      }
    });
  }

  /** Somebody with the right kind of credential, but another's things. */
  async function expectStranger(route: Route, client: ApiClient, own: Owned): Promise<void> {
    const theirs = await call(client, route, own.known);
    if (!isAboutOwnThings(route, own.known)) {
      expectServed(theirs);
      return;
    }
    expectErrorResponse(theirs, 404, "not_found");
    const unknown = await call(client, route, unknownNames);
    expect(withoutNames(theirs, own.known)).to.equal(withoutNames(unknown, unknownNames));
    expect([...theirs.headers.keys()]).to.deep.equal([...unknown.headers.keys()]);
  }

  function isAboutOwnThings(route: Route, known: KnownValues): boolean {
    const { path, body } = sampleRequest(route, known);
    const sent = `${path} ${JSON.stringify(body)}`;
    return ownNames[route.access === "partner" ? "partner" : "user"].some(
      (name) => known[name] !== undefined && sent.includes(known[name]),
    );
  }

  /** The text of an error response apart from what the client itself named. */
  function withoutNames({ text }: ApiResponse, known: KnownValues): string {
    const plain = text.replace(/"requestId":"[^"]*"/, "");
    return ownNames.partner.reduce((words, name) => words.replaceAll(known[name] ?? "", name), plain);
  }

  async function withBoth({ user, partner }: Owned): Promise<ApiClient> {
    const browser = api.as(user);
    const seen = await browser.get("/api/auth/session");
    expect(seen.json()).to.have.property("user");
    const cookie = [...browser.cookies].map(([name, value]) => `${name}=${value}`).join("; ");
    return new ApiClient(
      api.url,
      Promise.resolve({ cookie, authorization: `Bearer ${partner.key}` }),
      checkAgainstDocument,
    );
  }
});

function call(client: ApiClient, route: Route, known: KnownValues): Promise<ApiResponse> {
  const { method, path, body, headers } = sampleRequest(route, known);
  return client.request(method, path, { body, headers });
}

/** Not refused for who asks; without cluster and store some things cannot be done. */
function expectServed(response: ApiResponse): void {
  expect(response.status, response.text).to.not.be.oneOf([401, 403, 404, 405, 500]);
}
