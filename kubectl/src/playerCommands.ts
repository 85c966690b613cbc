import type { Command } from "commander";
import { nodeName as nodeNameSchema } from "#contracts/crd/schema.ts";
import { limits } from "#contracts/limits.ts";
import { AdminError, exitCodes } from "./adminError.ts";
import { toDurationMs, toMessageOf } from "./arguments.ts";
import { announce, endAnnouncement } from "./cluster/announcement.ts";
import type { Environment, WithInstallation } from "./environment.ts";
import { cancelDrain, drainNode } from "./session/drainNode.ts";

/** Adds the commands that tell players something: `announce` and `drain`. */
export function addPlayerCommands(
  program: Command,
  environment: Environment,
  withInstallation: WithInstallation,
): void {
  addAnnounce(program, environment, withInstallation);
  addDrain(program, environment, withInstallation);
}

function addAnnounce(
  program: Command,
  { print }: Pick<Environment, "print">,
  withInstallation: WithInstallation,
): void {
  program
    .command("announce")
    .description("Show a message to everyone who plays, over the picture.")
    .argument("[message]", "one line of text", toMessageOf(limits.announcement.messageMaxLength))
    .option(
      "--for <duration>",
      "how long it is shown, such as 90s, 10m or 2h",
      toDurationMs,
      limits.announcement.shownSeconds * 1000,
    )
    .option("--clear", "remove the message")
    .action(
      (
        message: string | undefined,
        { for: shownMs, clear }: { for: number; clear?: true },
        command: Command,
      ) =>
        withInstallation(command, async (installation) => {
          if ((message === undefined) !== (clear === true))
            throw new AdminError("Specify either a message or --clear.", exitCodes.usage);
          if (message === undefined) {
            print(
              (await endAnnouncement(installation)) ? "The message is removed." : "There was no message.",
            );
            return;
          }
          const since = installation.now();
          const until = new Date(since.getTime() + shownMs).toISOString();
          await announce(installation, { message, since: since.toISOString(), until });
          print(`Everyone who plays sees the message until ${until}.`);
        }),
    );
}

function addDrain(program: Command, environment: Environment, withInstallation: WithInstallation): void {
  program
    .command("drain")
    .description(
      "Take a node out of service: cordon it, tell its players when their games end, wait, and stop the rest with their saves.",
    )
    .argument("<node>")
    .option(
      "--patience <duration>",
      "how long players may go on, such as 10m or 2h",
      toDurationMs,
      30 * 60_000,
    )
    .option("--message <text>", "message shown to players", toMessageOf(limits.maintenance.messageMaxLength))
    .option("--cancel", "uncordon the node and let its games go on")
    .action(
      (
        node: string,
        { patience, message, cancel }: { patience: number; message?: string; cancel?: true },
        command: Command,
      ) =>
        withInstallation(command, async (installation) => {
          const { data: nodeName } = nodeNameSchema.safeParse(node);
          if (nodeName === undefined)
            throw new AdminError(`${node} is not the name of a node.`, exitCodes.usage);
          if (cancel === true) await cancelDrain(installation, nodeName, environment);
          else await drainNode(installation, { nodeName, patienceMs: patience, message }, environment);
        }),
    );
}
