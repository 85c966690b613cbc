import { expect } from "chai";
import fc from "fast-check";
import type { Route } from "../../../../api/src/routing/route.ts";
import { TestApi } from "../../../support/api.ts";
import type { ApiClient, ApiResponse } from "../../../support/apiClient.ts";
import { validRequests } from "../../../support/openapi/arbitraries.ts";
import { wholeInterface } from "../../../support/openapi/interfaceDocument.ts";
import { ownedThings, type Owned } from "../../../support/openapi/interfaceStage.ts";
import { mutationsOf } from "../../../support/openapi/mutations.ts";
import type { SampleRequest } from "../../../support/openapi/sampleRequest.ts";
import { stateOf } from "../../../support/openapi/storedState.ts";

/** It waits for a cluster that is away. */
const slow = new Set(["stopGameSession"]);
/** The same requests in every run, unless a seed is given; a failure names its seed and its smallest request. */
const seed = Number(process.env.JOYPOD_FUZZ_SEED ?? 20_261_121);
const runs = Number(process.env.JOYPOD_FUZZ_RUNS ?? 12);

describe("requests made of the document", function () {
  this.timeout(60_000);
  let api: TestApi;
  let own: Owned;
  let addresses = 0;
  /** Routes that answered something else than a refusal. */
  const served = new Set<string>();
  /** Without a cluster, an object store, a browser's form token, or a provider. */
  const unreachable = new Set(["isReady", "launchGame", "uploadArchive", "offerStream", "hangUpStream", "updateAuthSession"]);

  before(async () => {
    const many = "100000";
    api = await TestApi.start({
      env: {
        CATALOG_REQUESTS_PER_MINUTE: many, PARTNER_REQUESTS_PER_MINUTE: many, LAUNCHES_PER_MINUTE: many, LAUNCHES_PER_HOUR: many,
        PARTNER_UPLOADS_PER_HOUR: many, TRUSTED_PROXIES: "1", STOP_WAIT_SECONDS: "1",
      },
    });
  });
  beforeEach(async () => {
    own = await ownedThings(api);
  });
  after(() => api.stop());

  const { routes } = wholeInterface();

  for (const route of routes) {
    it(`${route.method} ${route.path} answers valid ones as documented`, async () => {
      const client = clientOf(route);
      await fc.assert(fc.asyncProperty(validRequests(route, own.known), async (request) => {
        const response = await send(client, request);
        expect(response.status, response.text).to.not.equal(500);
        if (response.status < 400) served.add(route.name);
      }), { seed, numRuns: slow.has(route.name) ? 2 : runs, interruptAfterTimeLimit: 20_000, markInterruptAsFailure: true });
    });
  }

  for (const route of routes.filter(({ access }) => access !== "public")) {
    it(`${route.method} ${route.path} refuses what was tampered with, and changes nothing`, async () => {
      const client = clientOf(route);
      const before = await stateOf(api);
      await fc.assert(fc.asyncProperty(validRequests(route, own.known), mutationsOf(route), async (request, { what, statuses, change }) => {
        const response = await send(client, change(request));
        expect(response.status, `${what}: ${response.text}`).to.be.oneOf([...statuses]);
      }), { seed, numRuns: runs, interruptAfterTimeLimit: 20_000, markInterruptAsFailure: true });
      expect(await stateOf(api)).to.deep.equal(before);
    });
  }

  it("get through to what routes do, rather than only to their refusals", () => {
    const reachable = routes.map(({ name }) => name).filter((name) => !unreachable.has(name));
    expect([...served]).to.include.members(reachable);
  });

  function clientOf({ access }: Route): ApiClient {
    if (access === "public") return api.anonymous();
    return access === "user" ? api.as(own.user) : api.asPartner(own.partner);
  }

  /** Each from an address of its own, so that what is counted by address is not used up. */
  function send(client: ApiClient, { method, path, body, headers }: SampleRequest): Promise<ApiResponse> {
    addresses++;
    return client.request(method, path, { body, headers: { ...headers, "x-forwarded-for": `10.${addresses >> 16}.${(addresses >> 8) & 255}.${addresses & 255}` } });
  }
});
