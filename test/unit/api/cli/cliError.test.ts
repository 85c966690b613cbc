import { expect } from "chai";
import { exitCodes, toCliError } from "#api/cli/cliError.ts";
import { DomainError, invalidRequest, notFound, unavailable } from "#api/errors.ts";

describe("toCliError", () => {
  it("maps each error of a command to its code and exit code", () => {
    const exists = toCliError(
      new DomainError("conflict", { message: "There is a user already.", extra: { id: "u1" } }),
    );
    expect(exists).to.deep.equal({
      error: "exists",
      message: "There is a user already.",
      details: { id: "u1" },
    });
    const inUse = toCliError(new DomainError("session_active", { message: "A session has not ended." }));
    const errors = [toCliError(invalidRequest("Wrong.")), exists, toCliError(notFound("None.")), inUse];
    expect(errors.map(({ error }) => [error, exitCodes[error]])).to.deep.equal([
      ["invalid", 2],
      ["exists", 3],
      ["not_found", 4],
      ["in_use", 5],
    ]);
  });

  it("maps every other error to failed, with its message", () => {
    for (const error of [
      unavailable("The database is not there."),
      new Error("The database is not there."),
      "The database is not there.",
    ]) {
      expect(toCliError(error)).to.deep.equal({
        error: "failed",
        message: "The database is not there.",
        details: {},
      });
    }
    expect(exitCodes.failed).to.equal(1);
  });

  it("explains how to fix a store, before the store's or the connection's message", () => {
    const refused = Object.assign(new Error('password authentication failed for user "joypod"'), {
      code: "28P01",
    });
    expect(toCliError(refused)).to.deep.include({
      error: "failed",
      message:
        'The database refuses the user or the password in DATABASE_URL: correct them. (password authentication failed for user "joypod")',
    });
    const untrusted = Object.assign(new Error("self-signed certificate"), {
      code: "DEPTH_ZERO_SELF_SIGNED_CERT",
    });
    expect(toCliError(untrusted).message).to.match(
      /^The database has a certificate .* \(self-signed certificate\)$/,
    );
    expect(
      toCliError(unavailable("The archive store is not available just now.", untrusted)).message,
    ).to.match(/^The object store has a certificate .* \(The archive store is not available/);
  });
});
