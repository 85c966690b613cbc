import { expect } from "chai";
import fc from "fast-check";
import type { Route } from "#api/http/route.ts";
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
  SAVE_CHANGES_PER_MINUTE: many,
  SAVE_TRANSFERS_PER_HOUR: many,
  TRUSTED_PROXIES: "1",
  STOP_WAIT_SECONDS: "1",
  ...providersEnv([awayProvider]),
};

describe("generated requests", function () {
  this.timeout(60_000);
  let api: TestApi;
  let platform: FakePlatform;
  let own: Owned;
  let addresses = 0;
  /** The statuses below 400, by route. */
  const served = new Map<string, Set<number>>();

  before(async () => {
    [api, platform] = await Promise.all([TestApi.start({ env }), FakePlatform.start(env)]);
  });
  beforeEach(async () => {
    own = await ownedThings(api);
  });
  after(async () => {
    await platform.stop();
    await api.stop();
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
    for (const { name, responses } of routes) {
      const successes = Object.keys(responses)
        .map(Number)
        .filter((status) => status < 300);
      const wanted = successes.length > 0 ? successes : Object.keys(responses).map(Number);
      expect(
        [...(served.get(name) ?? [])].filter((status) => wanted.includes(status)),
        name,
      ).to.not.be.empty;
    }
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
