import { readFileSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";

/** The cluster of `make up`. */
export const mainCluster = process.env["JOYPOD_CLUSTER"] ?? "joypod";

/** The folder in which the tools keep what they have built. */
export function cacheFolder(): string {
  const { JOYPOD_CACHE, XDG_CACHE_HOME } = process.env;
  return JOYPOD_CACHE ?? join(XDG_CACHE_HOME ?? join(homedir(), ".cache"), "joypod");
}

/** The folder in which the tools keep what belongs to a cluster: its kubeconfig, the references of its images, its state. */
export function stateFolderOf(cluster: string): string {
  return join(cacheFolder(), "clusters", cluster);
}

/** The value of that name in the state of the cluster of `make up`. */
export function stateOfMainCluster(name: string): string {
  const folder = stateFolderOf(mainCluster);
  let state: string;
  try {
    state = readFileSync(join(folder, "state.env"), "utf8");
  } catch (cause) {
    throw new Error(`There is no platform in ${folder}; bring it up with \`make up\`.`, { cause });
  }
  return valueIn(state, name);
}

/** The value of that name in lines of `NAME=value`. */
export function valueIn(text: string, name: string): string {
  const value = new RegExp(`^${name}=(.+)$`, "m").exec(text)?.[1];
  if (value === undefined) throw new Error(`There is no ${name} in: ${text}`);
  return value;
}
