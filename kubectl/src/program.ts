import { Command, InvalidArgumentError, Option } from "commander";
import { gameNodes } from "#contracts/crd/gameNode.ts";
import { gameCaches } from "#contracts/crd/gameCache.ts";
import { gameSessions } from "#contracts/crd/gameSession.ts";
import { objectName } from "#contracts/crd/schema.ts";
import { leases } from "#kube/api/builtin.ts";
import type { KubeObject, Stored } from "#kube/api/object.ts";
import { ResourceClient } from "#kube/client/resourceClient.ts";
import type { ResourceType } from "#kube/api/resourceType.ts";
import { addAdminCommand } from "./adminCommand.ts";
import { AdminError, exitCodes } from "./adminError.ts";
import { connect } from "./cluster/connect.ts";
import { findInstallation, type Installation } from "./cluster/installation.ts";
import { observe } from "./cluster/observe.ts";
import type { Environment, WithInstallation } from "./environment.ts";
import { cacheTable, gameTable, nodeTable } from "./tables.ts";
import { addCompletionCommand } from "./completion.ts";
import { formatOutput, outputFormats, type OutputFormat } from "./output.ts";
import { addMaintenanceCommands } from "./maintenanceCommands.ts";
import { addPlayerCommands } from "./playerCommands.ts";
import { toDurationMs } from "./arguments.ts";
import { planStops } from "./session/planStops.ts";
import { readGameOutput } from "./session/gameOutput.ts";
import { findEvidence, hasGameFailed, presentSession } from "./session/sessionStory.ts";
import { launchSteps } from "./session/launchMoments.ts";
import { sessionTable, watchSessions } from "./session/sessionTable.ts";
import { stopSessions } from "./session/stopSessions.ts";
import { presentStatus, statusOf } from "./status/status.ts";
import { collect, writeBundle } from "./supportBundle/collect.ts";

interface GlobalOptions {
  kubeconfig?: string;
  context?: string;
  namespace?: string;
}

interface OutputOptions {
  output?: OutputFormat;
}

/** Returns the commands of `kubectl joypod`. */
export function createProgram(environment: Environment): Command {
  const program = new Command("kubectl-joypod")
    .description("Manage Joypod in a cluster. Run as `kubectl joypod`.")
    .option("--kubeconfig <file>", "path of the kubeconfig (default: KUBECONFIG, then ~/.kube/config)")
    .option("--context <name>", "context of the kubeconfig")
    .option(
      "-n, --namespace <name>",
      "namespace of the release; required if the cluster has several releases",
    )
    .showHelpAfterError("Run `kubectl joypod --help` for a list of commands.")
    .exitOverride();
  const withInstallation = onInstallations(environment);
  addViewCommands(program, environment, withInstallation);
  addSessionCommands(program, environment, withInstallation);
  addMaintenanceCommands(program, environment, withInstallation);
  addAdminCommand(program, environment, withInstallation);
  addPlayerCommands(program, environment, withInstallation);
  addCompletionCommand(program, environment, withInstallation);
  program
    .command("support-bundle")
    .description(
      "Write objects, events, logs and versions to a tar.gz for support. Secrets, e-mail addresses, keys, and players' IDs and addresses are redacted.",
    )
    .option(
      "--output-file <file>",
      "path of the file (default: joypod-support-TIME.tar.gz in the current directory)",
    )
    .action(async ({ outputFile }: { outputFile?: string }, command: Command) => {
      const now = environment.clock.now();
      const folder = `joypod-support-${now.toISOString().replaceAll(/[:.]/g, "-")}`;
      const path = outputFile ?? `${folder}.tar.gz`;
      const files = await withInstallation(command, collect);
      await writeBundle(path, folder, files, now);
      environment.print(
        `Wrote ${files.length} files to ${path}. Secrets, e-mail addresses, keys, and players' IDs and addresses are redacted. Review the files before you share them.`,
      );
    });
  return program;
}

function onInstallations({
  clock,
  kubeconfigVariable,
  proxyVariables,
}: Pick<Environment, "clock" | "kubeconfigVariable" | "proxyVariables">): WithInstallation {
  return async (command, work) => {
    const { namespace, ...options } = command.optsWithGlobals<GlobalOptions>();
    const connection = connect({ ...options, kubeconfigVariable, proxyVariables }, clock);
    try {
      return await work(await findInstallation(connection, namespace));
    } finally {
      await connection.transport.close();
    }
  };
}

/** Adds `-o json|yaml` to a command. */
function withOutput(command: Command): Command {
  return command.addOption(new Option("-o, --output <format>", "output format").choices(outputFormats));
}

function addViewCommands(program: Command, { print }: Environment, withInstallation: WithInstallation): void {
  const show = (format: OutputFormat | undefined, value: unknown, text: () => string): void =>
    print(format === undefined ? text() : formatOutput(format, value));
  withOutput(
    program
      .command("status")
      .description(
        "Show programs, leaders, nodes, slots, sessions, games, stores and warnings on one screen.",
      ),
  ).action(({ output }: OutputOptions, command: Command) =>
    withInstallation(command, async (installation) => {
      const observed = await observe(installation);
      const now = installation.now();
      const status = statusOf(installation, observed, now);
      show(output, status, () => presentStatus(status, now));
    }),
  );
  withOutput(
    program
      .command("nodes")
      .description("List game nodes with their slots and free space, and why a node accepts no sessions."),
  ).action(({ output }: OutputOptions, command: Command) =>
    withInstallation(command, async ({ transport, gameNodeSelector, heartbeatSelector, now }) => {
      const [{ items }, heartbeats] = await Promise.all([
        new ResourceClient(transport, gameNodes).listAll({ labelSelector: gameNodeSelector }),
        new ResourceClient(transport, leases).listAll({ labelSelector: heartbeatSelector }),
      ]);
      show(output, items, () => nodeTable(items, heartbeats.items, now()));
    }),
  );
  withOutput(
    program
      .command("games")
      .description("List games that have an archive, the nodes that hold them and the number of players."),
  ).action(({ output }: OutputOptions, command: Command) =>
    withInstallation(command, async (installation) => {
      const [caches, sessions] = await Promise.all([
        inSessions(installation, gameCaches),
        inSessions(installation, gameSessions),
      ]);
      show(output, caches, () => gameTable(caches, sessions));
    }),
  );
  withOutput(
    program.command("cache").description("List the games on each node, including failed downloads."),
  ).action(({ output }: OutputOptions, command: Command) =>
    withInstallation(command, async (installation) => {
      const [{ items }, caches] = await Promise.all([
        new ResourceClient(installation.transport, gameNodes).listAll({
          labelSelector: installation.gameNodeSelector,
        }),
        inSessions(installation, gameCaches),
      ]);
      const held = items.map(({ metadata: { name }, status }) => ({
        node: name,
        entries: status?.cache?.entries ?? [],
      }));
      show(output, held, () => cacheTable(items, caches, installation.now()));
    }),
  );
}

function addSessionCommands(
  program: Command,
  environment: Environment,
  withInstallation: WithInstallation,
): void {
  const { clock, print } = environment;
  withOutput(
    program.command("sessions").description("List sessions and what those that are not running wait for."),
  )
    .option("-w, --watch", "print the list again after each change")
    .action(({ output, watch }: OutputOptions & { watch?: true }, command: Command) =>
      withInstallation(command, async (installation) => {
        if (watch === true && output !== undefined)
          throw new AdminError(
            `--watch cannot be combined with --output ${output}. Remove one of them.`,
            exitCodes.usage,
          );
        if (watch === true) return watchSessions(installation, environment);
        const sessions = await inSessions(installation, gameSessions);
        print(
          output === undefined ? sessionTable(sessions, installation.now()) : formatOutput(output, sessions),
        );
      }),
    );
  withOutput(
    program
      .command("session")
      .description(
        "Show a session: the steps of its launch, its conditions and its events. If its game failed, also the end of its output.",
      )
      .argument("<name>"),
  )
    .option("--log", "print only the end of the game's output, also when the session is gone")
    .action((name: string, { output, log }: OutputOptions & { log?: true }, command: Command) =>
      withInstallation(command, async (installation) => {
        if (log === true) {
          const read = await readGameOutput(installation, toObjectName(name));
          if ("problem" in read) throw new AdminError(read.problem, exitCodes.notFound);
          print(output === undefined ? read.text.trimEnd() : formatOutput(output, { log: read.text }));
          return;
        }
        const evidence = await findEvidence(installation, name);
        const { session, events } = evidence;
        print(
          output === undefined
            ? presentSession(
                evidence,
                hasGameFailed(session) ? await readGameOutput(installation, name) : undefined,
              )
            : formatOutput(output, { session, steps: launchSteps(evidence), events }),
        );
      }),
    );
  program
    .command("stop")
    .description("Stop sessions gracefully. Each save is stored first.")
    .argument("<name...>")
    .option(
      "--wait <seconds>",
      "seconds to wait for the sessions to end; 0 returns immediately",
      toSeconds,
      60,
    )
    .option("--in <duration>", "tell the players, and stop after this time, such as 5m", toDurationMs)
    .action((names: string[], { wait, in: inMs }: { wait: number; in?: number }, command: Command) =>
      withInstallation(command, async (installation) => {
        if (inMs !== undefined) {
          print(await planStops(installation, names, inMs));
          return;
        }
        const stopped = await stopSessions(installation, names, wait * 1000, clock);
        print(stopped.map(({ message }) => message).join("\n"));
        if (stopped.some(({ outcome }) => outcome === "missing"))
          throw new AdminError("Some sessions were not found.", exitCodes.notFound);
        if (stopped.some(({ outcome }) => outcome === "unsaved"))
          throw new AdminError(
            "Some last saves are not stored yet. Their nodes keep them and store them as soon as possible.",
          );
        if (wait > 0 && stopped.some(({ outcome }) => outcome === "stopping"))
          throw new AdminError("Some sessions are still stopping. They continue in the background.");
      }),
    );
}

async function inSessions<T extends KubeObject>(
  { transport, sessionsNamespace }: Installation,
  type: ResourceType<T>,
): Promise<Stored<T>[]> {
  return (await new ResourceClient(transport, type).listAll({ namespace: sessionsNamespace })).items;
}

/** Returns a name that is safe in paths and arguments. */
function toObjectName(text: string): string {
  const { data } = objectName.safeParse(text);
  if (data === undefined) throw new AdminError(`${text} is not the name of a session.`, exitCodes.usage);
  return data;
}

function toSeconds(text: string): number {
  if (!/^\d{1,4}$/.test(text)) throw new InvalidArgumentError("Specify whole seconds from 0 to 9999.");
  return Number(text);
}
