import { createInterface } from "node:readline";
import { text } from "node:stream/consumers";
import { CommanderError, Command, InvalidArgumentError } from "commander";
import { Passwords } from "../auth/passwords.ts";
import { exitCodes, toCliError } from "./cliError.ts";
import { readCliConfig, readCliLinksConfig, readCliSavesConfig } from "./config.ts";
import { secretLogKeys } from "../config.ts";
import { invalidRequest } from "../errors.ts";
import { systemClock } from "#runtime/scheduling/clock.ts";
import { createLogger } from "#runtime/program/createLogger.ts";
import { Audit } from "../audit/audit.ts";
import { createSaveReadQueue } from "../saves/readableVersion.ts";
import { SaveUploads } from "../saves/uploadSave.ts";
import { connectObjectStore } from "../stores/objectStore.ts";
import { connectPostgres } from "../stores/postgres.ts";
import { once } from "node:events";
import { Mailer } from "../mail/mailer.ts";
import { announceRevoked } from "../auth/authSessions.ts";
import type { Logger } from "#runtime/logger.ts";
import { connectRedis, type RedisAddress } from "../stores/redis.ts";
import { migrate, waitForDatabase } from "../stores/migrations.ts";
import { addAuditCommand } from "./auditCommand.ts";
import type { AddCommand, CliEnvironment, Json } from "./environment.ts";
import { addGameCommands } from "./gameCommands.ts";
import { addGroupCommands } from "./groupCommands.ts";
import { addPartnerCommands } from "./partnerCommands.ts";
import { addSaveCommands } from "./saveCommands.ts";
import { addSessionCommands } from "./sessionCommands.ts";
import { addUserCommands } from "./userCommands.ts";

const json = ["--json", "print one JSON object"] as const;
/** Time to connect to Redis, in milliseconds. */
const connectMs = 3_000;

const asJson = process.argv.includes("--json");
const logger = createLogger({
  program: "api",
  level: "error",
  secretKeys: secretLogKeys,
  destination: { write: (line) => void process.stderr.write(line) },
});
let postgres: ReturnType<typeof connectPostgres> | undefined;
let passwords: Passwords | undefined;

const stores = (): { postgres: ReturnType<typeof connectPostgres>; audit: Audit } => {
  postgres ??= connectPostgres({ ...readCliConfig(process.env).postgres, logger });
  return { postgres, audit: new Audit(postgres, logger) };
};

const program = createProgram({
  databaseUrl: () => readCliConfig(process.env).postgres.url,
  stores,
  saves: () => {
    const { objectStore, ...config } = readCliSavesConfig(process.env);
    return {
      ...stores(),
      config,
      logger,
      clock: systemClock,
      objectStore: connectObjectStore(objectStore),
      saveUploads: new SaveUploads(1),
      saveReads: createSaveReadQueue(),
    };
  },
  links: () => {
    const { mail, ...config } = readCliLinksConfig(process.env);
    return {
      ...stores(),
      config,
      mailer: mail && new Mailer({ settings: mail, clock: systemClock }),
    };
  },
  passwords: () =>
    (passwords ??= new Passwords({
      pepper: pepperOr("set it to the API's value, or the password will not be accepted."),
      cost: readCliConfig(process.env).bcryptCost,
      workers: 1,
    })),
  pepper: () => pepperOr("set it to the API's value, or failed sign-ins will not be found."),
  announce: async (authSessionIds) => {
    const { redis, tokenLifetimeSeconds } = readCliConfig(process.env);
    return (
      redis !== undefined &&
      (await announceOnce({ ...redis, seconds: tokenLifetimeSeconds }, authSessionIds, logger))
    );
  },
  input: () => process.stdin,
  output: () => process.stdout,
  readStdin: () => text(process.stdin),
  readLines: () => createInterface({ input: process.stdin, crlfDelay: Infinity }),
  bcryptCost: () => readCliConfig(process.env).bcryptCost,
  print: (result, sentence, json) => console.log(json ? JSON.stringify(result) : sentence),
});

process.exitCode = await run();
await Promise.all([passwords?.close(), postgres?.close()]);

function pepperOr(reason: string): string {
  const { pepper } = readCliConfig(process.env);
  if (pepper === undefined) throw invalidRequest(`PASSWORD_PEPPER is not set: ${reason}`);
  return pepper;
}

async function run(): Promise<number> {
  try {
    await program.parseAsync();
    return 0;
  } catch (thrown) {
    if (thrown instanceof CommanderError) return thrown.exitCode === 0 ? 0 : exitCodes.invalid;
    const { error, message, details } = toCliError(thrown);
    if (asJson) console.log(JSON.stringify({ error, message, ...details }));
    else console.error(message);
    return exitCodes[error];
  }
}

/** Opens a Redis connection for this one message; false when it cannot be delivered. */
async function announceOnce(
  { seconds, ...address }: RedisAddress & { seconds: number },
  authSessionIds: readonly string[],
  logger: Logger,
): Promise<boolean> {
  const { redis } = connectRedis({ ...address, commandTimeoutMs: connectMs }, logger);
  try {
    await once(redis, "ready", { signal: AbortSignal.timeout(connectMs) });
    return await announceRevoked(redis, authSessionIds, seconds);
  } catch {
    return false; // Redis is unavailable or too slow. The caller explains the consequence.
  } finally {
    redis.disconnect();
  }
}

/** The commands of `joypod`. */
function createProgram(environment: CliEnvironment): Command {
  const program = new Command("joypod")
    .description("Administers Joypod. DATABASE_URL names the database.")
    .exitOverride(); // Before the subcommands, which inherit it.
  const command: AddCommand = (parent, name, description) =>
    parent
      .command(name)
      .description(description)
      .option(...json);

  command(program, "migrate", "migrate the database to the newest schema (idempotent)")
    .option("--wait-seconds <seconds>", "wait for a database that is still starting", toSeconds, 0)
    .action(async ({ waitSeconds, ...options }: Json & { waitSeconds: number }) => {
      await waitForDatabase(environment.databaseUrl(), waitSeconds);
      const applied = await migrate(environment.databaseUrl());
      const sentence =
        applied.length === 0 ? "The database is up to date." : `Applied ${applied.join(", ")}.`;
      environment.print({ applied }, sentence, options.json === true);
    });

  addUserCommands(command, program, environment);
  addGroupCommands(command, program, environment);
  addPartnerCommands(command, program, environment);
  addGameCommands(command, program, environment);
  addSaveCommands(command, program, environment);
  addSessionCommands(command, program, environment);
  addAuditCommand(command, program, environment);
  return program;
}

function toSeconds(text: string): number {
  if (!/^\d{1,4}$/.test(text)) throw new InvalidArgumentError("Must be whole seconds from 0 to 9999.");
  return Number(text);
}
