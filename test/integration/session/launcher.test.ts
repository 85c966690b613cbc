import { expect } from "chai";
import { compileProbe } from "#test/support/session/compileC.ts";
import { supervisedLaunches } from "#test/support/session/supervisedLaunches.ts";

describe("the launcher of a supervised game", function () {
  this.timeout(60_000);
  const { launch, supervise } = supervisedLaunches();

  it("is run by sh if it has no interpreter line", async () => {
    const { exit, output } = await launch("echo played from $0\nexit 4\n");
    expect(await exit()).to.equal(4);
    expect(output()).to.match(/^played from .*play[.]sh\n/);
  });

  it("is not run without its executable bit, and the log says how to set it", async () => {
    const { exit, output, account } = await launch("#!/bin/sh\nexit 0\n", { mode: 0o644 });
    expect(await exit()).to.equal(126);
    expect(output()).to.match(
      /cannot start .*play[.]sh: it is not executable: run chmod [+]x on it and pack the game again\n/,
    );
    expect(await account()).to.include({ state: "ended", reason: "exited", exitCode: 126 });
  });

  it("is not run if its interpreter is missing, and the log points to its first line", async () => {
    const { exit, output } = await launch("#!/bin/sh\r\nexit 0\r\n");
    expect(await exit()).to.equal(127);
    expect(output()).to.match(
      /cannot start .*play[.]sh: the interpreter in its first line [(]#![)], or its loader, is not in the image/,
    );
  });

  it("is not run if it is missing", async () => {
    const { exit, output } = await supervise("/nowhere/play.sh");
    expect(await exit()).to.equal(127);
    expect(output()).to.contain("cannot start /nowhere/play.sh: No such file or directory");
  });

  it("is not run after a stop that arrived before the supervisor waited for one", async () => {
    const { exit, output, account } = await launch("#!/bin/sh\necho played\n", {
      runner: await compileProbe("pendingStop"),
    });
    expect(await exit()).to.equal(0);
    expect(output()).not.to.contain("played\n");
    expect(await account()).to.include({ state: "ended", reason: "stopped", exitCode: 0 });
  });
});
