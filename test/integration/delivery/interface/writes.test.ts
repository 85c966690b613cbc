import { expect } from "chai";
import { TestApi } from "#test/support/http/api.ts";
import { expectErrorResponse } from "#test/support/http/apiClient.ts";
import { wholeInterface } from "#test/support/openapi/interfaceDocument.ts";
import { ownedThings } from "#test/support/openapi/interfaceFixture.ts";
import { sampleRequest } from "#test/support/openapi/sampleRequest.ts";
import { stateOf } from "#test/support/openapi/storedState.ts";

describe("writes with a player's cookie", function () {
  this.timeout(60_000);
  let api: TestApi;

  before(async () => {
    api = await TestApi.start({ env: { CATALOG_REQUESTS_PER_MINUTE: "10000" } });
  });
  after(() => api.stop());

  const foreign: Record<string, string>[] = [
    { origin: "https://evil.test" },
    { origin: "null" },
    { "sec-fetch-site": "cross-site" },
    { origin: "https://evil.test", "sec-fetch-site": "same-origin" },
  ];
  const routes = wholeInterface().routes.filter(
    ({ access, method }) => (access === "user" || access === "viewer") && method !== "GET",
  );

  for (const route of routes) {
    it(`to ${route.method} ${route.path} are rejected from other sites' pages`, async () => {
      const { user, known } = await ownedThings(api);
      const { method, path, body, headers } = sampleRequest(route, known);
      const before = await stateOf(api);
      for (const sign of foreign) {
        expectErrorResponse(
          await api.as(user).request(method, path, { body, headers: { ...headers, ...sign } }),
          403,
          "forbidden",
        );
      }
      expect(await stateOf(api)).to.deep.equal(before);
    });

    if (route.schemas.body === undefined) continue;
    it(`to ${route.method} ${route.path} are rejected as invalid without a body`, async () => {
      const { user, known } = await ownedThings(api);
      const { method, path, headers } = sampleRequest(route, known);
      const { "content-type": _, ...others } = headers;
      const before = await stateOf(api);
      expectErrorResponse(
        await api.as(user).request(method, path, { headers: others }),
        400,
        "invalid_request",
      );
      expect(await stateOf(api)).to.deep.equal(before);
    });

    it(`to ${route.method} ${route.path} are rejected with a content type that another site's form could send`, async () => {
      const { user, known } = await ownedThings(api);
      const { method, path, body } = sampleRequest(route, known);
      const before = await stateOf(api);
      for (const type of [
        "application/x-www-form-urlencoded",
        "multipart/form-data; boundary=x",
        "text/plain",
        "text/plain;application/json",
        "",
      ]) {
        const sent =
          type === "application/x-www-form-urlencoded"
            ? new URLSearchParams(body as Record<string, string>)
            : JSON.stringify(body);
        expectErrorResponse(
          await api.as(user).request(method, path, { body: sent, headers: { "content-type": type } }),
          415,
          "unsupported_media_type",
        );
      }
      expect(await stateOf(api)).to.deep.equal(before);
    });
  }

  it("are accepted from the service's own page, and from programs that send no origin", async () => {
    const { user, known } = await ownedThings(api);
    for (const headers of [
      {},
      { origin: api.url },
      { origin: api.url, "sec-fetch-site": "same-origin" },
      { "sec-fetch-site": "none" },
    ]) {
      const response = await api.as(user).post("/api/favorites", { gameId: known["gameId"] }, headers);
      expect(response.status, response.text).to.equal(200);
    }
  });

  it("never use GET or HEAD", async () => {
    const { user, partner, known } = await ownedThings(api);
    const before = await stateOf(api);
    for (const route of wholeInterface().routes) {
      for (const method of ["GET", "HEAD"]) {
        const { path } = sampleRequest(route, known);
        for (const client of [api.as(user), api.asPartner(partner)]) {
          const response = await client.request(method, path, { headers: { accept: "application/json" } });
          expect(response.status, `${method} ${path}`).to.not.equal(500);
        }
      }
    }
    expect(await stateOf(api)).to.deep.equal(before);
  });
});
