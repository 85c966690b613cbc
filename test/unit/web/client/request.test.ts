import { expect } from "chai";
import { z } from "zod";
import { limits } from "#contracts/limits.ts";
import { repeatPauseMs, request, requestOnce } from "#web/client/request.ts";

describe("request", () => {
  const { fetch } = globalThis;
  const Launch = z.object({ sessionId: z.string() });
  let keys: (string | null)[];
  beforeEach(() => {
    keys = [];
  });
  afterEach(() => {
    globalThis.fetch = fetch;
  });

  /** Makes fetch return these responses in order. */
  function serve(...responses: Response[]): void {
    globalThis.fetch = (_path, init) => {
      keys.push(new Headers(init?.headers).get("idempotency-key"));
      return Promise.resolve(responses.shift() ?? Response.error());
    };
  }

  /** A response whose body starts and then fails with this error, as after a lost connection or a timeout. */
  function cutOff(status: number, error: unknown = new TypeError("network error")): Response {
    const pull = (controller: ReadableStreamDefaultController<Uint8Array>): void => controller.error(error);
    return new Response(
      new ReadableStream({
        start: (controller) => controller.enqueue(new TextEncoder().encode('{"sess')),
        pull,
      }),
      { status },
    );
  }

  const failure = (): Promise<unknown> =>
    request(Launch, "/api/game/launch", { json: {} }).catch((error: unknown) => error);

  it("throws unreachable if the body of a response is truncated or too slow", async () => {
    for (const error of [new TypeError("network error"), new DOMException("too slow", "TimeoutError")]) {
      for (const status of [200, 404, 500]) {
        serve(cutOff(status, error));
        expect(await failure(), String(status)).to.include({ name: "ApiError", code: "unreachable" });
      }
    }
  });

  it("throws the error for the status if the body of an error response is truncated", async () => {
    for (const [status, code] of [
      [401, "unauthorized"],
      [429, "rate_limited"],
      [503, "unavailable"],
    ] as const) {
      serve(cutOff(status));
      expect(await failure()).to.include({ name: "ApiError", code });
    }
  });

  it("throws unexpected if the body is not JSON, and accepts an empty body where none is expected", async () => {
    serve(new Response("<h1>Welcome</h1>"), new Response(null, { status: 204 }));
    expect(await failure()).to.include({ name: "ApiError", code: "unexpected" });
    await request(z.undefined(), "/api/game/saves/moonlight-drift/slot", { method: "DELETE" });
  });

  it("repeats an idempotent request with the same key if the body of the response is truncated", async () => {
    serve(cutOff(202), Response.json({ sessionId: "gs-1" }, { status: 202 }));
    expect(await requestOnce(Launch, "/api/game/launch", {})).to.deep.equal({ sessionId: "gs-1" });
    expect(keys).to.have.length(2);
    expect(new Set(keys).size).to.equal(1);
    expect(keys[0]).to.be.a("string");
  });
});

describe("repeatPauseMs", () => {
  const middle = (): number => 0.5;

  it("is short after a lost response, and grows while the API works on the request", () => {
    expect(
      [0, 2_000, 6_000, 20_000, 600_000].map((waitedMs) => repeatPauseMs(waitedMs, middle)),
    ).to.deep.equal([1_000, 1_000, 3_000, 10_000, 10_000]);
  });

  it("leaves room in the rate limit for the player's other changes, whatever the jitter", () => {
    let repeats = 0;
    for (let waitedMs = 0; waitedMs < 60_000; waitedMs += repeatPauseMs(waitedMs, () => 0)) repeats += 1;
    expect(repeats).to.be.below((limits.save.changesPerMinute * 2) / 3);
  });
});
