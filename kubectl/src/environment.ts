import type { Command } from "commander";
import type { Clock } from "#runtime/scheduling/clock.ts";
import type { Environment as Variables } from "#runtime/program/readEnvironment.ts";
import type { Installation } from "./cluster/installation.ts";

/** What the commands have of their process. */
export interface Environment {
  clock: Clock;
  /** To standard output, with a line feed. */
  print: (text: string) => void;
  /** Aborted when the admin interrupts. */
  signal: AbortSignal;
  /** What KUBECONFIG says. */
  kubeconfigVariable?: string | undefined;
  /** What HTTPS_PROXY, NO_PROXY and HTTP_PROXY say. */
  proxyVariables?: Variables | undefined;
}

/** Runs work on the installation that the global options name, and closes the connection. */
export type WithInstallation = <T>(
  command: Command,
  work: (installation: Installation) => Promise<T>,
) => Promise<T>;
