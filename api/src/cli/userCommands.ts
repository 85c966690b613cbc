import type { Command } from "commander";
import {
  changeAddress,
  deleteUser,
  disableUser,
  enableUser,
  setPassword,
  type ChangedUser,
} from "../accounts/changeUser.ts";
import { createUser, importUsers } from "../accounts/createUser.ts";
import { requireUserOf } from "../accounts/findUser.ts";
import { findUserDetails, listUsers, type UserDetails } from "../accounts/userListQueries.ts";
import { normalizeEmail } from "../auth/email.ts";
import { invalidRequest, notFound } from "../errors.ts";
import { createResetLink, inviteUser, type PrintedLink } from "../accounts/links/printedLinks.ts";
import type { AddCommand, CliEnvironment, Json } from "./environment.ts";
import { type ListOptions, printDetails, printList, timeOf, toPage, withPaging } from "./paging.ts";

interface ListUsersOptions extends ListOptions {
  search?: string;
  disabled?: true;
}

/** Adds `joypod user …`. */
export function addUserCommands(command: AddCommand, program: Command, environment: CliEnvironment): void {
  const user = program.command("user").description("players");
  const { announce } = environment;
  const readPassword = async (): Promise<string> => (await environment.readStdin()).replace(/\r?\n$/, "");
  const print = (changed: ChangedUser, what: string, options: Json): void => {
    const wait = changed.isAnnounced
      ? ""
      : " The API was not notified, so the ended sign-ins may work for another minute (set REDIS_URL to the API's value).";
    environment.print(
      { ...changed },
      `${what} Sign-ins ended: ${changed.endedSignIns}.${wait}`,
      options.json === true,
    );
  };

  const about = (name: string, description: string): Command =>
    command(user, name, description)
      .argument("[player]", playerArgument)
      .option("--email <address>", "the player's address, instead of the argument");
  const emailOf = async (player: string | undefined, options: PlayerOptions): Promise<string> =>
    (await requireUserOf(environment.stores().postgres.pool, onlyOf(player, options))).email;

  addViewCommands(command, user, environment);
  command(user, "create", "create a player; exit code 3 if the address exists")
    .argument("[address]")
    .option("--email <address>", "the address, instead of the argument")
    .requiredOption("--name <name>")
    .requiredOption("--password-stdin", "read the password from standard input")
    .action(async (address: string | undefined, { name, ...options }: PlayerOptions & { name: string }) => {
      const email = onlyOf(address, options);
      const password = await readPassword();
      const created = await createUser(
        { ...environment.stores(), passwords: environment.passwords() },
        { email, name, password },
      );
      environment.print(created, `Created the player ${created.email}.`, options.json === true);
    });
  command(
    user,
    "import",
    "import players of another platform with their bcrypt hashes; existing players are not changed",
  )
    .addHelpText(
      "after",
      '\nReads JSON lines from standard input: {"email": "…", "name": "…", "passwordHash": "$2b$…", "emailVerified": true}',
    )
    .action(async (options: Json) => {
      const imported = await importUsers(
        environment.stores(),
        environment.readLines(),
        environment.bcryptCost(),
      );
      environment.print(
        { ...imported },
        `Created players: ${imported.created}. Already existing: ${imported.existing}.`,
        options.json === true,
      );
    });
  const printLink = ({ url, email, expiresAt, isMailed, mailError }: PrintedLink, options: Json): void => {
    const mailed = isMailed
      ? `It was mailed to ${email}.`
      : mailError === undefined
        ? `Give it to ${email} over a channel that nobody else reads.`
        : `It could not be mailed (${mailError}), so give it to ${email} yourself.`;
    environment.print(
      { email, url, expiresAt: expiresAt.toISOString(), isMailed },
      `${url}\nThe link works once, until ${expiresAt.toISOString()}. ${mailed}`,
      options.json === true,
    );
  };
  command(user, "invite", "print a link with which a new player opens an account, and mail it if possible")
    .argument("<email>", "the person's address")
    .action(async (email: string, options: Json) => {
      printLink(await inviteUser({ ...environment.links(), pepper: environment.pepper() }, email), options);
    });
  about(
    "reset-link",
    "print a link with which a player chooses a new password, and mail it if possible",
  ).action(async (player: string | undefined, options: PlayerOptions) => {
    printLink(await createResetLink(environment.links(), await emailOf(player, options)), options);
  });
  about("set-password", "set a player's password and end their sign-ins")
    .requiredOption("--password-stdin", "read the password from standard input")
    .action(async (player: string | undefined, options: PlayerOptions) => {
      const email = await emailOf(player, options);
      const password = await readPassword();
      const changed = await setPassword(
        { ...environment.stores(), announce, passwords: environment.passwords() },
        { email, password },
      );
      print(changed, `The player ${changed.email} has a new password.`, options);
    });
  command(user, "change-address", "give a player another address; exit code 3 if it has an account")
    .argument("<player>", playerArgument)
    .argument("<address>", "the new address, which counts as verified")
    .action(async (player: string, address: string, options: Json) => {
      const changed = await changeAddress(environment.stores(), player, address);
      const { former, email } = changed;
      environment.print(
        { ...changed },
        `The player ${former} has the address ${email} now, and signs in with it.`,
        options.json === true,
      );
    });
  about("disable", "disable a player, end their sign-ins and stop their session with its save").action(
    async (player: string | undefined, options: PlayerOptions) => {
      const email = await emailOf(player, options);
      const changed = await disableUser({ ...environment.stores(), announce }, email);
      const { stoppedSessionId } = changed;
      const stopped = stoppedSessionId === null ? "" : ` The session ${stoppedSessionId} is being stopped.`;
      print(changed, `The player ${changed.email} is disabled.${stopped}`, options);
    },
  );
  about("enable", "enable a disabled player").action(
    async (player: string | undefined, options: PlayerOptions) => {
      const email = await emailOf(player, options);
      const changed = await enableUser({ ...environment.stores(), announce }, email);
      print(changed, `The player ${changed.email} is enabled.`, options);
    },
  );
  about(
    "delete",
    "delete a player with favourites and saves; exit code 5 while they have an active session",
  ).action(async (player: string | undefined, options: PlayerOptions) => {
    const email = await emailOf(player, options);
    const changed = await deleteUser({ ...environment.stores(), announce }, email);
    print(changed, `The player ${changed.email} is deleted.`, options);
  });
}

const playerArgument = "the player's address or id, or their name if no other player has it";

/** The player of a command, who may also be named by an option. */
interface PlayerOptions extends Json {
  email?: string;
}

/**
 * Returns the argument or the option.
 *
 * @throws invalid_request unless there is exactly one of them
 */
function onlyOf(argument: string | undefined, { email }: PlayerOptions): string {
  const given = argument ?? email;
  if (given === undefined || (argument !== undefined && email !== undefined))
    throw invalidRequest("Name the player once, as the argument or with --email.");
  return given;
}

function addViewCommands(command: AddCommand, user: Command, environment: CliEnvironment): void {
  withPaging(command(user, "list", "list players by address"), "address")
    .option("--search <text>", "only players with this text in their address or name")
    .option("--disabled", "only disabled players")
    .action(async ({ search, disabled, after, limit, ...options }: ListUsersOptions) => {
      const { pool } = environment.stores().postgres;
      const filter = { search, isDisabled: disabled, after: after && normalizeEmail(after) };
      const page = toPage(
        await listUsers(pool, { ...filter, limit: limit + 1 }),
        limit,
        ({ email }) => email,
      );
      printList(
        environment,
        {
          name: "users",
          page,
          headings: ["ADDRESS", "NAME", "STATE", "CREATED", "LAST SEEN", "SESSION"],
          cellsOf: ({ email, name, disabledAt, createdAt, lastSeenAt, activeSessionId }) => [
            email,
            name,
            disabledAt === null ? "active" : "disabled",
            createdAt,
            lastSeenAt,
            activeSessionId,
          ],
        },
        options,
      );
    });
  command(user, "show", "show a player: state, sign-ins, sessions and saves")
    .argument("<player>", playerArgument)
    .action(async (player: string, options: Json) => {
      const { pool } = environment.stores().postgres;
      const found = await findUserDetails(pool, await requireUserOf(pool, player));
      if (found === undefined) throw notFound(`There is no user ${player}.`);
      printDetails(
        environment,
        found,
        [
          ["Address", `${found.email}${found.isEmailVerified ? "" : " (not verified)"}`],
          ["Name", found.name],
          ["Id", found.id],
          ["State", stateOf(found)],
          ["Groups", found.groups.join(", ") || null],
          ["Created", found.createdAt],
          ["Last seen", found.lastSeenAt],
          [
            "Signs in with",
            [...(found.hasPassword ? ["password"] : []), ...found.issuers].join(", ") || null,
          ],
          ["Sign-ins", found.signIns],
          ["Session", found.activeSessionId],
          ["Sessions", `${found.gameSessions}, ${(found.playSeconds / 3600).toFixed(1)} hours`],
          ["Saves", `${found.saveSlots} slots, ${found.saveBytes} bytes`],
          ["Favourites", found.favorites],
        ],
        options,
      );
    });
}

function stateOf({ disabledAt, confirmBy, deleteAt }: UserDetails): string {
  if (disabledAt !== null) return `disabled since ${timeOf(disabledAt)}`;
  if (confirmBy !== null) return `not confirmed, deleted at ${timeOf(confirmBy)}`;
  return deleteAt === null ? "active" : `deleted at ${timeOf(deleteAt)}, as the player wants`;
}
