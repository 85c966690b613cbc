import type { Command } from "commander";
import { printableText } from "#runtime/printableText.ts";
import { notFound } from "../errors.ts";
import { readRunOutput } from "../gameSessions/recording/runOutputs.ts";
import type { AddCommand, CliEnvironment, Json } from "./environment.ts";

/** Adds `joypod session …`. */
export function addSessionCommands(command: AddCommand, program: Command, environment: CliEnvironment): void {
  const session = program.command("session").description("ended game sessions");
  command(session, "log", "print the end of the output of a session's game, at most 64 KiB")
    .argument("<name>", "the session")
    .action(async (name: string, options: Json) => {
      const output = await readRunOutput(environment.saves().objectStore, name);
      if (output === undefined)
        throw notFound(
          `No output of the session ${name} is stored. It is kept for some days after the end, if the game printed anything.`,
        );
      const log = printableText(output);
      environment.print({ log }, log.trimEnd(), options.json === true);
    });
}
