import { execFileSync } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect } from "chai";
import { gameObservationsFile } from "#contracts/nodeLayout.ts";
import { temporaryFolder } from "#test/support/processes/temporaryFolder.ts";
import { compileProbe, compileShim } from "#test/support/session/compileC.ts";
import { supervisedLaunches } from "#test/support/session/supervisedLaunches.ts";
import { readRefusals } from "#streamer/verification/readRefusals.ts";

describe("what the shim observes of a supervised game", function () {
  this.timeout(60_000);
  const { launch } = supervisedLaunches();
  let folder: string;
  let shim: string;

  before(async () => {
    shim = await compileShim();
  });
  beforeEach(() => {
    folder = temporaryFolder("observed");
    execFileSync("chmod", ["777", folder]);
  });

  /** Runs a launcher, and returns what was noted, as `kind detail`. */
  async function observed(script: string, isObserving = true): Promise<string[]> {
    const path = join(folder, gameObservationsFile);
    const environment = { LD_PRELOAD: shim, HOME: folder, ...(isObserving && { JOYPOD_OBSERVATIONS: path }) };
    const game = await launch(`#!/bin/sh\n${script}\n`, { environment });
    expect(await game.exit(), game.output()).to.equal(0);
    return readRefusals(path).map(({ kind, detail }) => `${kind} ${detail}`);
  }
  const python = (code: string): string => `/usr/bin/python3 -c '${code}' || true`;

  it("notes files that may not be written, with their whole paths, and not those in HOME", async () => {
    const game = join(folder, "game");
    mkdirSync(game, { mode: 0o555 });
    expect(
      await observed(
        `cd ${game}; echo progress > save.dat; mkdir saves; echo kept > "$HOME/save.dat"; ${python('open("/etc/game.cfg", "w")')}`,
      ),
    ).to.deep.equal([`write ${game}/save.dat`, `write ${game}/saves`, "write /etc/game.cfg"]);
  });

  it("notes a library that a program loads and that is missing", async () => {
    expect(await observed(python('import ctypes; ctypes.CDLL("libfmod.so.13")'))).to.deep.equal([
      "library libfmod.so.13",
    ]);
  });

  it("notes sockets within the session, and addresses and names outside it", async () => {
    const connect = 'import socket; s = socket.socket(); s.connect_ex(("192.0.2.7", 443))';
    const resolve = 'import socket; socket.getaddrinfo("scores.example.invalid", 80)';
    const raw = "import socket; socket.socket(socket.AF_INET, socket.SOCK_RAW)";
    const found = await observed([connect, resolve, raw].map(python).join("\n"));
    expect(found).to.include.members([
      "loopback TCP",
      "connect 192.0.2.7:443",
      "resolve scores.example.invalid",
      "socket family 2, type 3, protocol 0",
    ]);
  });

  it("notes a program that bypasses it", async () => {
    const program = await compileProbe("staticProbe");
    expect(await observed(`${program} || true`)).to.deep.equal([`program ${program}`]);
  });

  it("notes each thing once, and nothing in other sessions", async () => {
    const write = "echo a > /etc/a; echo b > /etc/a; true";
    expect(await observed(write)).to.deep.equal(["write /etc/a"]);
    expect(await observed(`rm ${join(folder, gameObservationsFile)}; ${write}`, false)).to.deep.equal([]);
  });

  it("are read as a claim: lines of another shape are left out, and the rest is bounded", () => {
    const path = join(folder, gameObservationsFile);
    const lines = ["write\t/etc/\u001b[2J", "nonsense", "reboot\tnow", `write\t${"x".repeat(4_000)}`];
    writeFileSync(path, lines.join("\n"));
    const found = readRefusals(path);
    expect(found.map(({ kind }) => kind)).to.deep.equal(["write", "write"]);
    expect(found[0]?.detail).to.equal("/etc/?[2J");
    expect(found[1]?.detail).to.have.length(512);
    writeFileSync(path, Buffer.alloc(10_000_000));
    expect(readRefusals(path)).to.deep.equal([]);
  });
});
