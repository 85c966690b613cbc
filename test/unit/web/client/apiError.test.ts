import { expect } from "chai";
import { ErrorCode } from "#contracts/http/errors.ts";
import { ApiError, isApiError, describeError, formatWait } from "#web/client/apiError.ts";

describe("describeError", () => {
  it("returns a sentence for every error code, and the API's message for a conflict", () => {
    expect(describeError(new ApiError("conflict", "This game needs the internet."))).to.equal(
      "This game needs the internet.",
    );
    for (const code of [
      ...ErrorCode.options.filter((option) => option !== "conflict"),
      "unreachable",
      "unexpected",
    ] as const) {
      expect(describeError(new ApiError(code, "internal words")), code)
        .to.match(/^[A-Z].*\.$/)
        .and.not.include("internal");
    }
    expect(describeError(new TypeError("x is undefined"))).to.not.include("undefined");
  });

  it("includes the wait of a Retry-After", () => {
    expect(describeError(new ApiError("locked", "", { retryAfterSeconds: 300 }))).to.include("in 5 minutes");
    expect(describeError(new ApiError("no_servers", "", { retryAfterSeconds: 10 }))).to.include(
      "in 10 seconds",
    );
    expect(describeError(new ApiError("no_servers", "", { retryAfterSeconds: 10, lack: "memory" })))
      .to.include("enough memory")
      .and.include("in 10 seconds");
    expect([1, 119, 121].map(formatWait)).to.deep.equal(["in 1 second", "in 119 seconds", "in 3 minutes"]);
  });
});

describe("isApiError", () => {
  it("is true only for an ApiError with one of the codes", () => {
    const error: unknown = new ApiError("not_found", "");
    expect(isApiError(error, "locked", "not_found")).to.equal(true);
    expect(isApiError(error, "locked")).to.equal(false);
    expect(isApiError(new Error("x"))).to.equal(false);
  });
});
