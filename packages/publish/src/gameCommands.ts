import type { Command } from "commander";
import { table } from "#runtime/textTable.ts";
import { readConfigFile } from "./config.ts";
import { connect, type Environment, type GlobalOptions } from "./connect.ts";
import { createProgress } from "./output/progress.ts";
import { bytesText, durationText, momentText } from "./output/text.ts";
import { PublishError } from "./publishError.ts";
import type { PartnerApi } from "./server/partnerApi.ts";
import type { Run, Version } from "./server/responses.ts";
import { isMissing } from "./server/serverError.ts";

/** Adds the commands on a game that is registered: versions, channels and runs. */
export function addGameCommands(program: Command, environment: Environment): void {
  const { print } = environment;
  const show = (isJson: boolean, value: unknown, text: () => string): void =>
    print(isJson ? JSON.stringify(value) : text());
  program
    .command("versions")
    .description("List the game's versions, newest first.")
    .action((_: object, command: Command) =>
      withGame(environment, command, async (api, isJson) => {
        const versions = await api.versions();
        show(isJson, versions, () => versionTable(versions));
      }),
    );
  program
    .command("activate")
    .description("Give players this version from their next launch: back to an earlier one, or forward.")
    .argument("<version>", "id or label of the version, as `versions` lists it")
    .action((wanted: string, _: object, command: Command) =>
      withGame(environment, command, async (api, isJson) => {
        const version = await api.activate(await findVersionId(api, wanted));
        const name = version.label ?? version.id;
        show(isJson, version, () => `Players get version ${name} from their next launch.`);
      }),
    );
  program
    .command("channels")
    .description("List the game's channels and the versions that they lead to.")
    .action((_: object, command: Command) =>
      withGame(environment, command, async (api, isJson) => {
        const channels = await api.channels();
        const rows = channels.map(({ name, gameVersionId }) => [name, gameVersionId ?? undefined]);
        show(isJson, channels, () => table(["CHANNEL", "VERSION"], rows));
      }),
    );
  program
    .command("runs")
    .description("List the game's newest sessions: how long they were played and how they ended.")
    .option("--crashed", "only sessions in which the game itself failed")
    .action(({ crashed }: { crashed?: true }, command: Command) =>
      withGame(environment, command, async (api, isJson) => {
        const runs = await listRuns(api, crashed === true);
        show(isJson, runs, () => runTable(runs));
      }),
    );
  program
    .command("log")
    .description("Print the end of a session's output, which is kept for seven days.")
    .argument("<run>", "id of the session, as `runs` lists it")
    .action((run: string, _: object, command: Command) =>
      withGame(environment, command, async (api, isJson) => {
        const text = await api.log(run);
        show(isJson, { log: text }, () => text.trimEnd());
      }),
    );
}

function versionTable(versions: readonly Version[]): string {
  const rows = versions.map((version) => [
    version.id,
    momentText(version.uploadedAt),
    version.label ?? undefined,
    bytesText(version.size),
    [...(version.isCurrent ? ["default"] : []), ...version.channels].join(", "),
    version.isStored ? version.cachedOn : "not stored",
    version.verification?.verdict ?? version.verification?.state,
  ]);
  return table(["VERSION", "UPLOADED", "LABEL", "SIZE", "CHANNELS", "SERVERS", "VERDICT"], rows);
}

function runTable(runs: readonly Run[]): string {
  const rows = runs.map(({ id, startedAt, gameVersionId, versionLabel, ...run }) => [
    id,
    momentText(startedAt),
    versionLabel ?? gameVersionId,
    run.playSeconds === null ? undefined : durationText(run.playSeconds),
    run.usage === null ? undefined : `${Math.round(run.usage.peakMemoryMb)} MiB`,
    endText(run),
  ]);
  return table(["RUN", "STARTED", "VERSION", "PLAYED", "MEMORY", "END"], rows);
}

function endText({ failure, endReason, status }: Pick<Run, "failure" | "endReason" | "status">): string {
  if (failure !== null) return failure.message ?? failure.reason;
  return endReason ?? status;
}

async function listRuns(api: PartnerApi, onlyCrashed: boolean): Promise<Run[]> {
  try {
    return await api.runs(onlyCrashed);
  } catch (error) {
    if (!isMissing(error) || (await api.findGame()) === undefined) throw error;
    throw new PublishError("unsupported", "This server is too old to list sessions.", { cause: error });
  }
}

/** Returns the id of a version that is named by its id, or by its label if only one has it. */
async function findVersionId(api: PartnerApi, wanted: string): Promise<string> {
  const versions = await api.versions();
  const found = versions.filter(({ id, label }) => id === wanted || label === wanted);
  const [version, other] = found;
  if (version === undefined)
    throw new PublishError(
      "not_found",
      `The game has no version ${wanted}. List them: npx joypod-publish versions`,
    );
  if (other === undefined || version.id === wanted) return version.id;
  const ids = found.map(({ id }) => id);
  throw new PublishError("ambiguous", `Several versions are named ${wanted}. Use an id:`, { details: ids });
}

async function withGame(
  environment: Environment,
  command: Command,
  work: (api: PartnerApi, isJson: boolean) => Promise<void>,
): Promise<void> {
  const options = command.optsWithGlobals<GlobalOptions>();
  const config = readConfigFile(options.config, undefined);
  const progress = createProgress(environment.stderr, environment.clock);
  const { api } = connect(environment, progress, options, config);
  await work(api, options.json === true);
}
