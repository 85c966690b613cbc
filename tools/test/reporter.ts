import { writeFileSync } from "node:fs";
import Mocha from "mocha";

/** Grace period for resources that tests leave open. */
const lingerMs = 30_000;

/** The table of the whole run shows at most this many. */
const slowestKept = 20;

/** Bounds of the summary. The test output has every failure in full. */
const failuresKept = 20;
const reasonLength = 2000;

/**
 * Mocha's spec reporter, which also writes two files: SUMMARY_FILE with the counts, the failures and the
 * slowest tests and hooks, kept up to date in case the run is killed, and JUNIT_FILE with a JUnit report.
 */
export default class SummaryReporter extends Mocha.reporters.Spec {
  readonly #junit: Mocha.reporters.XUnit;

  constructor(runner: Mocha.Runner, options: Mocha.MochaOptions) {
    super(runner, options);
    const file = process.env["SUMMARY_FILE"];
    const junitFile = process.env["JUNIT_FILE"];
    if (file === undefined || junitFile === undefined)
      throw new Error("SUMMARY_FILE and JUNIT_FILE must name the files to write.");
    this.#junit = new Mocha.reporters.XUnit(runner, { reporterOptions: { output: junitFile } });
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
    // A skipped test proves nothing, so it counts as failed. So does a failed hook.
    for (const event of [Mocha.Runner.constants.EVENT_TEST_FAIL, Mocha.Runner.constants.EVENT_TEST_PENDING]) {
      runner.on(event, (runnable: Mocha.Runnable, error?: Error) => {
        summary.failed++;
        // A test that passed can still fail afterwards, for example by an uncaught error.
        passed.delete(runnable);
        summary.passed = passed.size;
        const reason = (error?.message ?? "It was skipped.").slice(0, reasonLength);
        if (summary.failures.length < failuresKept)
          summary.failures.push({ title: runnable.fullTitle(), reason });
        write();
      });
    }
    // Hooks start servers, which can take longer than a test.
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
      // A resource that a test left open keeps the process alive. That is a failure, but do not wait for it.
      setTimeout(() => {
        console.error(
          `The tests have finished, but open resources keep the process alive: ${process.getActiveResourcesInfo().join(", ")}.`,
        );
        summary.ended = false;
        write();
        process.exit();
      }, lingerMs).unref();
    });
  }

  /** Called by mocha at the end of the run. */
  override done(failures: number, exit: (failures: number) => void): void {
    this.#junit.done(failures, exit);
  }
}
