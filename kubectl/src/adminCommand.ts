import { Readable } from "node:stream";
import type { Command } from "commander";
import { AdminError } from "./adminError.ts";
import { apiContainer, findApiPod } from "./cluster/apiPod.ts";
import type { Installation } from "./cluster/installation.ts";
import type { Environment, WithInstallation } from "./environment.ts";
import { type ProcessStreams, readSecret, withRawTerminal } from "./terminal.ts";

/** Adds `kubectl joypod admin …`. */
export function addAdminCommand(
  program: Command,
  { streams, signal, exit }: Pick<Environment, "streams" | "signal" | "exit">,
  withInstallation: WithInstallation,
): void {
  program
    .command("admin")
    .description(
      "Run a `joypod` command in a pod of the API: players, partners, games, saves and the audit trail. `admin --help` lists the commands.",
    )
    .argument("[command...]")
    // Everything but the global options belongs to the command, also --help.
    .helpOption(false)
    .allowUnknownOption()
    .action((words: string[], _: object, command: Command) =>
      withInstallation(command, async (installation) => {
        exit(await runAdminCommand(installation, words, streams, signal));
      }),
    );
}

/** Runs `joypod` with these arguments in a pod of the API and returns its exit code. Throws KubeError. */
async function runAdminCommand(
  installation: Installation,
  words: readonly string[],
  streams: ProcessStreams,
  signal: AbortSignal,
): Promise<number> {
  const { transport, namespace } = installation;
  const pod = await findApiPod(installation);
  if (pod === undefined)
    throw new AdminError(
      "No pod of the API is running. `kubectl joypod status` shows why; try again when one runs.",
    );
  const attached = {
    namespace,
    pod,
    container: apiContainer,
    command: ["joypod", ...words],
    stdout: streams.stdout,
    stderr: streams.stderr,
    signal,
  };
  const isTerminal = streams.stdin.isTTY === true;
  if (!readsInput(words)) {
    // Other input is left alone: it may be the list that a loop of the shell works through.
    if (!isTerminal || streams.stdout.isTTY !== true)
      return transport.attach({ ...attached, stdin: undefined, terminal: undefined });
    return withRawTerminal(streams, (terminal) =>
      transport.attach({ ...attached, stdin: streams.stdin, terminal }),
    );
  }
  const stdin =
    isTerminal && words.includes(passwordOption)
      ? Readable.from([Buffer.from(`${await readSecret(streams, "Password: ")}\n`)])
      : streams.stdin;
  return transport.attach({ ...attached, stdin, terminal: undefined });
}

const passwordOption = "--password-stdin";

/** Returns whether the command reads its standard input. */
function readsInput(words: readonly string[]): boolean {
  return words.includes(passwordOption) || words.includes("import");
}
