import { execFileSync } from "node:child_process";
import { copyFileSync, writeFileSync } from "node:fs";
import { constants } from "node:os";
import { join } from "node:path";
import { expect } from "chai";
import { repositoryRoot } from "#test/support/processes/programs.ts";
import { temporaryFolder } from "#test/support/processes/temporaryFolder.ts";
import { compileProbe, compileShim } from "#test/support/session/compileC.ts";
import { supervisedLaunches } from "#test/support/session/supervisedLaunches.ts";

const { EAFNOSUPPORT } = constants.errno;

/** Serves HTTP on every address and watches a folder, as editors and engines in Node do. */
const nodeProgram = `
  const http = require("http"), net = require("net"), os = require("os");
  const watcher = require("fs").watch("/tmp");
  const server = http.createServer((request, response) => response.end(request.socket.remoteAddress));
  server.listen(0, async () => {
    const { port, family } = server.address();
    const answers = [];
    for (const host of ["127.0.0.1", "[::1]"])
      answers.push(await (await fetch("http://" + host + ":" + port)).text());
    const refused = await new Promise((resolve) => net.connect(port, "192.0.2.1").on("error", resolve));
    const taken = await new Promise((resolve) => http.createServer().on("error", resolve).listen(port));
    const interfaces = Object.keys(os.networkInterfaces());
    console.log(JSON.stringify({ family, answers, refused: refused.code, taken: taken.code, interfaces }));
    watcher.close();
    server.close();
    server.closeAllConnections();
  });`;

describe("the shim of a supervised game", function () {
  this.timeout(60_000);
  const { launch } = supervisedLaunches();
  let folder: string;
  let shim: string;

  before(async () => {
    shim = await compileShim();
    folder = temporaryFolder("shim");
    execFileSync("chmod", ["755", folder]);
    copyFileSync(join(repositoryRoot, "test/support/session/shimProbe.py"), join(folder, "probe.py"));
  });

  async function run(command: string): Promise<unknown> {
    const game = await launch(`#!/bin/sh\n${command}\n`, { environment: { LD_PRELOAD: shim } });
    expect(await game.exit(), game.output()).to.equal(0);
    return JSON.parse(/^[{["].*$/m.exec(game.output())?.[0] ?? game.output());
  }
  const python = (name: string) => run(`exec /usr/bin/python3 ${join(folder, "probe.py")} ${name}`);

  it("connects a client to a server of the session", async () => {
    expect(await python("tcp")).to.deep.equal({
      served: true,
      ephemeral: true,
      family: "AF_INET",
      client: "127.0.0.1",
      peer: true,
      noDelay: 1,
      second: "EADDRINUSE",
    });
  });

  it("lets a server on all addresses be reached by IPv4 and IPv6", async () => {
    expect(await python("wildcards")).to.deep.equal({
      found: [
        ["::ffff:127.0.0.1", true],
        ["::1", true],
      ],
      second: "EADDRINUSE",
    });
  });

  it("works in an event loop, also by the name localhost", async () => {
    expect(await python("event_loop")).to.deep.equal(["hello", "hello", "hello"]);
  });

  it("reports the end of a connection attempt to a socket that does not block", async () => {
    expect(await python("edges")).to.deep.equal(["EINPROGRESS", true, 0]);
  });

  it("delivers datagrams with the sender's address, also to a receiver that appears later", async () => {
    expect(await python("udp")).to.deep.equal({
      received: ["one", "two", "three"],
      senders: ["127.0.0.1", "::ffff:127.0.0.1", "127.0.0.1"],
      sameAddress: true,
      beforeThePeer: "ECONNREFUSED",
      intoNothing: 1,
    });
  });

  it("reaches nothing outside the session", async () => {
    expect(await python("refusals")).to.deep.equal({
      closed: "ECONNREFUSED",
      internet: "ENETUNREACH",
      datagram: "ENETUNREACH",
      bind: "EADDRNOTAVAIL",
      raw: "EAFNOSUPPORT",
    });
  });

  it("recognizes a socket that another program inherits", async () => {
    expect(await python("inherited")).to.equal("('AF_INET', '127.0.0.1', '127.0.0.1')");
  });

  it("leaves a game's Unix sockets alone, such as the one to the sound server", async () => {
    expect(await python("unix")).to.deep.equal(Array<boolean>(7).fill(true));
  });

  it("watches files without reporting changes, and reports that a watch was removed", async () => {
    expect(await python("watch")).to.deep.equal({
      watches: [1, 1, 2],
      missing: [-1, "ENOENT"],
      silent: "EAGAIN",
      removed: [0, true, 1, "0x8000"],
      again: [-1, "EINVAL"],
      byNumber: true,
    });
  });

  it("lets libudev wait for devices", async () => {
    expect(await python("udev")).to.deep.equal({ monitor: [0, 0, true], ready: [], device: null });
  });

  it("lets Node serve, connect and watch", async () => {
    copyFileSync(process.execPath, join(folder, "node"));
    writeFileSync(join(folder, "server.js"), nodeProgram);
    expect(await run(`exec ${join(folder, "node")} ${join(folder, "server.js")}`)).to.deep.equal({
      family: "IPv6",
      answers: ["::ffff:127.0.0.1", "::1"],
      refused: "ENETUNREACH",
      taken: "EADDRINUSE",
      interfaces: ["lo"],
    });
  });

  it("is named in the log when a program bypasses it", async () => {
    const program = await compileProbe("staticProbe");
    const game = await launch(`#!/bin/sh\n${program}\nexec ${program}\n`, {
      environment: { LD_PRELOAD: shim },
    });
    expect(await game.exit()).to.equal(EAFNOSUPPORT);
    const lines = game.output().match(/staticProbe is statically linked or written in Go.*EAFNOSUPPORT/g);
    expect(lines, game.output()).to.have.lengthOf(1);
  });
});
