import { expect } from "chai";
import { aUser } from "#test/factories/catalog.ts";
import { TestApi } from "#test/support/http/api.ts";
import { expectErrorResponse, type ApiClient } from "#test/support/http/apiClient.ts";
import { exchange, RawClient } from "#test/support/http/rawHttp.ts";

const jsonBytes = 64 * 1024;
const formBytes = 8 * 1024;

describe("request bodies", () => {
  let api: TestApi;
  let player: ApiClient;
  let cookie: string;

  before(async () => {
    api = await TestApi.start({ env: { CATALOG_REQUESTS_PER_MINUTE: "1000000", BODY_TIMEOUT_MS: "800" } });
    player = api.as(await aUser(api.deps));
    await player.get("/api/games");
    cookie = `Cookie: auth.session-token=${player.cookies.get("auth.session-token")}\r\n`;
  });
  after(() => api.stop());

  const json = { "content-type": "application/json" };
  /** JSON of exactly so many bytes, which names a game that is not there. */
  const sized = (bytes: number): string => {
    const start = '{"gameId":"none"';
    return `${start}${" ".repeat(bytes - start.length - 1)}}`;
  };

  it("may have the maximum size, and not a byte more", async () => {
    expectErrorResponse(await player.post("/api/favorites", sized(jsonBytes), json), 404, "not_found");
    const over = await player.post("/api/favorites", sized(jsonBytes + 1), json);
    expectErrorResponse(over, 413, "payload_too_large");
    expect(over.headers.get("connection")).to.equal("close");
    const form = (bytes: number): string => `json=true&x=${"y".repeat(bytes - "json=true&x=".length)}`;
    const formType = { "content-type": "application/x-www-form-urlencoded" };
    expectErrorResponse(await player.post("/api/auth/signout", form(formBytes), formType), 403, "csrf");
    expectErrorResponse(
      await player.post("/api/auth/signout", form(formBytes + 1), formType),
      413,
      "payload_too_large",
    );
  });

  it("are counted if their length is not announced", async () => {
    const chunked = (text: string): ReadableStream => new Blob([text]).stream();
    expectErrorResponse(
      await player.post("/api/favorites", chunked(sized(jsonBytes)), json),
      404,
      "not_found",
    );
    expectErrorResponse(
      await player.post("/api/favorites", chunked(sized(jsonBytes + 1)), json),
      413,
      "payload_too_large",
    );
  });

  it("may be nested ten levels deep, and no deeper", async () => {
    const nested = (depth: number): string => `{"gameId":${"[".repeat(depth - 1)}${"]".repeat(depth - 1)}}`;
    expect((await player.post("/api/favorites", nested(10), json)).text).to.not.contain("nested");
    for (const depth of [11, 20_000]) {
      const response = await player.post("/api/favorites", nested(depth), json);
      expectErrorResponse(response, 400, "invalid_request");
      expect(response.text).to.contain("more than 10 levels");
    }
  });

  const head = (headers: string): string =>
    `POST /api/favorites HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n${cookie}${headers}\r\n`;

  it("end with 408 if they are shorter than announced", async () => {
    const response = await exchange(api.url, `${head("Content-Length: 100\r\n")}{"gameId":"none"}`);
    expect(response).to.match(/^HTTP\/1\.1 408 [^]*Connection: close[^]*"request_timeout"/);
  });

  it("change nothing if they are cut off", async () => {
    const client = await RawClient.connect(api.url);
    client.write(`${head("Content-Length: 100\r\n")}{"gameId":`);
    client.destroy();
    await client.untilClosed();
    expect((await player.get("/api/games")).status).to.equal(200);
    expect(api.logLines.filter((line) => line.includes('"level":"error"'))).to.be.empty;
  });

  it("end the connection if they are longer than announced", async () => {
    const response = await exchange(
      api.url,
      `${head("Content-Length: 17\r\n")}{"gameId":"none"}GARBAGE\r\n\r\n`,
    );
    expect(response).to.match(/HTTP\/1\.1 400 [^]*Connection: close/);
  });

  const body = '{"gameId":"none"}';
  const smuggled: Record<string, () => string> = {
    "a length and chunks": () => `${head("Content-Length: 17\r\nTransfer-Encoding: chunked\r\n")}0\r\n\r\n`,
    "chunks and a length": () => `${head("Transfer-Encoding: chunked\r\nContent-Length: 17\r\n")}0\r\n\r\n`,
    "two lengths": () => `${head("Content-Length: 17\r\nContent-Length: 18\r\n")}${body}`,
    "the same length twice": () => `${head("Content-Length: 17\r\nContent-Length: 17\r\n")}${body}`,
    "a length with a sign": () => `${head("Content-Length: +17\r\n")}${body}`,
    "a list of lengths": () => `${head("Content-Length: 17, 17\r\n")}${body}`,
    "an odd coding": () => `${head("Transfer-Encoding: xchunked\r\n")}0\r\n\r\n`,
    "chunked that is not last": () => `${head("Transfer-Encoding: chunked, identity\r\n")}0\r\n\r\n`,
    "a chunk size that is none": () => `${head("Transfer-Encoding: chunked\r\n")}zz\r\n\r\n`,
    "a bare line feed": () => `GET /healthz HTTP/1.1\nHost: x\n\n`,
    "a bare line feed between headers": () => `GET /healthz HTTP/1.1\r\nHost: x\nX-A: b\r\n\r\n`,
    "a bare carriage return": () => `GET /healthz HTTP/1.1\r\nHost: x\r\nX-A: b\rX-C: d\r\n\r\n`,
    "a folded header": () => `GET /healthz HTTP/1.1\r\nHost: x\r\nX-A: b\r\n c\r\n\r\n`,
    "a space before the colon": () => `GET /healthz HTTP/1.1\r\nHost : x\r\n\r\n`,
    "no host": () => `GET /healthz HTTP/1.1\r\n\r\n`,
    "a NUL in a header": () => `GET /healthz HTTP/1.1\r\nHost: x\r\nX-A: b\u0000c\r\n\r\n`,
  };
  for (const [what, text] of Object.entries(smuggled)) {
    it(`are refused, and the connection closed, for ${what}`, async () => {
      const response = await exchange(api.url, text());
      expect(response).to.match(/^HTTP\/1\.1 400 [^]*Connection: close/i);
      expect(response.match(/HTTP\/1\.1 \d/g)).to.have.length(1);
    });
  }
});
