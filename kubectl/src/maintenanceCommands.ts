import { InvalidArgumentError, type Command } from "commander";
import { requiredLine } from "#contracts/http/text.ts";
import { limits } from "#contracts/limits.ts";
import type { Maintenance } from "#contracts/maintenance.ts";
import { beginMaintenance, endMaintenance, findMaintenance } from "./cluster/maintenance.ts";
import type { Environment, WithInstallation } from "./environment.ts";

/** Adds `kubectl joypod maintenance …`. */
export function addMaintenanceCommands(
  program: Command,
  { print }: Pick<Environment, "print">,
  withInstallation: WithInstallation,
): void {
  const maintenance = program
    .command("maintenance")
    .description(
      "Manage maintenance. During maintenance no games can be launched; running sessions continue.",
    );
  maintenance
    .command("on")
    .description("Start maintenance, or change its message.")
    .option("--message <text>", "message shown to players", toMessage)
    .action(({ message }: { message?: string }, command: Command) =>
      withInstallation(command, async (installation) => {
        print(sentenceOf(await beginMaintenance(installation, message, installation.now())));
      }),
    );
  maintenance
    .command("off")
    .description("End maintenance.")
    .action((_: object, command: Command) =>
      withInstallation(command, async (installation) => {
        print(
          (await endMaintenance(installation))
            ? "Maintenance has ended. Games can be launched again."
            : "Maintenance was already off.",
        );
      }),
    );
  maintenance
    .command("status")
    .description("Show whether maintenance is on.")
    .action((_: object, command: Command) =>
      withInstallation(command, async (installation) => {
        const current = await findMaintenance(installation);
        print(current === undefined ? "Maintenance is off." : sentenceOf(current));
      }),
    );
}

function sentenceOf({ since, message }: Maintenance): string {
  return `Maintenance has been on since ${since}. No games can be launched; running sessions continue. Message to players: ${message ?? "the default text"}`;
}

function toMessage(text: string): string {
  const parsed = requiredLine(limits.maintenance.messageMaxLength).safeParse(text);
  if (!parsed.success)
    throw new InvalidArgumentError(
      `Specify one line of at most ${limits.maintenance.messageMaxLength} characters.`,
    );
  return parsed.data;
}
