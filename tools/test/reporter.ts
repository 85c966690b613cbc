import { writeFileSync } from "node:fs";
import Mocha from "mocha";

/** For what tests leave to end by itself. */
const lingerMs = 30_000;

/** Mocha's ordinary output, and beside it a summary file (SUMMARY_FILE) that is right even when the run is killed half-way. */
export default class SummaryReporter extends Mocha.reporters.Spec {
  constructor(runner: Mocha.Runner, options: Mocha.MochaOptions) {
    super(runner, options);
    const file = process.env["SUMMARY_FILE"];
    if (file === undefined) throw new Error("SUMMARY_FILE must name the file for the summary.");
    const summary = { passed: 0, failed: 0, ended: false };
    const write = (): void => writeFileSync(file, JSON.stringify(summary));
    write();
    runner.on(Mocha.Runner.constants.EVENT_TEST_PASS, () => {
      summary.passed++;
      write();
    });
    // A test that is skipped proves nothing, so it counts as failed; so does a failed hook.
    for (const event of [Mocha.Runner.constants.EVENT_TEST_FAIL, Mocha.Runner.constants.EVENT_TEST_PENDING]) {
      runner.on(event, () => {
        summary.failed++;
        write();
      });
    }
    runner.on(Mocha.Runner.constants.EVENT_RUN_END, () => {
      summary.ended = true;
      write();
      // Something that a test forgot to close would keep the process for ever; that is a failure, but none to wait for.
      setTimeout(() => {
        console.error(`The tests have ended, but something they left open keeps the process: ${process.getActiveResourcesInfo().join(", ")}.`);
        summary.ended = false;
        write();
        process.exit();
      }, lingerMs).unref();
    });
  }
}
