import { expect } from "chai";
import { createLogger } from "#runtime/program/createLogger.ts";

describe("createLogger", () => {
  let written: string;

  const aLogger = (secretKeys: string[] = []) =>
    createLogger({
      program: "operator",
      level: "info",
      bindings: { node: "node-a" },
      secretKeys,
      destination: { write: (line) => void (written += line) },
    });

  beforeEach(() => {
    written = "";
  });

  it("writes a line of JSON with the program, its bindings, the keys and the sentence", () => {
    aLogger().info({ gameSession: "gs-1" }, "A session ended.");
    const line = JSON.parse(written) as Record<string, unknown>;
    expect(line).to.include({
      level: "info",
      program: "operator",
      node: "node-a",
      gameSession: "gs-1",
      msg: "A session ended.",
    });
    expect(line.time).to.match(/^\d{4}-\d\d-\d\dT.*Z$/);
  });

  it("says how grave a line is by a word, in lines of its children too", () => {
    const log = createLogger({
      program: "operator",
      level: "debug",
      destination: { write: (line) => void (written += line) },
    });
    for (const level of ["debug", "info", "warn", "error", "fatal"] as const)
      log.child({ node: "node-a" })[level]({}, "It happened.");
    const levels = written
      .trim()
      .split("\n")
      .map((line) => (JSON.parse(line) as { level: unknown }).level);
    expect(levels).to.deep.equal(["debug", "info", "warn", "error", "fatal"]);
  });

  it("writes no secret, and no key that the program calls one", () => {
    aLogger(["code"]).info(
      {
        password: "hidden",
        request: { token: "hidden" },
        headers: { a: "hidden" },
        code: "hidden",
        key: "shown",
      },
      "A request came.",
    );
    expect(written).to.not.contain("hidden");
    expect(written).to.contain('"key":"shown"');
  });

  it("writes of an error its type, message, stack, code and causes, and nothing that a library hung on it", () => {
    const cause = Object.assign(new Error("The socket closed."), { code: "ECONNRESET", row: "hidden" });
    aLogger().warn({ err: new RangeError("It failed.", { cause }) }, "A request failed.");
    const { err } = JSON.parse(written) as { err: Record<string, unknown> };
    expect(err).to.include({ type: "RangeError", message: "It failed." }).and.to.have.property("stack");
    expect(err.cause).to.include({ message: "The socket closed.", errorCode: "ECONNRESET" });
    expect(written).to.not.contain("hidden");
  });
});
