import { readFileSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";

/**
 * The cluster of the platform under test. It was created by `make up`; clusters of a JOYPOD_KUBE_CONTEXT keep
 * their state in another folder, which tests do not read.
 */
export const mainCluster = process.env["JOYPOD_CLUSTER"] ?? "joypod";

/** Returns the state folder of a cluster. */
export function clusterFolder(name: string): string {
  const { JOYPOD_CACHE, XDG_CACHE_HOME } = process.env;
  return join(JOYPOD_CACHE ?? join(XDG_CACHE_HOME ?? join(homedir(), ".cache"), "joypod"), "clusters", name);
}

/**
 * Returns a value of a cluster's state.
 *
 * @throws If there is no such cluster.
 */
export function clusterState(name: string, variable: "ENGINE" | "FROM_SOURCE" | "WEB_PORT"): string {
  const file = join(clusterFolder(name), "state.env");
  const value = new RegExp(`^${variable}=(.+)$`, "m").exec(read(file))?.[1];
  if (value === undefined)
    throw new Error(`${file} has no ${variable}; bring the platform up with \`make up\`.`);
  return value;
}

function read(file: string): string {
  try {
    return readFileSync(file, "utf8");
  } catch (cause) {
    throw new Error(`There is no ${file}; bring the platform up with \`make up\`.`, { cause });
  }
}
