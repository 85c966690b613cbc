import { execFile } from "node:child_process";
import { join } from "node:path";
import { promisify } from "node:util";

const run = promisify(execFile);

/** Root of the repository. */
export const repositoryRoot = join(import.meta.dirname, "../../..");

/** For servers in Go: they collect garbage a quarter as often, and take more memory instead. */
export const rareCollections = { GOGC: "400" } as const;
/** For commands in Go, which end before garbage matters. */
export const noCollections = { GOGC: "off" } as const;

const paths = new Map<string, Promise<string>>();

/**
 * Path of a program of tools/programs (etcd, kube-apiserver, kubectl, helm, minio …); builds it when it is
 * not cached.
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
