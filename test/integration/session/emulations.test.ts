import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect } from "chai";
import { sessionUserId } from "#contracts/nodeLayout.ts";
import { eventually } from "#test/support/clocks/eventually.ts";
import { compileHostile, compileShim } from "#test/support/session/compileC.ts";
import { supervisedLaunches } from "#test/support/session/supervisedLaunches.ts";

describe("a hostile game with the shim", function () {
  this.timeout(120_000);
  const { launch } = supervisedLaunches();
  // In memory as in a pod: a busy disk takes many milliseconds to create a file.
  const own = mkdtempSync("/dev/shm/joypod-hostile-");
  let results: Map<string, string>;

  before(async () => {
    const [shim, hostile] = await Promise.all([compileShim(), compileHostile()]);
    writeFileSync(join(own, "begin"), "");
    execFileSync("chown", [`${sessionUserId}`, own]);
    const game = await launch(`#!/bin/sh\nulimit -n 1024\nexec ${hostile} emulations\n`, {
      environment: { LD_PRELOAD: shim, XDG_RUNTIME_DIR: own, JOYPOD_LOOPBACK: join(own, "loopback") },
    });
    await eventually(() => game.output().includes("act emulations: done"), {
      timeoutMs: 60_000,
      what: "the end of the act",
    });
    results = new Map(
      [...game.output().matchAll(/^act emulated ([^:]+): (.*)$/gm)].map(([, name = "", result = ""]) => [
        name,
        result,
      ]),
    );
  });

  after(() => rmSync(own, { recursive: true }));

  it("reaches nothing but its own programs", () => {
    const reached = [...results].filter(([name]) => /^(tcp|udp) /.test(name));
    expect(reached).to.have.lengthOf(6);
    for (const [name, result] of reached) expect(result, name).to.equal("ENETUNREACH");
    expect(results.get("streamer"), "the streamer's port on the pod's loopback").to.equal("ECONNREFUSED");
  });

  it("gets only Unix sockets, and no more from the kernel than without the shim", () => {
    for (const name of ["stream is", "datagram is", "events is", "watch is"])
      expect(results.get(name), name).to.equal("unix");
    for (const name of ["raw", "routes"]) expect(results.get(name), name).to.equal("EAFNOSUPPORT");
    expect(results.get("event filter")).to.equal("EPERM");
    expect(results.get("event")).to.equal("EINVAL");
  });

  it("is refused more watches, ports and connections with an error, and continues", () => {
    expect(results.get("watch instances")).to.equal("128, EMFILE");
    expect(results.get("watches")).to.equal("8192, ENOSPC");
    expect(results.get("ports")).to.match(/^(9|10)\d\d, E(MFILE|NOBUFS)$/);
    expect(results.get("ports again")).to.equal("allowed");
    expect(results.get("backlog")).to.equal("129, ETIMEDOUT");
  });

  it("does not grow with what it sends and watches", () => {
    const [, kept] = /^20000 sent, (\d+) kept$/.exec(results.get("flood") ?? "") ?? [];
    expect(Number(kept)).to.be.within(1, 600);
    expect(Number.parseInt(results.get("memory") ?? "", 10), "KiB").to.be.within(1, 20_000);
  });
});
