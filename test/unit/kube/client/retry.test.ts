import { expect } from "chai";
import { backOffMs } from "#runtime/scheduling/backOff.ts";
import { KubeError } from "#kube/api/errors.ts";
import { parseRetryAfter, retryDelayMs } from "#kube/client/responseError.ts";
import type { KubeRequest } from "#kube/client/request.ts";

const get: KubeRequest = { method: "GET", path: "/" };
const post: KubeRequest = { method: "POST", path: "/" };
const apply: KubeRequest = { method: "PATCH", path: "/", contentType: "application/apply-patch+yaml" };
const jsonPatch: KubeRequest = { method: "PATCH", path: "/", contentType: "application/json-patch+json" };
const answered = (status: number, retryAfterSeconds?: number): KubeError =>
  new KubeError({ status, reason: "x", message: "x", retryAfterSeconds });
const unreachable = new KubeError({ reason: "Unreachable", message: "x" });
const delay = (request: KubeRequest, error: unknown, attempt = 1): number | undefined =>
  retryDelayMs(request, error, attempt, () => 0.5);

describe("retryDelayMs", () => {
  it("retries any verb after 429", () => {
    for (const request of [get, post, apply, jsonPatch]) expect(delay(request, answered(429))).to.equal(200);
  });

  it("retries only idempotent requests when the server failed or did not respond", () => {
    for (const error of [answered(500), answered(503), unreachable]) {
      expect([get, apply].map((request) => delay(request, error))).to.deep.equal([200, 200]);
      expect([post, jsonPatch].map((request) => delay(request, error))).to.deep.equal([undefined, undefined]);
    }
  });

  it("does not retry permanent errors", () => {
    for (const status of [400, 401, 403, 404, 409, 410, 422, 501])
      expect(delay(get, answered(status)), String(status)).to.equal(undefined);
    expect(delay(get, new Error("aborted"))).to.equal(undefined);
  });

  it("doubles the delay up to 10 s and waits at least as long as the server requested", () => {
    expect([1, 2, 3, 10].map((attempt) => delay(get, answered(503), attempt))).to.deep.equal([
      200, 400, 800, 10_000,
    ]);
    expect(delay(get, answered(503, 3))).to.equal(3200);
  });
});

describe("parseRetryAfter", () => {
  it("parses seconds and dates only", () => {
    const now = new Date("2030-01-01T00:00:00Z");
    expect(
      ["7", "Tue, 01 Jan 2030 00:00:30 GMT", "Mon, 31 Dec 2029 00:00:00 GMT", "soon", undefined].map(
        (header) => parseRetryAfter(header, now),
      ),
    ).to.deep.equal([7, 30, 0, undefined, undefined]);
  });
});

describe("backOffMs", () => {
  it("stays within its limits for any number of failures", () => {
    for (const failures of [0, 1, 5, 60, 5000]) {
      const wait = backOffMs({ baseMs: 1600, maxMs: 30_000 }, failures, Math.random);
      expect(wait, `${failures} failures`).to.be.within(800, 30_000);
    }
  });
});
