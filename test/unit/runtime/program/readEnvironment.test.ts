import { expect } from "chai";
import { z } from "zod";
import { readEnvironment } from "#runtime/program/readEnvironment.ts";

describe("readEnvironment", () => {
  const Variables = z.object({ PORT: z.coerce.number().int().default(80), SECRET: z.string().min(8) });

  it("returns the parsed variables", () => {
    expect(readEnvironment(Variables, { SECRET: "long enough", OTHER: "x" }, "API")).to.deep.equal({
      PORT: 80,
      SECRET: "long enough",
    });
  });

  it("names the program and every invalid variable, but no values", () => {
    expect(() => readEnvironment(Variables, { PORT: "canary", SECRET: "canary" }, "API"))
      .to.throw(/^The configuration of the API is invalid\.\n[^]*PORT[^]*SECRET/)
      .with.property("message")
      .that.does.not.contain("canary");
  });
});
