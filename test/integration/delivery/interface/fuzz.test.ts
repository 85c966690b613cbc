import { expect } from "chai";
import fc from "fast-check";
import type { AccountLinkPurpose } from "#contracts/http/accountLinks.ts";
import { issueAccountLink } from "#api/accounts/links/accountLinks.ts";
import type { Route } from "#api/http/route.ts";
import { aUser } from "#test/factories/catalog.ts";
import { MailServer, tokenIn } from "#test/support/mail/mailServer.ts";
import { TestApi } from "#test/support/http/api.ts";
import type { ApiClient, ApiResponse } from "#test/support/http/apiClient.ts";
import { csrfToken } from "#test/support/http/authForms.ts";
import { validRequests } from "#test/support/openapi/arbitraries.ts";
import { wholeInterface } from "#test/support/openapi/interfaceDocument.ts";
import { ownedThings, type Owned } from "#test/support/openapi/interfaceFixture.ts";
import { mutationsOf } from "#test/support/openapi/mutations.ts";
import { isPlatformRoute, FakePlatform, type Sender } from "#test/support/openapi/fakePlatform.ts";
import { awayProvider, providersEnv } from "#test/support/oidc/providersFile.ts";
import { sampleRequest, type SampleRequest } from "#test/support/openapi/sampleRequest.ts";
import { stateOf } from "#test/support/openapi/storedState.ts";

/** It waits for a cluster that is unavailable. */
const slow = new Set(["stopGameSession"]);
/**
 * The same requests in every run, unless a seed is given; a failure names its seed and its smallest request.
 */
const seed = Number(process.env.JOYPOD_FUZZ_SEED ?? 20_261_121);
const runs = Number(process.env.JOYPOD_FUZZ_RUNS ?? 12);
/** Ends a property that does not come to its end. */
const timeLimit = fc.interruptAfterTimeLimit(20_000, { failOnInterrupt: true });

const many = "100000";
const env = {
  CATALOG_REQUESTS_PER_MINUTE: many,
  PARTNER_REQUESTS_PER_MINUTE: many,
  LAUNCHES_PER_MINUTE: many,
  LAUNCHES_PER_HOUR: many,
  PARTNER_UPLOADS_PER_HOUR: many,
  GAME_VERIFY: "off",
  SAVE_CHANGES_PER_MINUTE: many,
  SAVE_TRANSFERS_PER_HOUR: many,
  SIGN_UP: "open",
  TRUSTED_PROXIES: "1",
  STOP_WAIT_SECONDS: "1",
  ...providersEnv([awayProvider]),
};

/** Routes that take a one-time link, and its purpose. */
const linkPurposes: Partial<Record<string, AccountLinkPurpose>> = {
  getAccountLink: "password_reset",
  confirmSignUp: "confirmation",
  acceptInvitation: "invitation",
  resetPassword: "password_reset",
  confirmEmailChange: "email_change",
};

describe("generated requests", function () {
  this.timeout(60_000);
  let mail: MailServer;
  let api: TestApi;
  let platform: FakePlatform;
  let own: Owned;
  let addresses = 0;
  /** The statuses below 400, by route. */
  const served = new Map<string, Set<number>>();

  before(async () => {
    mail = await MailServer.start();
    const site = { ...env, ...mail.env };
    [api, platform] = await Promise.all([TestApi.start({ env: site }), FakePlatform.start(site)]);
  });
  beforeEach(async () => {
    own = await ownedThings(api);
  });
  after(async () => {
    await platform.stop();
    await api.stop();
    await mail.stop();
  });

  const { routes } = wholeInterface();

  for (const route of routes) {
    it(`to ${route.method} ${route.path} get documented responses when they are valid`, async () => {
      const { client, known, goodBody } = await senderOf(route);
      const simplest = sampleRequest(route, known);
      const first = goodBody === undefined ? simplest : { ...simplest, body: goodBody };
      await fc.assert(
        fc.asyncProperty(validRequests(route, known, goodBody), async (request) => {
          const response = await send(await client(), request);
          expect(response.status, response.text).to.not.equal(500);
          if (response.status < 400)
            served.set(route.name, (served.get(route.name) ?? new Set()).add(response.status));
        }),
        { seed, numRuns: slow.has(route.name) ? 2 : runs, examples: [[first]], plugins: [timeLimit] },
      );
    });
  }

  for (const route of routes.filter(({ access }) => access !== "public")) {
    it(`to ${route.method} ${route.path} are rejected when mutated, and change nothing`, async () => {
      const client = clientOf(route);
      const before = await stateOf(api);
      await fc.assert(
        fc.asyncProperty(
          validRequests(route, own.known),
          mutationsOf(route),
          async (request, { what, statuses, change }) => {
            const response = await send(client, change(request));
            expect(response.status, `${what}: ${response.text}`).to.be.oneOf([...statuses]);
          },
        ),
        { seed, numRuns: runs, plugins: [timeLimit] },
      );
      expect(await stateOf(api)).to.deep.equal(before);
    });
  }

  it("reach every documented success of each route, not only error responses", () => {
    const unreached = routes.filter(({ name, responses }) => {
      const successes = Object.keys(responses)
        .map(Number)
        .filter((status) => status < 300);
      const wanted = successes.length > 0 ? successes : Object.keys(responses).map(Number);
      return !wanted.some((status) => served.get(name)?.has(status) === true);
    });
    expect(unreached.map(({ name }) => name)).to.deep.equal([]);
  });

  /**
   * Some routes need more than stores: a cluster, an object store, a streamer, or a browser with its form's
   * token.
   */
  async function senderOf(route: Route): Promise<Sender> {
    if (isPlatformRoute(route.name)) return platform.senderOf(route.name);
    const client = clientOf(route);
    if (!route.path.startsWith("/api/auth/") || route.method === "GET")
      return { client: () => Promise.resolve(client), known: own.known };
    if (linkPurposes[route.name] !== undefined || ["signUp", "forgotPassword"].includes(route.name))
      return {
        client: () => Promise.resolve(client),
        known: { ...own.known, ...(await linkValuesOf(route.name)) },
      };
    const token = await csrfToken(client);
    const {
      user: { email, password },
    } = own;
    const goodBody =
      route.schemas.isForm === true
        ? new URLSearchParams({ email, password, csrfToken: token, json: "true" }).toString()
        : { csrfToken: token };
    return {
      client: () => Promise.resolve(client),
      known: { ...own.known, csrfToken: token, provider: "credentials" },
      goodBody,
    };
  }

  /** Returns the values for a route that takes a link: a new link for a new account. */
  async function linkValuesOf(name: string): Promise<Record<string, string>> {
    const purpose = linkPurposes[name];
    if (purpose === undefined) return {};
    const { id: userId, email, password } = await aUser(api.deps);
    const { pool } = api.deps.postgres;
    if (purpose === "confirmation")
      await pool.query("UPDATE users SET confirm_by = now() + interval '1 hour' WHERE id = $1", [userId]);
    const { url } = await issueAccountLink(pool, api.url, {
      purpose,
      email: purpose === "invitation" || purpose === "email_change" ? `new-${email}` : email,
      userId: purpose === "invitation" ? null : userId,
      seconds: 3600,
    });
    return { token: tokenIn(url), password };
  }

  function clientOf({ access }: Route): ApiClient {
    if (access === "public") return api.anonymous();
    return access === "partner" ? api.asPartner(own.partner) : api.as(own.user);
  }

  /** Each from an address of its own, so that what is counted by address is not used up. */
  function send(client: ApiClient, { method, path, body, headers }: SampleRequest): Promise<ApiResponse> {
    addresses++;
    return client.request(method, path, {
      body,
      headers: {
        ...headers,
        "x-forwarded-for": `10.${addresses >> 16}.${(addresses >> 8) & 255}.${addresses & 255}`,
      },
    });
  }
});
