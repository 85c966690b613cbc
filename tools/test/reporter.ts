import { writeFileSync } from "node:fs";
import Mocha from "mocha";

/** For what tests leave to end by itself. */
const lingerMs = 30_000;

/** As many as the table of the whole run has at most. */
const slowestKept = 20;

/** More failures than this have one cause, and a longer message stands in full in the output of the tests. */
const failuresKept = 20;
const reasonLength = 2000;

/**
 * Mocha's ordinary output, and beside it a summary file (SUMMARY_FILE) that is right even when the run is
 * killed half-way: how many tests passed and failed, which failed and why, and which tests and hooks took
 * longest.
 */
export default class SummaryReporter extends Mocha.reporters.Spec {
  constructor(runner: Mocha.Runner, options: Mocha.MochaOptions) {
    super(runner, options);
    const file = process.env["SUMMARY_FILE"];
    if (file === undefined) throw new Error("SUMMARY_FILE must name the file for the summary.");
    const summary = {
      passed: 0,
      failed: 0,
      ended: false,
      failures: new Array<{ title: string; reason: string }>(),
      slowest: new Array<{ title: string; seconds: number }>(),
    };
    const write = (): void => writeFileSync(file, JSON.stringify(summary));
    write();
    const passed = new Set<Mocha.Runnable>();
    runner.on(Mocha.Runner.constants.EVENT_TEST_PASS, (test: Mocha.Test) => {
      passed.add(test);
      summary.passed = passed.size;
      write();
    });
    // A test that is skipped proves nothing, so it counts as failed; so does a failed hook.
    for (const event of [Mocha.Runner.constants.EVENT_TEST_FAIL, Mocha.Runner.constants.EVENT_TEST_PENDING]) {
      runner.on(event, (runnable: Mocha.Runnable, error?: Error) => {
        summary.failed++;
        // What is found out after a test fails it although it had passed.
        passed.delete(runnable);
        summary.passed = passed.size;
        const reason = (error?.message ?? "It was skipped.").slice(0, reasonLength);
        if (summary.failures.length < failuresKept)
          summary.failures.push({ title: runnable.fullTitle(), reason });
        write();
      });
    }
    // Servers are started in hooks, which take as long as many a test.
    for (const event of [Mocha.Runner.constants.EVENT_TEST_END, Mocha.Runner.constants.EVENT_HOOK_END]) {
      runner.on(event, (runnable: Mocha.Runnable) => {
        const seconds = Math.round((runnable.duration ?? 0) / 100) / 10;
        if (seconds < (summary.slowest.at(slowestKept - 1)?.seconds ?? 0.1)) return;
        summary.slowest = [...summary.slowest, { title: runnable.fullTitle(), seconds }]
          .sort((a, b) => b.seconds - a.seconds)
          .slice(0, slowestKept);
      });
    }
    runner.on(Mocha.Runner.constants.EVENT_RUN_END, () => {
      summary.ended = true;
      write();
      // Something that a test forgot to close would keep the process for ever; that is a failure, but none to
      // wait for.
      setTimeout(() => {
        console.error(
          `The tests have ended, but something they left open keeps the process: ${process.getActiveResourcesInfo().join(", ")}.`,
        );
        summary.ended = false;
        write();
        process.exit();
      }, lingerMs).unref();
    });
  }
}
