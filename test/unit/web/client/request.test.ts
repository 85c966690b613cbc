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

  /** Has the browser's fetch get these responses, one after the other. */
  function serve(...responses: Response[]): void {
    globalThis.fetch = (_path, init) => {
      keys.push(new Headers(init?.headers).get("idempotency-key"));
      return Promise.resolve(responses.shift() ?? Response.error());
    };
  }

  /**
   * A response whose body begins and then fails in this way, as when the line breaks or the deadline passes.
   */
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

  it("throws that Joypod cannot be reached when the body of a response is cut off or too slow", async () => {
    for (const error of [new TypeError("network error"), new DOMException("too slow", "TimeoutError")]) {
      for (const status of [200, 404, 500]) {
        serve(cutOff(status, error));
        expect(await failure(), String(status)).to.include({ name: "ApiError", code: "unreachable" });
      }
    }
  });

  it("throws what the status alone says of an error response whose body is cut off", async () => {
    for (const [status, code] of [
      [401, "unauthorized"],
      [429, "rate_limited"],
      [503, "unavailable"],
    ] as const) {
      serve(cutOff(status));
      expect(await failure()).to.include({ name: "ApiError", code });
    }
  });

  it("throws that a whole body is unexpected when it is no JSON, and takes none where none is due", async () => {
    serve(new Response("<h1>Welcome</h1>"), new Response(null, { status: 204 }));
    expect(await failure()).to.include({ name: "ApiError", code: "unexpected" });
    await request(z.undefined(), "/api/game/saves/moonlight-drift/slot", { method: "DELETE" });
  });

  it("is sent again under the same key when the body of its response is cut off, if it must not happen twice", async () => {
    serve(cutOff(202), Response.json({ sessionId: "gs-1" }, { status: 202 }));
    expect(await requestOnce(Launch, "/api/game/launch", {})).to.deep.equal({ sessionId: "gs-1" });
    expect(keys).to.have.length(2);
    expect(new Set(keys).size).to.equal(1);
    expect(keys[0]).to.be.a("string");
  });
});

describe("repeatPauseMs", () => {
  const middle = (): number => 0.5;

  it("asks soon after the response was lost, and more and more rarely for as long as the API works on the request", () => {
    expect(
      [0, 2_000, 6_000, 20_000, 600_000].map((waitedMs) => repeatPauseMs(waitedMs, middle)),
    ).to.deep.equal([1_000, 1_000, 3_000, 10_000, 10_000]);
  });

  it("leaves a part of a minute's changes of saves to what the player does besides, however the random parts fall", () => {
    let repeats = 0;
    for (let waitedMs = 0; waitedMs < 60_000; waitedMs += repeatPauseMs(waitedMs, () => 0)) repeats += 1;
    expect(repeats).to.be.below((limits.save.changesPerMinute * 2) / 3);
  });
});
