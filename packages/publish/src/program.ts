import { Command, InvalidArgumentError } from "commander";
import { table } from "#runtime/textTable.ts";
import type { Clock } from "#runtime/scheduling/clock.ts";
import {
  configName,
  isExposed,
  readConfigFile,
  toAddress,
  toKey,
  toSlug,
  type ConfigFile,
  type Variables,
} from "./config.ts";
import { createProgress, type Progress, type ProgressOutput } from "./output/progress.ts";
import { publishedText } from "./output/publishedText.ts";
import { bytesText, momentText } from "./output/text.ts";
import { packOnly, publish, type PublishContext } from "./publish.ts";
import { PublishError, usageError } from "./publishError.ts";
import { HttpClient } from "./server/httpClient.ts";
import { PartnerApi } from "./server/partnerApi.ts";
import type { RetryContext } from "./server/retry.ts";
import { stateFolder } from "./upload/uploadState.ts";

/** The process environment of the commands. */
export interface Environment {
  variables: Variables;
  platform: NodeJS.Platform;
  clock: Clock;
  random: () => number;
  /** Prints a line to standard output. */
  print: (text: string) => void;
  /** Where progress and warnings are shown. */
  stderr: NodeJS.WriteStream | ProgressOutput;
  /** Aborted when the person interrupts the program. */
  signal: AbortSignal;
}

interface GlobalOptions {
  game?: string;
  url?: string;
  config?: string;
  json?: true;
}

interface PublishOptions extends GlobalOptions {
  channel?: string;
  label?: string;
  notes?: string;
  activate: boolean;
  title?: string;
  developer?: string;
  launcher?: string;
  engineDir?: string;
  private?: true;
  keepTimes?: true;
  dryRun?: true;
  wait: boolean;
  waitMinutes: number;
}

/** What the commands on an existing game get. */
interface Connection {
  api: PartnerApi;
  retry: RetryContext;
}

const waitMinutesDefault = 30;

/** Returns the commands of `joypod-publish`. */
export function createProgram(environment: Environment, version: string): Command {
  const program = new Command("joypod-publish")
    .description(
      "Packs the folder of a game, uploads it to Joypod, and waits until the game servers hold it.",
    )
    .version(version)
    .argument("[dir]", "folder with the launcher and the engine directory")
    .option("-g, --game <slug>", `slug of the game (default: "slug" in ${configName})`)
    .option("--url <address>", "address of the server (default: JOYPOD_URL)")
    .option("--config <file>", `settings of the game (default: ${configName} next to the folder)`)
    .option("--json", "print the result as JSON")
    .option("--channel <name>", "lead this channel to the version, instead of all players")
    .option("--label <text>", "your name for the version, such as 1.4.2 or a commit")
    .option("--notes <text>", "your notes on the version")
    .option("--no-activate", "upload the version without giving it to players")
    .option("--title <text>", "title, to register a new game")
    .option("--developer <text>", "developer, to register a new game")
    .option("--launcher <name>", "script at the root that starts the game, to register a new game")
    .option("--engine-dir <name>", "directory at the root with the engine, to register a new game")
    .option("--private", "register a new game for testers only")
    .option("--keep-times", "keep the files' times, which compiled Python files rely on")
    .option("--dry-run", "pack and check without uploading")
    .option("--no-wait", "do not wait for the game servers")
    .option("--wait-minutes <number>", "longest time to wait for them", toMinutes, waitMinutesDefault)
    .addHelpText("after", "\nThe partner's key is read from the environment variable JOYPOD_API_KEY.")
    .showHelpAfterError("Run `joypod-publish --help` for a list of options.")
    .exitOverride()
    .action((dir: string | undefined, options: PublishOptions) => runPublish(environment, dir, options));
  addVersionCommands(program, environment);
  return program;
}

async function runPublish(
  environment: Environment,
  dir: string | undefined,
  options: PublishOptions,
): Promise<void> {
  if (dir === undefined) throw usageError("Specify the folder of the game: joypod-publish DIR --game SLUG.");
  const config = readConfigFile(options.config, dir);
  const progress = createProgress(environment.stderr, environment.clock);
  const { platform, clock, signal, print, variables } = environment;
  const context: PublishContext = { progress, platform, clock, signal };
  const packing = {
    folder: dir,
    keepTimes: options.keepTimes === true,
    game: withOptions(config, options),
  };
  if (options.dryRun === true) {
    const { size, sha256 } = await packOnly(context, packing);
    const checked = { size, checksum: `sha256:${sha256}` };
    print(
      options.json === true
        ? JSON.stringify(checked)
        : `The folder can be published: ${bytesText(size)}, ${checked.checksum}.`,
    );
    return;
  }
  const { api, retry } = connect(environment, progress, options, config);
  const published = await publish(context, api, retry, {
    ...packing,
    wish: {
      channel: options.channel ?? config.channel,
      label: options.label,
      notes: options.notes,
      autoActivate: options.activate ? undefined : false,
    },
    waitMs: options.wait ? options.waitMinutes * 60_000 : 0,
    stateFolder: stateFolder(platform, variables),
  });
  const address = api.http.address;
  print(
    options.json === true ? JSON.stringify(presentPublished(published)) : publishedText(published, address),
  );
  throwIfUndistributed(published.distribution, options.waitMinutes);
}

function withOptions(config: ConfigFile, options: PublishOptions): ConfigFile {
  const { title, developer, launcher, engineDir } = options;
  const given = Object.entries({ title, developer, launcher, engineDir }).filter(
    ([, value]) => value !== undefined,
  );
  return {
    ...config,
    ...Object.fromEntries(given),
    ...(options.private === true ? { visibility: "private" } : {}),
  };
}

function presentPublished({ slug, isNewGame, upload, distribution }: Awaited<ReturnType<typeof publish>>) {
  const { versionId, isCurrent, size, checksum } = upload;
  return { slug, isNewGame, versionId, isCurrent, size, checksum, distribution };
}

/** @throws PublishError if no game server holds the version although one should */
function throwIfUndistributed(
  distribution: Awaited<ReturnType<typeof publish>>["distribution"],
  minutes: number,
): void {
  if (distribution === undefined || distribution.cached > 0 || distribution.servers === 0) return;
  throw new PublishError(
    "not_distributed",
    `The version is uploaded, but after ${minutes} minutes no game server holds it. Ask the admin of the server.`,
  );
}

function addVersionCommands(program: Command, environment: Environment): void {
  const { print } = environment;
  program
    .command("versions")
    .description("List the game's versions, newest first.")
    .action((_: object, command: Command) =>
      withGame(environment, command, async ({ api }, isJson) => {
        const { versions } = await api.versions();
        const rows = versions.map((version) => [
          version.id,
          momentText(version.uploadedAt),
          version.label ?? undefined,
          bytesText(version.size),
          [...(version.isCurrent ? ["default"] : []), ...version.channels].join(", "),
          version.isStored ? version.cachedOn : "not stored",
        ]);
        print(
          isJson
            ? JSON.stringify(versions)
            : table(["VERSION", "UPLOADED", "LABEL", "SIZE", "CHANNELS", "SERVERS"], rows),
        );
      }),
    );
  program
    .command("activate")
    .description("Give players this version from their next launch: back to an earlier one, or forward.")
    .argument("<version>", "id or label of the version, as `versions` lists it")
    .action((wanted: string, _: object, command: Command) =>
      withGame(environment, command, async ({ api }, isJson) => {
        const version = await api.activate(await findVersionId(api, wanted));
        print(
          isJson
            ? JSON.stringify(version)
            : `Players get version ${version.label ?? version.id} from their next launch.`,
        );
      }),
    );
  program
    .command("channels")
    .description("List the game's channels and the versions that they lead to.")
    .action((_: object, command: Command) =>
      withGame(environment, command, async ({ api }, isJson) => {
        const { channels } = await api.channels();
        const rows = channels.map(({ name, gameVersionId }) => [name, gameVersionId ?? undefined]);
        print(isJson ? JSON.stringify(channels) : table(["CHANNEL", "VERSION"], rows));
      }),
    );
}

/** Returns the id of a version that is named by its id, or by its label if only one has it. */
async function findVersionId(api: PartnerApi, wanted: string): Promise<string> {
  const { versions } = await api.versions();
  const found = versions.filter(({ id, label }) => id === wanted || label === wanted);
  const [version, other] = found;
  if (version === undefined)
    throw new PublishError("not_found", `The game has no version ${wanted}. See joypod-publish versions.`);
  if (other === undefined || version.id === wanted) return version.id;
  const ids = found.map(({ id }) => id);
  throw new PublishError("ambiguous", `Several versions are named ${wanted}. Use an id:`, { details: ids });
}

async function withGame(
  environment: Environment,
  command: Command,
  work: (connection: Connection, isJson: boolean) => Promise<void>,
): Promise<void> {
  const options = command.optsWithGlobals<GlobalOptions>();
  const config = readConfigFile(options.config, undefined);
  const progress = createProgress(environment.stderr, environment.clock);
  await work(connect(environment, progress, options, config), options.json === true);
}

function connect(
  { variables, clock, random, signal }: Environment,
  progress: Progress,
  options: GlobalOptions,
  config: ConfigFile,
): Connection {
  const address = toAddress(options.url, variables, config);
  const slug = toSlug(options.game, config);
  const key = toKey(variables);
  if (isExposed(address))
    progress.note(`Warning: ${address.origin} is not encrypted. Others on the network can read the key.`);
  const retry: RetryContext = {
    clock,
    random,
    signal,
    onRetry: ({ message }, delayMs) =>
      progress.note(`${message} Trying again in ${Math.ceil(delayMs / 1000)} s.`),
  };
  return { api: new PartnerApi(new HttpClient(address, key, signal), slug, retry), retry };
}

function toMinutes(text: string): number {
  if (!/^\d{1,4}$/.test(text)) throw new InvalidArgumentError("Specify whole minutes from 0 to 9999.");
  return Number(text);
}
