import { expect } from "chai";
import { checkAgainstDocument, type SeenResponse } from "#test/support/openapi/documentCheck.ts";

const common = {
  "content-type": "application/json; charset=utf-8",
  "api-version": "2026-11-21",
  "x-request-id": "0123456789abcdefghjk",
  "cache-control": "no-store",
};
const counted = {
  ...common,
  ratelimit: '"poll";r=1;t=2',
  "ratelimit-policy": '"poll";q=120;w=60',
  "set-cookie": "auth.session-token=x; HttpOnly",
};
const kept = { status: "ok", expiresAt: "2026-11-21T18:04:05.000Z" };

function keepalive(
  changes: {
    method?: string;
    path?: string;
    status?: number;
    headers?: Record<string, string>;
    body?: unknown;
    text?: string;
  } = {},
): SeenResponse {
  const {
    method = "POST",
    path = "/api/game/keepalive",
    status = 200,
    headers = counted,
    body = kept,
    text = JSON.stringify(body),
  } = changes;
  return { method, path, status, headers: new Headers(headers), text };
}

describe("the check of responses against the document", () => {
  it("accepts a documented response", () => {
    checkAgainstDocument(keepalive());
    checkAgainstDocument(
      keepalive({
        status: 404,
        body: { error: "not_found", message: "There is no such session.", requestId: "x" },
      }),
    );
    checkAgainstDocument(keepalive({ path: "/api/nothing", status: 404, body: { error: "not_found" } }));
    checkAgainstDocument(
      keepalive({
        method: "DELETE",
        status: 405,
        headers: { ...common, allow: "POST" },
        body: { error: "method_not_allowed" },
      }),
    );
    checkAgainstDocument(
      keepalive({ method: "OPTIONS", status: 204, headers: { allow: "POST, OPTIONS" }, text: "" }),
    );
  });

  const without = (name: string): Record<string, string> =>
    Object.fromEntries(Object.entries(counted).filter(([key]) => key !== name));
  const wrong: [string, SeenResponse, RegExp][] = [
    ["an undocumented status", keepalive({ status: 201 }), /status is not documented/],
    [
      "another media type",
      keepalive({ headers: { ...counted, "content-type": "text/html" } }),
      /media type is "text\/html"/,
    ],
    ["a missing header", keepalive({ headers: without("ratelimit") }), /header RateLimit is missing/],
    [
      "a header of another form",
      keepalive({ headers: { ...counted, ratelimit: "57" } }),
      /header RateLimit must match/,
    ],
    ["a field too many", keepalive({ body: { ...kept, passwordHash: "$2b$" } }), /additional.*passwordHash/],
    ["a field too few", keepalive({ body: { status: "ok" } }), /expiresAt/],
    ["a field of another type", keepalive({ body: { ...kept, expiresAt: 5 } }), /expiresAt must be string/],
    ["a body that is no JSON", keepalive({ text: "{" }), /the body must be object/],
    [
      "another route's error response",
      keepalive({ status: 404, body: { error: "no_servers" } }),
      /must be equal to one of/,
    ],
    ["no Retry-After", keepalive({ status: 429, body: { error: "rate_limited" } }), /Retry-After is missing/],
    [
      "a page in place of the API",
      keepalive({ path: "/api/nothing", headers: { "content-type": "text/html" }, text: "<html>" }),
      /404 not_found/,
    ],
    [
      "no Allow",
      keepalive({ method: "DELETE", status: 405, body: { error: "method_not_allowed" } }),
      /no Allow/,
    ],
    [
      "a body where none is documented",
      keepalive({
        method: "DELETE",
        path: "/api/partners/games/x",
        status: 204,
        headers: counted,
        text: "x",
      }),
      /none is documented/,
    ],
  ];
  for (const [what, response, message] of wrong) {
    it(`fails for ${what}`, () => {
      expect(() => checkAgainstDocument(response)).to.throw(message);
    });
  }

  const bare = JSON.stringify({ error: "request_timeout", requestId: common["x-request-id"] });
  const unread = {
    ...common,
    "content-length": String(bare.length),
    connection: "close",
    "x-content-type-options": "nosniff",
    "content-security-policy": "default-src 'none'; frame-ancestors 'none'",
  };

  it("accepts the server's own error response to input that is no request, with all of its headers", () => {
    checkAgainstDocument(keepalive({ method: "", path: "", status: 408, headers: unread, text: bare }));
    for (const name of Object.keys(unread).filter((key) => key !== "api-version")) {
      const headers = { ...unread, [name]: "another" };
      expect(() => checkAgainstDocument(keepalive({ status: 408, headers, text: bare })), name).to.throw(
        `${name} is another`,
      );
    }
    expect(() => checkAgainstDocument(keepalive({ method: "", path: "", status: 200 }))).to.throw(
      /no error response of the server's own/,
    );
  });

  it("fails for a partner's error response without a message", () => {
    const errorResponse = {
      method: "GET",
      path: "/api/partners/games/unknown-game",
      status: 404,
      headers: new Headers(counted),
      text: '{"error":"not_found"}',
    };
    expect(() => checkAgainstDocument(errorResponse)).to.throw(/message/);
  });
});
