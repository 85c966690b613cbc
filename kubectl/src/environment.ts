import type { Command } from "commander";
import type { Clock } from "#runtime/scheduling/clock.ts";
import type { Environment as Variables } from "#runtime/program/readEnvironment.ts";
import type { ProcessStreams } from "./terminal.ts";
import type { Installation } from "./cluster/installation.ts";

/** The process environment of the commands. */
export interface Environment {
  clock: Clock;
  /** Prints a line to standard output. */
  print: (text: string) => void;
  /** The process's streams, for `admin`. */
  streams: ProcessStreams;
  /** Sets the exit code of a program that has not failed itself. */
  exit: (code: number) => void;
  /** Aborted when the admin interrupts the program. */
  signal: AbortSignal;
  /** The value of KUBECONFIG. */
  kubeconfigVariable?: string | undefined;
  /** The variables HTTPS_PROXY, NO_PROXY and HTTP_PROXY. */
  proxyVariables?: Variables | undefined;
}

/** Runs `work` on the installation that the global options select, and closes the connection. */
export type WithInstallation = <T>(
  command: Command,
  work: (installation: Installation) => Promise<T>,
) => Promise<T>;
