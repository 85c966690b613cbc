import { Command, InvalidArgumentError } from "commander";
import { addPartnerCommands } from "./partnerCommands.ts";
import { disableUser, enableUser, setPassword, type ChangedUser } from "../commands/changeUser.ts";
import { createUser } from "../commands/createUser.ts";
import { importUsers } from "../commands/importUsers.ts";
import type { Passwords } from "../auth/passwords.ts";
import { migrate, waitForDatabase } from "../stores/migrations.ts";
import type { Audit } from "../stores/audit.ts";
import type { Postgres } from "../stores/postgres.ts";

/** What the commands work with; opened when one needs it. */
export interface CliEnvironment {
  databaseUrl(): string;
  stores(): { postgres: Postgres; audit: Audit };
  passwords(): Passwords;
  /** Tells running API servers which sign-ins are over; false when they could not be told. */
  announce: (authSessionIds: readonly string[]) => Promise<boolean>;
  readStdin(): Promise<string>;
  /** The same line by line. */
  readLines(): AsyncIterable<string>;
  /** Of new password hashes. */
  bcryptCost(): number;
  /** Writes the result: one JSON object, or the sentence. */
  print(result: Record<string, unknown>, sentence: string, asJson: boolean): void;
}

/** The option that all commands have. */
export interface Json {
  json?: true;
}

const json = ["--json", "answer with one JSON object"] as const;

/** The commands of `joypod`. */
export function createProgram(environment: CliEnvironment): Command {
  const program = new Command("joypod").description("Joypod's administration: the database is named by DATABASE_URL.")
    .exitOverride(); // Before the subcommands, which inherit it.
  const command = (parent: Command, name: string, description: string): Command => parent.command(name).description(description).option(...json);

  command(program, "migrate", "bring the database to the newest schema; safe to run again")
    .option("--wait-seconds <seconds>", "wait so long for a database that is still starting", toSeconds, 0)
    .action(async ({ waitSeconds, ...options }: Json & { waitSeconds: number }) => {
      await waitForDatabase(environment.databaseUrl(), waitSeconds);
      const applied = await migrate(environment.databaseUrl());
      const sentence = applied.length === 0 ? "The database is up to date." : `Applied ${applied.join(", ")}.`;
      environment.print({ applied }, sentence, options.json === true);
    });

  addUserCommands(command, program, environment);
  addPartnerCommands(command, program, environment);
  return program;
}

function addUserCommands(
  command: (parent: Command, name: string, description: string) => Command, program: Command, environment: CliEnvironment,
): void {
  const user = program.command("user").description("players");
  const { announce } = environment;
  const readPassword = async (): Promise<string> => (await environment.readStdin()).replace(/\r?\n$/, "");
  const print = (changed: ChangedUser, what: string, options: Json): void => {
    const wait = changed.isAnnounced ? "" : " The API could not be told: the ended sign-ins may work for another minute (set REDIS_URL to the API's own).";
    environment.print({ ...changed }, `${what} Sign-ins ended: ${changed.endedSignIns}.${wait}`, options.json === true);
  };

  command(user, "create", "create a player; exit code 3 when there is one of that address")
    .requiredOption("--email <address>").requiredOption("--name <name>").requiredOption("--password-stdin", "read the password from standard input")
    .action(async ({ email, name, ...options }: Json & { email: string; name: string }) => {
      const password = await readPassword();
      const created = await createUser({ ...environment.stores(), passwords: environment.passwords() }, { email, name, password });
      environment.print(created, `Created the player ${created.email}.`, options.json === true);
    });
  command(user, "import", "create the players of another platform, with their bcrypt hashes; those who are there already stay as they are")
    .addHelpText("after", '\nReads JSON lines from standard input: {"email": "…", "name": "…", "passwordHash": "$2b$…", "emailVerified": true}')
    .action(async (options: Json) => {
      const imported = await importUsers(environment.stores(), environment.readLines(), environment.bcryptCost());
      environment.print({ ...imported }, `Created players: ${imported.created}. There already: ${imported.existing}.`, options.json === true);
    });
  command(user, "set-password", "give a player another password and end their sign-ins")
    .requiredOption("--email <address>").requiredOption("--password-stdin", "read the password from standard input")
    .action(async ({ email, ...options }: Json & { email: string }) => {
      const password = await readPassword();
      const changed = await setPassword({ ...environment.stores(), announce, passwords: environment.passwords() }, { email, password });
      print(changed, `The player ${changed.email} has a new password.`, options);
    });
  command(user, "disable", "keep a player from signing in and end their sign-ins").requiredOption("--email <address>")
    .action(async ({ email, ...options }: Json & { email: string }) => {
      const changed = await disableUser({ ...environment.stores(), announce }, email);
      print(changed, `The player ${changed.email} is disabled.`, options);
    });
  command(user, "enable", "let a disabled player sign in again").requiredOption("--email <address>")
    .action(async ({ email, ...options }: Json & { email: string }) => {
      const changed = await enableUser({ ...environment.stores(), announce }, email);
      print(changed, `The player ${changed.email} is enabled.`, options);
    });
}

function toSeconds(text: string): number {
  if (!/^\d{1,4}$/.test(text)) throw new InvalidArgumentError("Give whole seconds, from 0 to 9999.");
  return Number(text);
}
