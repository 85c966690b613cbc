import { expect } from "chai";
import { limits } from "#contracts/limits.ts";
import { readConfig } from "#packer/config.ts";

const enough = { SAVE_VOLUME: "/session", SPOOL_DIR: "/spool", SESSION_UID: "u" };

describe("the packer's configuration", () => {
  it("requires two folders and a uid, and spools within the promised time by default", () => {
    expect(readConfig(enough)).to.deep.equal({
      saveVolume: "/session",
      spool: "/spool",
      uid: "u",
      output: "/run/game/output.log",
      observations: undefined,
      spoolMs: limits.save.spoolSeconds * 1000,
    });
    expect(readConfig({ ...enough, SPOOL_SECONDS: "3" }).spoolMs).to.equal(3000);
  });

  it("throws one error that names every invalid variable", () => {
    expect(() =>
      readConfig({ SAVE_VOLUME: "session", SESSION_UID: "x".repeat(65), SPOOL_SECONDS: "0" }),
    ).to.throw(/SAVE_VOLUME must be an absolute path\nSPOOL_DIR .*\nSESSION_UID .*\nSPOOL_SECONDS /);
  });
});
