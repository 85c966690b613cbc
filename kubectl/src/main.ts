import { CommanderError } from "commander";
import { systemClock } from "#runtime/scheduling/clock.ts";
import { exitCodes, toAdminError } from "./adminError.ts";
import { createProgram } from "./program.ts";

const endWithinMs = 300;
const interruption = new AbortController();
process.once("SIGINT", () => {
  interruption.abort();
  // Most commands need no graceful stop, so pending work is abandoned.
  setTimeout(() => process.exit(exitCodes.interrupted), endWithinMs).unref();
});
// A reader of only the first lines (`| head`) closes the pipe.
process.stdout.on("error", () => process.exit(0));

process.exitCode = await run();

async function run(): Promise<number> {
  let exitCode = 0;
  try {
    await createProgram({
      clock: systemClock,
      print: (text) => process.stdout.write(`${text}\n`),
      streams: process,
      exit: (code) => (exitCode = code),
      signal: interruption.signal,
      kubeconfigVariable: process.env["KUBECONFIG"],
      proxyVariables: process.env,
    }).parseAsync();
    // An interrupted watch ends without an error.
    return interruption.signal.aborted ? exitCodes.interrupted : exitCode;
  } catch (thrown) {
    if (thrown instanceof CommanderError) return thrown.exitCode === 0 ? 0 : exitCodes.usage;
    const { message, exitCode } = toAdminError(thrown);
    process.stderr.write(`${message}\n`);
    return exitCode;
  }
}
