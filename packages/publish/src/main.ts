import { CommanderError } from "commander";
import { messageOf } from "#runtime/errors.ts";
import { systemClock } from "#runtime/scheduling/clock.ts";
import { createProgram } from "./program.ts";
import { exitCodes, PublishError } from "./publishError.ts";

declare const joypodVersion: string | undefined;

const interruption = new AbortController();
for (const name of ["SIGINT", "SIGTERM"]) process.once(name, () => interruption.abort());
// A reader of only the first lines (`| head`) closes the pipe.
process.stdout.on("error", () => process.exit(0));

process.exitCode = await run();

async function run(): Promise<number> {
  const version = typeof joypodVersion === "string" ? joypodVersion : "development";
  try {
    await createProgram(
      {
        variables: process.env,
        platform: process.platform,
        clock: systemClock,
        random: Math.random,
        print: (text) => process.stdout.write(`${text}\n`),
        stderr: process.stderr,
        signal: interruption.signal,
      },
      version,
    ).parseAsync();
    return 0;
  } catch (thrown) {
    if (thrown instanceof CommanderError) return thrown.exitCode === 0 ? 0 : exitCodes.usage;
    if (interruption.signal.aborted) {
      process.stderr.write("Interrupted. Run the command again to continue.\n");
      return exitCodes.interrupted;
    }
    report(thrown);
    return thrown instanceof PublishError ? thrown.exitCode : exitCodes.failed;
  }
}

function report(thrown: unknown): void {
  const details = thrown instanceof PublishError ? thrown.details : [];
  process.stderr.write(
    [`joypod-publish: ${messageOf(thrown)}`, ...details, ""].join("\n  ").trimEnd() + "\n",
  );
  if (!process.argv.includes("--json")) return;
  const { code: error, result } =
    thrown instanceof PublishError ? thrown : { code: "internal_error", result: {} };
  process.stdout.write(`${JSON.stringify({ ...result, error, message: messageOf(thrown), details })}\n`);
}
