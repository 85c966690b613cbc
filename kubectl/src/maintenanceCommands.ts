import type { Command } from "commander";
import { limits } from "#contracts/limits.ts";
import type { Maintenance } from "#contracts/maintenance.ts";
import { toDurationMs, toMessageOf } from "./arguments.ts";
import { cancelEnds, planEnds, unfinishedSessions } from "./session/plannedEnds.ts";
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
      "Manage maintenance. During maintenance no games can be launched; running sessions continue unless --stop-sessions-in is given.",
    );
  maintenance
    .command("on")
    .description("Start maintenance, or change its message.")
    .option("--message <text>", "message shown to players", toMessageOf(limits.maintenance.messageMaxLength))
    .option(
      "--stop-sessions-in <duration>",
      "save and stop all games after this time, such as 30m; their players are told at once",
      toDurationMs,
    )
    .action(({ message, stopSessionsIn }: { message?: string; stopSessionsIn?: number }, command: Command) =>
      withInstallation(command, async (installation) => {
        print(sentenceOf(await beginMaintenance(installation, message, installation.now())));
        if (stopSessionsIn === undefined) return;
        const at = new Date(installation.now().getTime() + stopSessionsIn).toISOString();
        const told = await planEnds(installation, await unfinishedSessions(installation, () => true), {
          at,
          reason: "Maintenance",
          ...(message !== undefined && { message }),
        });
        print(`Games that are stopped at ${at}: ${told.length}. Their players were told.`);
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
        const kept = await cancelEnds(installation, "Maintenance");
        if (kept.length > 0) print(`Games that can go on: ${kept.length}. Their players were told.`);
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
