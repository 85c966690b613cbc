import { Command, InvalidArgumentError } from "commander";
import { migrate, waitForDatabase } from "../stores/migrations.ts";
import { addAuditCommand } from "./auditCommand.ts";
import type { AddCommand, CliEnvironment, Json } from "./environment.ts";
import { addPartnerCommands } from "./partnerCommands.ts";
import { addSaveCommands } from "./saveCommands.ts";
import { addUserCommands } from "./userCommands.ts";

const json = ["--json", "answer with one JSON object"] as const;

/** The commands of `joypod`. */
export function createProgram(environment: CliEnvironment): Command {
  const program = new Command("joypod")
    .description("Joypod's administration: the database is named by DATABASE_URL.")
    .exitOverride(); // Before the subcommands, which inherit it.
  const command: AddCommand = (parent, name, description) =>
    parent
      .command(name)
      .description(description)
      .option(...json);

  command(program, "migrate", "bring the database to the newest schema; safe to run again")
    .option("--wait-seconds <seconds>", "wait so long for a database that is still starting", toSeconds, 0)
    .action(async ({ waitSeconds, ...options }: Json & { waitSeconds: number }) => {
      await waitForDatabase(environment.databaseUrl(), waitSeconds);
      const applied = await migrate(environment.databaseUrl());
      const sentence =
        applied.length === 0 ? "The database is up to date." : `Applied ${applied.join(", ")}.`;
      environment.print({ applied }, sentence, options.json === true);
    });

  addUserCommands(command, program, environment);
  addPartnerCommands(command, program, environment);
  addSaveCommands(command, program, environment);
  addAuditCommand(command, program, environment);
  return program;
}

function toSeconds(text: string): number {
  if (!/^\d{1,4}$/.test(text)) throw new InvalidArgumentError("Give whole seconds, from 0 to 9999.");
  return Number(text);
}
