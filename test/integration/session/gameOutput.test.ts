import { readFileSync } from "node:fs";
import { mkdir } from "node:fs/promises";
import { execFileSync } from "node:child_process";
import { join } from "node:path";
import { expect } from "chai";
import { gameOutputBytes, gameOutputFile } from "#contracts/nodeLayout.ts";
import { eventually } from "#test/support/clocks/eventually.ts";
import type { SupervisedGame } from "#test/support/session/supervisedGame.ts";
import { supervisedLaunches } from "#test/support/session/supervisedLaunches.ts";

const megabyte = 1024 * 1024;

describe("the output of a supervised game", function () {
  this.timeout(60_000);
  const { launch } = supervisedLaunches();

  const play = (script: string, environment: Record<string, string> = {}): Promise<SupervisedGame> =>
    launch(`#!/bin/sh\n${script}\n`, { environment });

  it("reaches the log completely, from both streams", async () => {
    const { exit, output } = await play(
      "echo out; echo err >&2; i=0; while [ $i -lt 500 ]; do echo line $i; i=$((i+1)); done; printf last; exit 4",
    );
    expect(await exit()).to.equal(4);
    expect(output())
      .to.match(/^out\nerr\nline 0\n/)
      .and.to.contain("line 499\nlast");
  });

  it("is cut when it is too much, without blocking the game", async () => {
    const startedAt = performance.now();
    const { exit, output, account } = await play("head -c 100000000 /dev/zero | tr '\\0' x");
    expect(await exit()).to.equal(0);
    const seconds = (performance.now() - startedAt) / 1000;
    expect(output().length).to.be.within(megabyte / 2, megabyte + 65_536 * (seconds + 1));
    const [, dropped] = /prints too much: (\d+) bytes were dropped/.exec(output()) ?? [];
    expect(Number(dropped)).to.be.greaterThan(90_000_000);
    expect(await account()).to.include({ state: "ended", reason: "exited", exitCode: 0 });
  });

  it("is kept at its end, next to the termination report, however much it was", async () => {
    const { exit, account, reports } = await play(
      "i=0; while [ $i -lt 20000 ]; do echo line $i; i=$((i+1)); done; head -c 3000000 /dev/zero | tr '\\0' x; echo; echo last; exit 3",
    );
    expect(await exit()).to.equal(3);
    expect(await account()).to.include({ state: "ended", exitCode: 3 });
    const kept = readFileSync(join(reports, gameOutputFile), "latin1");
    expect(kept).to.have.length(gameOutputBytes);
    expect(kept).to.match(/^x{60000,}\nlast\nsupervise: the game prints too much: .*\n$/);
  });

  it("is kept while the game runs, from its start if it is short", async () => {
    const { reports } = await play("echo one; echo two >&2; exec sleep 60");
    const kept = (): string => {
      try {
        return readFileSync(join(reports, gameOutputFile), "utf8");
      } catch {
        return ""; // Not written yet.
      }
    };
    await eventually(() => kept() === "one\ntwo\n", { what: "the kept output" });
  });

  it("is limited by lines as well as by bytes", async () => {
    const { exit, output } = await play("head -c 10000000 /dev/zero | tr '\\0' '\\n'");
    expect(await exit()).to.equal(0);
    expect(output().split("\n").length).to.be.lessThan(megabyte / 65 + 20_000);
  });

  it("does not delay the game's stop or its termination report while it floods", async () => {
    const { exit, signal, account } = await play("trap '' TERM; yes", { GAME_GRACE_SECONDS: "1" });
    await eventually(async () => ((await account())?.wallSeconds ?? 0) > 2, { what: "a second account" });
    signal("SIGTERM");
    expect(await exit()).to.equal(0);
    expect(await account()).to.include({ state: "ended", reason: "stopped-by-kill" });
  });

  it("does not keep the supervisor running when a process outside the group still holds it", async () => {
    const { exit, output } = await play(
      "setsid sh -c 'for i in $(seq 100); do echo still here; sleep 1; done' & sleep 1; echo bye",
    );
    expect(await exit()).to.equal(0);
    expect(output()).to.contain("bye");
  });

  it("is unaffected by a FIFO or link at the path of the termination report", async () => {
    const { exit, signal, account, reports } = await play("echo up; exec sleep 60");
    await eventually(async () => (await account())?.state === "running", { what: "the first account" });
    execFileSync("sh", ["-c", "rm -f game.json.new; mkfifo game.json.new", "sh"], { cwd: reports });
    await eventually(async () => ((await account())?.wallSeconds ?? 0) > 2, {
      what: "an account in spite of the FIFO",
    });
    execFileSync("sh", ["-c", "ln -sf /dev/zero game.json.new; ln -sf /dev/zero game.json"], {
      cwd: reports,
    });
    await mkdir(join(reports, "other"));
    signal("SIGTERM");
    expect(await exit()).to.equal(0);
    expect(await account()).to.include({ state: "ended", reason: "stopped" });
  });

  it("ends even if a directory is at the path of the termination report", async () => {
    const { exit, signal, output, reports } = await play(
      "rm -f $GAME_REPORT_DIR/*; mkdir -p $GAME_REPORT_DIR/game.json/a $GAME_REPORT_DIR/game.json.new/a; echo made; exec sleep 60",
    );
    await eventually(() => output().includes("made"), { what: `the directories in ${reports}` });
    signal("SIGTERM");
    expect(await exit()).to.equal(0);
    expect(output()).to.contain("game ended");
  });

  it("ends with all processes reaped even if the game keeps starting new ones", async () => {
    const { exit, signal, account } = await play("while :; do (sleep 0 &) ; done", {
      GAME_GRACE_SECONDS: "1",
    });
    await eventually(async () => ((await account())?.wallSeconds ?? 0) > 2, { what: "a second account" });
    signal("SIGTERM");
    expect(await exit()).to.equal(0);
    expect(await account()).to.include({ state: "ended", reason: "stopped" });
  });
});
