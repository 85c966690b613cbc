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
    .description("a time in which no game is launched, and players are told so; what is played goes on");
  maintenance
    .command("on")
    .description("begin it; again: change the message")
    .option("--message <text>", "what players read", toMessage)
    .action(({ message }: { message?: string }, command: Command) =>
      withInstallation(command, async (installation) => {
        print(sentenceOf(await beginMaintenance(installation, message, installation.now())));
      }),
    );
  maintenance
    .command("off")
    .description("end it")
    .action((_: object, command: Command) =>
      withInstallation(command, async (installation) => {
        print(
          (await endMaintenance(installation))
            ? "Maintenance is over: games are launched again."
            : "There was no maintenance.",
        );
      }),
    );
  maintenance
    .command("status")
    .description("tell whether it is on")
    .action((_: object, command: Command) =>
      withInstallation(command, async (installation) => {
        const current = await findMaintenance(installation);
        print(current === undefined ? "Maintenance is off." : sentenceOf(current));
      }),
    );
}

function sentenceOf({ since, message }: Maintenance): string {
  return `Maintenance is on since ${since}: no game is launched, and sessions that run go on. Players read: ${message ?? "that Joypod is being worked on."}`;
}

function toMessage(text: string): string {
  const parsed = requiredLine(limits.maintenance.messageMaxLength).safeParse(text);
  if (!parsed.success)
    throw new InvalidArgumentError(
      `Give one line of at most ${limits.maintenance.messageMaxLength} characters.`,
    );
  return parsed.data;
}
