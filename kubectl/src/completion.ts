import type { Argument, Command, Option } from "commander";
import { gameNodes } from "#contracts/crd/gameNode.ts";
import { gameSessions } from "#contracts/crd/gameSession.ts";
import { ResourceClient } from "#kube/client/resourceClient.ts";
import type { Installation } from "./cluster/installation.ts";
import type { Environment, WithInstallation } from "./environment.ts";

/** Kubectl's directive 4 (Cobra's ShellCompDirectiveNoFileComp): offer no file names. */
const noFileNames = ":4";

/** Finds the values of an argument, by command. */
const argumentValues: Readonly<Record<string, (installation: Installation) => Promise<string[]>>> = {
  session: sessionNames,
  stop: sessionNames,
  drain: nodeNames,
};

/**
 * Adds the hidden command `__complete`, which `kubectl_complete-joypod` runs with `--` and the words after
 * `kubectl joypod`; the last one is incomplete. Prints a candidate per line, then a directive, as kubectl
 * expects of plugins.
 */
export function addCompletionCommand(
  program: Command,
  { print }: Pick<Environment, "print">,
  withInstallation: WithInstallation,
): void {
  program
    .command("__complete", { hidden: true })
    .argument("[words...]")
    .helpOption(false)
    .action(async (words: string[], _: object, command: Command) => {
      const candidates = await candidatesOf(program, words, (find) => withInstallation(command, find));
      print([...candidates, noFileNames].join("\n"));
    });
}

async function candidatesOf(
  program: Command,
  words: readonly string[],
  read: (find: (installation: Installation) => Promise<string[]>) => Promise<string[]>,
): Promise<string[]> {
  const incomplete = words.at(-1) ?? "";
  const { command, pending, given } = walk(program, words.slice(0, -1));
  return (await offers()).filter((candidate) => candidate.startsWith(incomplete));

  async function offers(): Promise<string[]> {
    if (pending !== undefined) return [...(pending.argChoices ?? [])];
    if (incomplete.startsWith("-"))
      return [...command.options, ...program.options].flatMap(({ long, hidden }) =>
        long === undefined || hidden ? [] : [long],
      );
    const commands = command
      .createHelp()
      .visibleCommands(command)
      .map((child) => child.name());
    if (command.commands.length > 0) return commands;
    const find = argumentValues[command.name()];
    if (find === undefined || !takesAnother(command.registeredArguments, given.length)) return [];
    // Without a cluster there is nothing to offer, and an error would break the command line.
    const values = await read(find).catch((): string[] => []);
    return values.filter((value) => !given.includes(value));
  }
}

/**
 * Returns the command that the words select, its arguments so far, and the option that waits for a value.
 * Sets the global options.
 */
function walk(
  program: Command,
  words: readonly string[],
): { command: Command; pending?: Option | undefined; given: string[] } {
  let command = program;
  let pending: Option | undefined;
  const given: string[] = [];
  for (const word of words) {
    if (pending !== undefined) {
      if (program.options.includes(pending)) program.setOptionValue(pending.attributeName(), word);
      pending = undefined;
      continue;
    }
    if (word.startsWith("-")) {
      const option = [...command.options, ...program.options].find((known) =>
        [known.short, known.long].includes(word),
      );
      if (option?.required === true) pending = option;
      continue;
    }
    const child = command.commands.find((known) => known.name() === word);
    if (child === undefined) given.push(word);
    else command = child;
  }
  return { command, pending, given };
}

function takesAnother(known: readonly Argument[], count: number): boolean {
  return count < known.length || known.at(-1)?.variadic === true;
}

async function sessionNames({ transport, sessionsNamespace }: Installation): Promise<string[]> {
  const { items } = await new ResourceClient(transport, gameSessions).listAll({
    namespace: sessionsNamespace,
  });
  return items.map(({ metadata }) => metadata.name);
}

async function nodeNames({ transport, gameNodeSelector }: Installation): Promise<string[]> {
  const { items } = await new ResourceClient(transport, gameNodes).listAll({
    labelSelector: gameNodeSelector,
  });
  return items.map(({ metadata }) => metadata.name);
}
