import { execFile } from "node:child_process";
import { join } from "node:path";
import { promisify } from "node:util";

const run = promisify(execFile);

/** Root of the repository. */
export const repositoryRoot = join(import.meta.dirname, "../../..");

/** For Go servers: fewer garbage collections, more memory. */
export const rareCollections = { GOGC: "400" } as const;
/** For Go commands, which exit before garbage matters. */
export const noCollections = { GOGC: "off" } as const;

const paths = new Map<string, Promise<string>>();

/**
 * Returns the path of a program of tools/programs (etcd, kube-apiserver, kubectl, helm, minio …). Builds it
 * if it is not cached.
 */
export function programPath(name: string): Promise<string> {
  const path = paths.get(name) ?? findProgram(name);
  paths.set(name, path);
  return path;
}

async function findProgram(name: string): Promise<string> {
  const { stdout } = await run(join(repositoryRoot, "tools/programs/path.sh"), [name], {
    timeout: 20 * 60_000,
  });
  return stdout.trim();
}
