import { expect } from "chai";
import { request } from "node:http";
import { documentPath } from "#api/http/openapi/document.ts";
import { TestApi } from "#test/support/http/api.ts";
import { expectErrorResponse } from "#test/support/http/apiClient.ts";
import { responseTo } from "#test/support/http/httpResponse.ts";
import { wholeInterface } from "#test/support/openapi/interfaceDocument.ts";
import { ownedThings, type Owned } from "#test/support/openapi/interfaceFixture.ts";
import { sampleRequest } from "#test/support/openapi/sampleRequest.ts";

const verbs = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "PROPFIND", "QUERY", "TRACE"];

describe("methods and paths:", function () {
  this.timeout(60_000);
  let api: TestApi;
  let own: Owned;

  before(async () => {
    api = await TestApi.start();
    own = await ownedThings(api);
  });
  after(() => api.stop());

  const paths = Map.groupBy(wholeInterface().routes, ({ path }) => documentPath(path));
  for (const [path, routes] of paths) {
    it(`${path} accepts only its methods, and lists them in Allow`, async () => {
      const { path: address } = sampleRequest(routes[0]!, own.known);
      const allowed = new Set<string>(
        routes.flatMap(({ method }) => (method === "GET" ? ["GET", "HEAD"] : [method])),
      );
      for (const verb of verbs.filter((name) => !allowed.has(name))) {
        const { status, headers, body } = await raw(verb, address);
        const allow = new Set(headers["allow"]?.split(", "));
        expect(allow, verb).to.deep.equal(new Set([...allowed, "OPTIONS"]));
        if (verb === "OPTIONS") {
          expect(status).to.equal(204);
          expect(Object.keys(headers).filter((name) => name.startsWith("access-control"))).to.deep.equal([]);
        } else {
          expect(status, verb).to.equal(405);
          expect(headers["content-type"]).to.equal("application/json; charset=utf-8");
          if (verb !== "HEAD") expect(JSON.parse(body)).to.include({ error: "method_not_allowed" });
        }
      }
    });

    it(`${path} is not found in another spelling`, async () => {
      const { path: address } = sampleRequest(routes[0]!, own.known);
      const [bare = ""] = address.split("?");
      for (const spelling of [
        `${bare}/`,
        bare.toUpperCase(),
        `/${bare}`,
        `${bare}//`,
        `${bare};x=1`,
        `${bare}%20`,
      ]) {
        const { status, headers, body } = await raw("GET", spelling);
        if (status === 405 || (status === 302 && spelling !== bare)) continue; // a parameter's own value
        expect([400, 401, 404], spelling).to.include(status);
        expect(headers["content-type"]).to.equal("application/json; charset=utf-8");
        expect(JSON.parse(body)).to.have.property("error");
      }
    });
  }

  it("HEAD returns GET's headers without the body", async () => {
    const player = api.as(own.user);
    for (const path of [
      "/api/games",
      `/api/games/${own.game.slug}`,
      "/api/game/sessions",
      "/healthz",
      "/openapi.json",
      "/api/games/no-such-game",
    ]) {
      const [head, get] = [await player.request("HEAD", path), await player.get(path)];
      expect(head.status).to.equal(get.status);
      expect(head.text).to.equal("");
      // These are about the body on its way, which HEAD has none of.
      const ofBody = new Set([
        "content-length",
        "transfer-encoding",
        "content-encoding",
        "vary",
        "connection",
        "keep-alive",
      ]);
      const names = (headers: Headers): string[] => [...headers.keys()].filter((name) => !ofBody.has(name));
      expect(names(head.headers)).to.deep.equal(names(get.headers));
    }
  });

  it("OPTIONS on the upload states the largest archive", async () => {
    const { headers } = await raw("OPTIONS", `/api/partners/games/${own.game.slug}/upload`);
    expect(headers["upload-limit"]).to.equal(`max-size=${api.deps.config.partner.uploadMaxBytes}`);
  });

  it("an unknown path is 404 for every method", async () => {
    for (const verb of verbs.filter((name) => name !== "HEAD")) {
      const { status, body } = await raw(verb, "/api/nothing");
      expect(status, verb).to.equal(404);
      expect(JSON.parse(body)).to.include({ error: "not_found" });
    }
  });

  describe("other sites' pages", () => {
    const preflight = {
      "access-control-request-method": "POST",
      "access-control-request-headers": "content-type",
    };

    it("get no CORS permission, neither by a preflight nor for a response", async () => {
      for (const origin of ["https://evil.test", "null", "http://127.0.0.1.evil.test"]) {
        for (const path of ["/api/game/launch", "/api/partners/games", "/api/auth/session"]) {
          for (const response of [
            await api.anonymous().request("OPTIONS", path, { headers: { origin, ...preflight } }),
            await api.anonymous().get(path, { origin }),
          ]) {
            expect(
              [...response.headers.keys()].filter((name) => name.startsWith("access-control")),
            ).to.deep.equal([]);
          }
        }
      }
    });

    it("get CORS permission only for configured origins, and never for partners' routes", async () => {
      const open = await TestApi.start({ env: { ALLOWED_ORIGINS: "https://play.joypod.test" } });
      try {
        const named = { origin: "https://play.joypod.test" };
        const allowed = await open
          .anonymous()
          .request("OPTIONS", "/api/game/launch", { headers: { ...named, ...preflight } });
        expect(allowed.headers.get("access-control-allow-origin")).to.equal("https://play.joypod.test");
        expect(allowed.headers.get("access-control-allow-credentials")).to.equal("true");
        for (const route of wholeInterface().routes.filter(
          ({ path }) => path.startsWith("/api/") && !path.startsWith("/api/partners/"),
        )) {
          const { headers: granted } = await open
            .anonymous()
            .request("OPTIONS", sampleRequest(route, own.known).path, {
              headers: { ...named, ...preflight },
            });
          expect(granted.get("access-control-allow-methods")?.split(", "), route.name).to.include(
            route.method,
          );
          expect(granted.get("access-control-allow-headers")?.split(", "), route.name).to.include.members([
            "Content-Type",
            ...(route.headers ?? []),
          ]);
        }
        const refused = await open.anonymous().get("/api/games", named);
        expectErrorResponse(refused, 401, "unauthorized");
        expect(refused.headers.get("access-control-allow-origin")).to.equal("https://play.joypod.test");
        expect(refused.headers.get("vary")).to.contain("Origin");
        for (const [path, headers] of [
          ["/api/partners/games", named],
          ["/api/games", { origin: "https://evil.test" }],
          ["/api/games", { origin: "null" }],
        ] as const) {
          expect((await open.anonymous().get(path, headers)).headers.get("access-control-allow-origin")).to.be
            .null;
        }
      } finally {
        await open.stop();
      }
    });
  });

  /** As it stands: fetch would refuse some verbs and tidy some addresses. */
  async function raw(
    method: string,
    path: string,
  ): Promise<{ status: number; headers: Record<string, string | undefined>; body: string }> {
    const { hostname, port } = new URL(api.url);
    const { status, headers, text } = await responseTo(request({ method, path, hostname, port }).end());
    return { status, headers: Object.fromEntries(headers), body: text };
  }
});
