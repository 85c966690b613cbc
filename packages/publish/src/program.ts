import { Command, InvalidArgumentError } from "commander";
import { mebibyte } from "#contracts/limits.ts";
import { configName, readConfigFile, type ConfigFile } from "./config.ts";
import { connect, type Environment, type GlobalOptions } from "./connect.ts";
import { addGameCommands } from "./gameCommands.ts";
import { createProgress } from "./output/progress.ts";
import { publishedText } from "./output/publishedText.ts";
import { bytesText } from "./output/text.ts";
import { packOnly, publish, type PublishContext, type Published } from "./publish.ts";
import { PublishError, usageError } from "./publishError.ts";
import { stateFolder } from "./upload/uploadState.ts";

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
  chunkMib: number;
}

const waitMinutesDefault = 30;
/** Fits proxies that limit bodies to 100 MB. */
const chunkMebibytesDefault = 64;

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
    .option("--no-wait", "do not wait for the game servers and the verification")
    .option("--wait-minutes <number>", "longest time to wait for each", toMinutes, waitMinutesDefault)
    .option(
      "--chunk-mib <number>",
      "largest request body; proxies limit it",
      toMebibytes,
      chunkMebibytesDefault,
    )
    .addHelpText("after", "\nThe partner's key is read from the environment variable JOYPOD_API_KEY.")
    .showHelpAfterError("Run `joypod-publish --help` for a list of options.")
    .exitOverride()
    .action((dir: string | undefined, options: PublishOptions) => runPublish(environment, dir, options));
  addGameCommands(program, environment);
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
    chunkBytes: options.chunkMib * mebibyte,
  });
  const failure = failureOf(published, options.waitMinutes);
  if (options.json !== true) print(publishedText(published, api.http.address));
  // With --json, a failure is printed with the result, as one document.
  else if (failure === undefined) print(JSON.stringify(presentPublished(published)));
  if (failure !== undefined) throw failure;
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

function presentPublished({ upload, ...published }: Published): object {
  const { versionId, size, checksum } = upload;
  return { ...published, versionId, size, checksum };
}

/** Returns an error if no game server holds the version although one should, or it was found to be bad. */
function failureOf(published: Published, minutes: number): PublishError | undefined {
  const { distribution, verification } = published;
  const result = presentPublished(published);
  if (distribution?.cached === 0 && distribution.pending.some(({ isExpected }) => isExpected)) {
    const after = distribution.pending.some(({ isAwaited }) => isAwaited) ? `after ${minutes} minutes ` : "";
    return new PublishError(
      "not_distributed",
      `The version is uploaded, but ${after}no game server holds it. Ask the admin of the server.`,
      { details: distribution.pending.map(({ id, message = "pending" }) => `${id}: ${message}`), result },
    );
  }
  if (verification?.verdict === "bad")
    return new PublishError("bad_verdict", "The version is uploaded, but does not work as it should.", {
      result,
    });
  if (verification?.isRequired === true && verification.verdict !== "good")
    return new PublishError(
      "unverified",
      "The version is uploaded, but players get it only once it is verified.",
      { result },
    );
  return undefined;
}

function toMinutes(text: string): number {
  if (!/^\d{1,4}$/.test(text)) throw new InvalidArgumentError("Specify whole minutes from 0 to 9999.");
  return Number(text);
}

function toMebibytes(text: string): number {
  if (!/^[1-9]\d{0,3}$/.test(text)) throw new InvalidArgumentError("Specify whole MiB from 1 to 9999.");
  return Number(text);
}
