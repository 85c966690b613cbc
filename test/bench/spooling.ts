import { spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import { readdirSync, writeFileSync } from "node:fs";
import { availableParallelism, setPriority } from "node:os";
import { join } from "node:path";
import { limits } from "#contracts/limits.ts";
import { eventually } from "#test/support/clocks/eventually.ts";
import { createPackerFixture } from "#test/support/fixtures/packerFixture.ts";
import { belowRow, type BenchRow } from "./row.ts";

const mebibyte = 2 ** 20;
const rounds = 3;
/** The niceness that the streamer gives its packer. */
const niceness = 5;

/**
 * Measures how long an incompressible save of 32 MiB exists only in memory while a busy loop runs on every
 * other processor. Returns the slowest of several changes.
 */
export async function measureSpooling(): Promise<BenchRow> {
  const fixture = createPackerFixture({ volumeMb: 128, spoolSeconds: limits.save.spoolSeconds });
  const busy = Array.from({ length: Math.max(1, availableParallelism() - 1) }, () =>
    spawn(process.execPath, ["-e", "for (;;);"]),
  );
  try {
    const run = await fixture.play();
    for (const thread of readdirSync(`/proc/${run.process.pid}/task`)) setPriority(Number(thread), niceness);
    const tookMs: number[] = [];
    for (let round = 1; round <= rounds; round++) {
      writeFileSync(join(fixture.volume, "random"), randomBytes(32 * mebibyte));
      const changedAt = performance.now();
      fixture.game("cp ../random world");
      await eventually(
        () =>
          fixture.manifest()?.save?.sequence === round &&
          fixture.manifest()?.save?.unpackedBytes === 32 * mebibyte,
        { timeoutMs: 120_000, intervalMs: 20, what: "the changed save to be spooled" },
      );
      tookMs.push(performance.now() - changedAt);
    }
    return belowRow(
      "changed save of 32 MiB → on the node's disk, slowest of 3",
      Math.max(...tookMs),
      limits.save.spoolSeconds * 1000,
    );
  } finally {
    for (const child of busy) child.kill("SIGKILL");
    fixture.remove();
  }
}
