import { execFile } from "node:child_process";
import { join } from "node:path";
import { promisify } from "node:util";

const run = promisify(execFile);

/** Root of the repository. */
export const repositoryRoot = join(import.meta.dirname, "../../..");

/** Path of a program of tools/fromSource/programs (etcd, kube-apiserver, kubectl, helm, minio …); builds it when it is not cached. */
export async function programPath(name: string): Promise<string> {
  const { stdout } = await run(join(repositoryRoot, "tools/programs/path.sh"), [name], { timeout: 20 * 60_000 });
  return stdout.trim();
}
