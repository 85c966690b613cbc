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

  it("writes a JSON line with program, bindings, keys and sentence", () => {
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

  it("writes the level as a word, also in child loggers", () => {
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

  it("redacts secrets and additional secret keys", () => {
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

  it("writes only the type, message, stack, code and causes of an error", () => {
    const cause = Object.assign(new Error("The socket closed."), { code: "ECONNRESET", row: "hidden" });
    aLogger().warn({ err: new RangeError("It failed.", { cause }) }, "A request failed.");
    const { err } = JSON.parse(written) as { err: Record<string, unknown> };
    expect(err).to.include({ type: "RangeError", message: "It failed." }).and.to.have.property("stack");
    expect(err.cause).to.include({ message: "The socket closed.", errorCode: "ECONNRESET" });
    expect(written).to.not.contain("hidden");
  });
});
