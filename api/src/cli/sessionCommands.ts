import type { Command } from "commander";
import { printableText } from "#runtime/printableText.ts";
import { requireUserOf } from "../accounts/findUser.ts";
import { notFound } from "../errors.ts";
import { listSessions } from "../gameSessions/sessions/sessionListQueries.ts";
import { readRunOutput } from "../gameSessions/recording/runOutputs.ts";
import type { AddCommand, CliEnvironment, Json } from "./environment.ts";
import { type ListOptions, printList, toPage, withPaging } from "./paging.ts";

interface ListSessionsOptions extends ListOptions {
  all?: true;
  user?: string;
  game?: string;
}

/** Adds `joypod session …`. */
export function addSessionCommands(command: AddCommand, program: Command, environment: CliEnvironment): void {
  const session = program.command("session").description("game sessions");
  withPaging(command(session, "list", "list active sessions, newest first"), "session")
    .option("--all", "also sessions that have ended")
    .option("--user <player>", "only sessions of the player with this address, id or name")
    .option("--game <slug>", "only sessions of this game")
    .action(async ({ all, user, game, after, limit, ...options }: ListSessionsOptions) => {
      const { pool } = environment.stores().postgres;
      const userId = user === undefined ? undefined : (await requireUserOf(pool, user)).id;
      const filter = { userId, game, isActive: all !== true, after, limit: limit + 1 };
      printList(
        environment,
        {
          name: "sessions",
          page: toPage(await listSessions(pool, filter), limit, ({ id }) => id),
          headings: ["SESSION", "STATUS", "PLAYER", "GAME", "NODE", "STARTED", "ENDED", "REASON"],
          cellsOf: ({
            id,
            status,
            email,
            game: slug,
            node,
            startedAt,
            endedAt,
            stopReason,
            failureReason,
          }) => [id, status, email, slug, node, startedAt, endedAt, failureReason ?? stopReason],
        },
        options,
      );
    });
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
