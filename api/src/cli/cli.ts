import { createInterface } from "node:readline";
import { text } from "node:stream/consumers";
import { CommanderError } from "commander";
import { Passwords } from "../auth/passwords.ts";
import { announceOnce } from "./announceOnce.ts";
import { exitCodes, toCliError } from "./cliError.ts";
import { createProgram } from "./program.ts";
import { readCliConfig, readCliSavesConfig } from "./config.ts";
import { secretLogKeys } from "../config.ts";
import { invalidRequest } from "../errors.ts";
import { systemClock } from "#runtime/scheduling/clock.ts";
import { createLogger } from "#runtime/program/createLogger.ts";
import { Audit } from "../audit/audit.ts";
import { SaveReads } from "../saves/saveReads.ts";
import { SaveUploads } from "../saves/saveUploads.ts";
import { connectObjectStore } from "../stores/objectStore.ts";
import { connectPostgres } from "../stores/postgres.ts";

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
      saveReads: new SaveReads(),
    };
  },
  passwords: () =>
    (passwords ??= new Passwords({
      pepper: pepperOr("it must be the API's own, or the password will not be accepted."),
      cost: readCliConfig(process.env).bcryptCost,
      workers: 1,
    })),
  pepper: () => pepperOr("it must be the API's own, or failed sign-ins will not be found."),
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
