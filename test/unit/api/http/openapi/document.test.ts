import { isDeepStrictEqual } from "node:util";
import { createConfig, lintFromString } from "@redocly/openapi-core";
import { expect } from "chai";
import { buildDocument, documentPath } from "#api/http/openapi/document.ts";
import { webhookEventTypes } from "#contracts/http/webhooks.ts";
import { registerRoutes } from "#api/http/router.ts";
import { createRoutes } from "#api/routes.ts";
import { configWith, wholeInterface } from "#test/support/openapi/interfaceDocument.ts";

describe("the OpenAPI document", () => {
  it("lints clean", async function () {
    this.timeout(30_000);
    const { document, routes } = wholeInterface();
    const problems = await lintFromString({
      source: JSON.stringify(document),
      config: await createConfig({ extends: ["recommended"] }),
    });
    // Providers send browsers to an address that only ever sends them on.
    const onlyRedirects = new Set(
      routes
        .filter(({ responses }) => Object.keys(responses).every((status) => status.startsWith("3")))
        .map(({ name }) => name),
    );
    expect([...onlyRedirects]).to.deep.equal(["finishProviderSignIn"]);
    const left = problems.filter(
      ({ ruleId, location }) =>
        !(
          ruleId === "operation-2xx-response" &&
          location.some(
            ({ pointer }) => pointer === "#/paths/~1api~1auth~1callback~1{provider}/get/responses",
          )
        ),
    );
    expect(
      left.map(({ ruleId, message, location }) => `${ruleId}: ${message} ${location[0]?.pointer}`),
    ).to.deep.equal([]);
  });

  it("lists exactly the routes that the router serves", () => {
    const { document, routes } = wholeInterface();
    const layers = registerRoutes(routes).stack.flatMap(({ path, methods }) =>
      methods
        .filter((method) => method !== "HEAD")
        .map((method) => `${method} ${documentPath(String(path))}`),
    );
    const operations = Object.entries(document.paths ?? {}).flatMap(([path, item]) =>
      Object.keys(item).map((method) => `${method.toUpperCase()} ${path}`),
    );
    expect(layers.toSorted()).to.deep.equal(operations.toSorted());
    expect(layers).to.have.length(new Set(layers).size).and.above(25);
  });

  it("states the credential, purpose and errors of every operation", () => {
    const { document, routes } = wholeInterface();
    for (const { method, path, access, name } of routes) {
      const operation = operationOf(document, method, path);
      expect(operation.operationId).to.equal(name);
      expect(operation.security, name).to.deep.equal(
        {
          public: [],
          user: [{ session: [] }],
          viewer: [{ session: [] }, { streamTicket: [] }],
          partner: [{ partnerKey: [] }],
        }[access],
      );
      expect(operation.tags, name).to.have.length(1);
      if (access !== "public")
        expect(Object.keys(operation.responses ?? {}), name).to.include.members(["401", "429", "500", "503"]);
    }
  });

  it("names the conditional header of every operation that can respond with 304", () => {
    const { document, routes } = wholeInterface();
    const cacheable = routes.filter(({ responses }) => 304 in responses);
    expect(cacheable.map(({ name }) => name)).to.include.members(["listGames", "getGame", "getOpenApi"]);
    for (const { method, path, name } of cacheable) {
      expect(
        operationOf(document, method, path).parameters?.map((parameter) => parameter.name),
        name,
      ).to.include("If-None-Match");
    }
  });

  it("has a schema for every request body: bytes for archives and pictures, text for offers", () => {
    const { document, routes } = wholeInterface();
    const schemas = new Map(
      routes.flatMap(({ method, path, name }) =>
        Object.entries(operationOf(document, method, path).requestBody?.content ?? {}).map(
          ([type, { schema }]) => [`${name} ${type}`, schema] as const,
        ),
      ),
    );
    for (const [body, schema] of schemas) expect(schema, body).to.be.an("object").that.is.not.empty;
    const [bytes, text] = [{ type: "string", format: "binary" }, { type: "string" }];
    expect(schemas.get("uploadArchive application/gzip")).to.deep.equal(bytes);
    expect([...schemas].filter(([body]) => /gzip|image/.test(body)).map(([, schema]) => schema))
      .to.have.length.above(4)
      .and.to.satisfy((all: unknown[]) => all.every((schema) => isDeepStrictEqual(schema, bytes)));
    expect(
      [...schemas].filter(([body]) => body.endsWith("application/sdp")).map(([, schema]) => schema),
    ).to.deep.equal([text, text]);
  });

  it("names this service's address and session cookie", () => {
    const dev = buildDocument(wholeInterface().routes, configWith({ BASE_URL: "http://127.0.0.1:8080" }));
    expect(dev.servers).to.deep.equal([{ url: "http://127.0.0.1:8080" }]);
    expect(dev.components?.securitySchemes?.["session"]).to.include({
      in: "cookie",
      name: "auth.session-token",
    });
    expect(wholeInterface().document.components?.securitySchemes?.["session"]).to.include({
      name: "__Secure-auth.session-token",
    });
  });

  it("states the configured maximum archive size and lifetime of a sign-in", () => {
    const { routes, document } = wholeInterface();
    const told = (
      of: ReturnType<typeof buildDocument>,
    ): [upload: string | undefined, cookie: string | undefined] => [
      operationOf(of, "PUT", "/api/partners/games/:slug/upload").requestBody?.description,
      of.components?.securitySchemes?.["session"]?.description,
    ];
    const ofSite = (env: Record<string, string>) => told(buildDocument(routes, configWith(env)));
    const cookie = (lasting: string): string =>
      `Set by signing in, renewed by every response, and valid for ${lasting}. HTTP-only.`;
    expect(told(document)).to.deep.equal([
      "The tar.gz archive. At most 10737418240 bytes.",
      cookie("30 days"),
    ]);
    expect(ofSite({ UPLOAD_MAX_BYTES: "1000000", TOKEN_LIFETIME_SECONDS: "7200" })).to.deep.equal([
      "The tar.gz archive. At most 1000000 bytes.",
      cookie("2 hours"),
    ]);
    expect(ofSite({ TOKEN_LIFETIME_SECONDS: "90", SESSION_MAX_SECONDS: "86400" })[1]).to.equal(
      cookie("90 seconds, but no longer than 1 day after signing in"),
    );
  });

  it("is served, like the health routes, only if it is configured", () => {
    const paths = createRoutes(configWith({ OPENAPI_ROUTE: "off", HEALTH_ROUTES: "off" })).map(
      ({ path }) => path,
    );
    expect(paths).to.not.include.members(["/openapi.json"]).and.not.include.members(["/healthz"]);
    expect(createRoutes(configWith()).map(({ path }) => path)).to.include.members([
      "/openapi.json",
      "/healthz",
      "/readyz",
    ]);
  });

  it("describes the events of webhooks, if partners can have any", () => {
    expect(Object.keys(wholeInterface().document.webhooks ?? {})).to.have.members([...webhookEventTypes]);
    const config = configWith({ WEBHOOKS: "off" });
    const routes = createRoutes(config);
    expect(routes.filter(({ path }) => path.includes("/webhooks"))).to.be.empty;
    expect(buildDocument(routes, config).webhooks).to.equal(undefined);
  });

  it("has patterns for all dialects of regular expressions", () => {
    const patterns = patternsIn(wholeInterface().document);
    expect(patterns).to.include.members([
      "^[^\\x00-\\x1f\\x7f-\\x9f\u2028\u2029]*$",
      "^[a-z0-9](?:[a-z0-9-]*[a-z0-9])$",
    ]);
    for (const pattern of patterns) {
      expect(() => new RegExp(pattern), pattern).to.not.throw();
      expect(pattern).to.not.match(/\\[pPuk]|\(\?[<!=]|[*+?}]\+/);
    }
    const line = new RegExp(patterns.find((pattern) => pattern.includes("\u2028")) ?? "");
    for (const text of ["", "Ada & Co. \u00e9 \u{1f3ae}"]) expect(line.test(text), text).to.equal(true);
    for (const text of ["a\u0000", "a\nb", "\u0085", "\u2028"])
      expect(line.test(text), JSON.stringify(text)).to.equal(false);
  });

  it("allows additional fields in responses, and forbids them in requests", () => {
    const { document, routes } = wholeInterface();
    const responses = routes.flatMap(({ method, path, name }) =>
      Object.entries(operationOf(document, method, path).responses ?? {}).map(([status, response]) => ({
        what: `${name} ${status}`,
        objects: objectsWithin(response, document),
      })),
    );
    expect(
      responses.flatMap(({ what, objects }) =>
        objects
          .filter((object) => isClosed(object) && !isNobody(object))
          .map((object) => `${what}: ${JSON.stringify(object)}`),
      ),
    ).to.deep.equal([]);
    const game = responses.find(({ what }) => what === "getPartnerGame 200")?.objects ?? [];
    expect(game.flatMap(({ properties }) => Object.keys(properties ?? {}))).to.include.members([
      "slug",
      "resources",
      "memoryMb",
      "width",
    ]);
    expect(document.components?.schemas?.["RegisterGameRequest"]).to.satisfy(isClosed);
  });
});

interface Operation {
  operationId?: string;
  parameters?: { name: string }[];
  security?: object[];
  tags?: string[];
  responses?: object;
  requestBody?: { description?: string; content: Record<string, { schema?: object }> };
}

function operationOf(
  { paths = {} }: ReturnType<typeof buildDocument>,
  method: string,
  path: string,
): Operation {
  const item = paths[documentPath(path)] as Record<string, Operation> | undefined;
  return item?.[method.toLowerCase()] ?? {};
}

interface ObjectSchema {
  type?: unknown;
  description?: string;
  properties?: object;
  additionalProperties?: unknown;
}

function isClosed({ additionalProperties }: ObjectSchema): boolean {
  return additionalProperties === false;
}

/** Whether this is the response to who is not signed in: that it is empty is what it says. */
function isNobody({ properties = {}, description }: ObjectSchema): boolean {
  return Object.keys(properties).length === 0 && description === "Nobody is signed in.";
}

/**
 * Every object schema that is reachable from this part of the document, once, with what references lead to.
 */
function objectsWithin(value: unknown, document: object, seen = new Set<unknown>()): ObjectSchema[] {
  if (typeof value !== "object" || value === null || seen.has(value)) return [];
  seen.add(value);
  if ("$ref" in value && typeof value.$ref === "string")
    return objectsWithin(resolve(value.$ref, document), document, seen);
  const own: ObjectSchema[] = "type" in value && value.type === "object" ? [value] : [];
  return [...own, ...Object.values(value).flatMap((part) => objectsWithin(part, document, seen))];
}

/** What a reference such as `#/components/schemas/Game` names. */
function resolve(reference: string, document: object): unknown {
  return reference
    .split("/")
    .slice(1)
    .reduce<unknown>((part, name) => (part as Record<string, unknown> | undefined)?.[name], document);
}

/** Every pattern of a document, once. */
function patternsIn(value: unknown): string[] {
  if (typeof value !== "object" || value === null) return [];
  const own = "pattern" in value && typeof value.pattern === "string" ? [value.pattern] : [];
  return [...new Set([...own, ...Object.values(value).flatMap(patternsIn)])];
}
