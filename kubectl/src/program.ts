import { Command, InvalidArgumentError, Option } from "commander";
import { gameNodes } from "#contracts/crd/gameNode.ts";
import { gameCaches } from "#contracts/crd/gameCache.ts";
import { gameSessions } from "#contracts/crd/gameSession.ts";
import { leases } from "#kube/api/builtin.ts";
import type { KubeObject, Stored } from "#kube/api/object.ts";
import { ResourceClient } from "#kube/client/resourceClient.ts";
import type { ResourceType } from "#kube/api/resourceType.ts";
import { AdminError, exitCodes } from "./adminError.ts";
import { connect } from "./cluster/connect.ts";
import { findInstallation, type Installation } from "./cluster/installation.ts";
import { observe } from "./cluster/observe.ts";
import type { Environment, WithInstallation } from "./environment.ts";
import { cacheTable, gameTable, nodeTable } from "./tables.ts";
import { addMaintenanceCommands } from "./maintenanceCommands.ts";
import { findEvidence, presentSession } from "./session/sessionStory.ts";
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
  output?: "json";
}

/** Returns the commands of `kubectl joypod`. */
export function createProgram(environment: Environment): Command {
  const program = new Command("kubectl-joypod")
    .description("Looks after Joypod in a cluster, as `kubectl joypod`.")
    .option("--kubeconfig <file>", "another than that of KUBECONFIG, or ~/.kube/config")
    .option("--context <name>", "of the kubeconfig")
    .option("-n, --namespace <name>", "the release's namespace; needed only where the cluster has several")
    .showHelpAfterError("`kubectl joypod --help` lists the commands.")
    .exitOverride();
  const withInstallation = onInstallations(environment);
  addLooks(program, environment, withInstallation);
  addSessionCommands(program, environment, withInstallation);
  addMaintenanceCommands(program, environment, withInstallation);
  program
    .command("support-bundle")
    .description(
      "write a tar.gz for whoever helps: objects, events, logs and versions, without secrets, e-mails, keys, and players' ids and addresses",
    )
    .option("--output-file <file>", "where to; a file named after the time in this folder unless given")
    .action(async ({ outputFile }: { outputFile?: string }, command: Command) => {
      const now = environment.clock.now();
      const folder = `joypod-support-${now.toISOString().replaceAll(/[:.]/g, "-")}`;
      const path = outputFile ?? `${folder}.tar.gz`;
      const files = await withInstallation(command, collect);
      await writeBundle(path, folder, files, now);
      environment.print(
        `${path} holds ${files.length} files. Secrets, e-mails, keys, and players' ids and addresses were taken out; look through it before you send it.`,
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

/** `-o json`, where there is something that programs read. */
function withOutput(command: Command): Command {
  return command.addOption(new Option("-o, --output <format>", "`json` for programs").choices(["json"]));
}

function addLooks(program: Command, { print }: Environment, withInstallation: WithInstallation): void {
  const show = (isJson: boolean, value: unknown, text: () => string): void =>
    print(isJson ? JSON.stringify(value, null, 2) : text());
  withOutput(
    program
      .command("status")
      .description(
        "one screen: programs, leaders, nodes, slots, sessions, games, stores, and what to look at",
      ),
  ).action(({ output }: OutputOptions, command: Command) =>
    withInstallation(command, async (installation) => {
      const observed = await observe(installation);
      const now = installation.now();
      const status = statusOf(installation, observed, now);
      show(output === "json", status, () => presentStatus(status, now));
    }),
  );
  withOutput(
    program.command("nodes").description("game nodes: slots, room, and what keeps one from taking sessions"),
  ).action(({ output }: OutputOptions, command: Command) =>
    withInstallation(command, async ({ transport, gameNodeSelector, heartbeatSelector, now }) => {
      const [{ items }, heartbeats] = await Promise.all([
        new ResourceClient(transport, gameNodes).listAll({ labelSelector: gameNodeSelector }),
        new ResourceClient(transport, leases).listAll({ labelSelector: heartbeatSelector }),
      ]);
      show(output === "json", items, () => nodeTable(items, heartbeats.items, now()));
    }),
  );
  withOutput(
    program
      .command("games")
      .description(
        "games that have an archive: where they are, and how many play them; those without one are in the catalogue alone",
      ),
  ).action(({ output }: OutputOptions, command: Command) =>
    withInstallation(command, async (installation) => {
      const [caches, sessions] = await Promise.all([
        inSessions(installation, gameCaches),
        inSessions(installation, gameSessions),
      ]);
      show(output === "json", caches, () => gameTable(caches, sessions));
    }),
  );
  withOutput(
    program.command("cache").description("what each node holds, and what it could not fetch"),
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
      show(output === "json", held, () => cacheTable(items, caches, installation.now()));
    }),
  );
}

function addSessionCommands(
  program: Command,
  environment: Environment,
  withInstallation: WithInstallation,
): void {
  const { clock, print } = environment;
  withOutput(program.command("sessions").description("sessions, and what those wait for that are not played"))
    .option("-w, --watch", "go on, and print again what has changed")
    .action(({ output, watch }: OutputOptions & { watch?: true }, command: Command) =>
      withInstallation(command, async (installation) => {
        if (watch === true && output === "json")
          throw new AdminError(
            "--watch prints tables: leave it out, or leave out --output json.",
            exitCodes.usage,
          );
        if (watch === true) return watchSessions(installation, environment);
        const sessions = await inSessions(installation, gameSessions);
        print(
          output === "json" ? JSON.stringify(sessions, null, 2) : sessionTable(sessions, installation.now()),
        );
      }),
    );
  withOutput(
    program
      .command("session")
      .description(
        "one session: its waterfall from the launch to the first viewer, its conditions and events",
      )
      .argument("<name>"),
  ).action((name: string, { output }: OutputOptions, command: Command) =>
    withInstallation(command, async (installation) => {
      const evidence = await findEvidence(installation, name);
      const { session, events } = evidence;
      print(
        output === "json"
          ? JSON.stringify({ session, steps: launchSteps(evidence), events }, null, 2)
          : presentSession(evidence),
      );
    }),
  );
  program
    .command("stop")
    .description("end sessions gracefully: each save is stored first")
    .argument("<name...>")
    .option("--wait <seconds>", "for their ends; 0 for not at all", toSeconds, 60)
    .action((names: string[], { wait }: { wait: number }, command: Command) =>
      withInstallation(command, async (installation) => {
        const stopped = await stopSessions(installation, names, wait * 1000, clock);
        print(stopped.map(({ message }) => message).join("\n"));
        if (stopped.some(({ outcome }) => outcome === "missing"))
          throw new AdminError("Not every session was there.", exitCodes.notFound);
        if (stopped.some(({ outcome }) => outcome === "unsaved"))
          throw new AdminError(
            "Not every last save is stored yet; its node keeps it, and stores it as soon as it can.",
          );
        if (wait > 0 && stopped.some(({ outcome }) => outcome === "stopping"))
          throw new AdminError("Not every session has ended yet; they go on ending by themselves.");
      }),
    );
}

async function inSessions<T extends KubeObject>(
  { transport, sessionsNamespace }: Installation,
  type: ResourceType<T>,
): Promise<Stored<T>[]> {
  return (await new ResourceClient(transport, type).listAll({ namespace: sessionsNamespace })).items;
}

function toSeconds(text: string): number {
  if (!/^\d{1,4}$/.test(text)) throw new InvalidArgumentError("Give whole seconds, from 0 to 9999.");
  return Number(text);
}
