import { expect } from "chai";
import { DomainError, notFound, unavailable } from "#api/errors.ts";
import { HttpError, payloadTooLarge, toHttpError } from "#api/http/httpError.ts";

describe("toHttpError", () => {
  it("keeps the content of a DomainError and adds the status of its code", () => {
    const extra = { sessionId: "gs-1" };
    const details = [{ path: "title", message: "must not be empty" }];
    const error = toHttpError(
      new DomainError("session_active", { message: "You are already playing.", extra, details }),
    );
    expect(error).to.deep.include({
      code: "session_active",
      status: 409,
      message: "You are already playing.",
      hasMessage: true,
      extra,
      details,
      headers: {},
    });
  });

  it("returns Retry-After in whole seconds, rounded up", () => {
    expect(toHttpError(unavailable("Try again.", undefined, 1.2)).headers).to.deep.equal({
      "Retry-After": "2",
    });
    expect(toHttpError(unavailable("Try again.", undefined, 0)).headers).to.deep.equal({
      "Retry-After": "1",
    });
  });

  it("closes the connection if the body is unread", () => {
    for (const error of [payloadTooLarge(10), toHttpError(new DomainError("request_timeout"))])
      expect(error.headers).to.deep.equal({ Connection: "close" });
    expect(toHttpError(notFound("This game does not exist.")).headers).to.deep.equal({});
  });

  it("maps a lost database connection to unavailable, and hides the message of an unexpected error", () => {
    expect(toHttpError(Object.assign(new Error("refused"), { code: "ECONNREFUSED" }))).to.include({
      code: "unavailable",
      status: 503,
    });
    // Prisma could not begin a transaction in time, and the database ended one for the sake of another.
    for (const code of ["P2028", "40P01"])
      expect(toHttpError(Object.assign(new Error("in vain"), { code })), code).to.include({
        code: "unavailable",
        status: 503,
      });
    const secret = new Error("password=secret");
    expect(toHttpError(secret)).to.include({
      code: "internal_error",
      status: 500,
      hasMessage: false,
      message: "internal_error",
      cause: secret,
    });
  });

  it("maps an error of the framework by its status", () => {
    expect(toHttpError(Object.assign(new Error("bad address"), { status: 400 })).code).to.equal(
      "invalid_request",
    );
    expect(toHttpError(Object.assign(new Error("no such thing"), { status: 404 })).code).to.equal(
      "not_found",
    );
    expect(toHttpError(Object.assign(new Error("broken"), { status: 500 })).code).to.equal("internal_error");
  });
});

describe("HttpError.with", () => {
  it("adds fields to the body and keeps everything else", () => {
    const error = new HttpError("locked", {
      message: "Try later.",
      retryAfterSeconds: 7,
      extra: { sessionId: "gs-1" },
    }).with({ url: "https://play.test/" });
    expect(error).to.deep.include({
      code: "locked",
      status: 429,
      message: "Try later.",
      headers: { "Retry-After": "7" },
      extra: { sessionId: "gs-1", url: "https://play.test/" },
    });
  });
});
