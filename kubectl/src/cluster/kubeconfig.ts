import { existsSync } from "node:fs";
import { delimiter } from "node:path";
import { KubeConfig } from "@kubernetes/client-node";

/** Where a kubeconfig may be named. */
export interface KubeconfigPlaces {
  /** --kubeconfig: one file. */
  file?: string | undefined;
  /** KUBECONFIG: a list of files. */
  variable?: string | undefined;
}

/**
 * Returns the kubeconfig that kubectl would take: of the file, or of those of KUBECONFIG, or ~/.kube/config.
 * Throws when none can be read.
 */
export function readKubeconfig({ file, variable = "" }: KubeconfigPlaces): KubeConfig {
  if (file !== undefined) return fromFile(file);
  if (variable !== "") return fromFiles(variable.split(delimiter).filter((path) => path !== ""));
  const config = new KubeConfig();
  config.loadFromDefault();
  return config;
}

/**
 * The client's own merging lets the last file say the context, and fails at a file that is missing and at a
 * name that two files have.
 */
function fromFiles(paths: readonly string[]): KubeConfig {
  const configs = paths.filter((path) => existsSync(path)).map(fromFile);
  if (configs.length === 0) throw new Error("KUBECONFIG names no file that is there");
  const merged = new KubeConfig();
  merged.loadFromOptions({
    clusters: firstOfEachName(configs.flatMap(({ clusters }) => clusters)),
    users: firstOfEachName(configs.flatMap(({ users }) => users)),
    contexts: firstOfEachName(configs.flatMap(({ contexts }) => contexts)),
    currentContext: configs.map((config) => config.getCurrentContext()).find(Boolean),
  });
  return merged;
}

function fromFile(path: string): KubeConfig {
  const config = new KubeConfig();
  config.loadFromFile(path);
  return config;
}

function firstOfEachName<T extends { name: string }>(entries: readonly T[]): T[] {
  const byName = new Map<string, T>();
  for (const entry of entries) if (!byName.has(entry.name)) byName.set(entry.name, entry);
  return [...byName.values()];
}
