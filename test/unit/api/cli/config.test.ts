import { expect } from "chai";
import { readCliConfig } from "#api/cli/config.ts";

describe("readCliConfig", () => {
  it("requires only the database", () => {
    const url = "postgres://u:p@db:5432/joypod";
    expect(readCliConfig({ DATABASE_URL: url })).to.deep.equal({
      postgres: { url, poolSize: 2, timeoutMs: 10_000 },
      pepper: undefined,
      bcryptCost: 12,
      redis: undefined,
      tokenLifetimeSeconds: 2_592_000,
    });
    expect(() => readCliConfig({})).to.throw("DATABASE_URL");
  });
});
