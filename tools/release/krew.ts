import { createHash } from "node:crypto";
import { readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { stringify } from "yaml";

const run = promisify(execFile);
const files = ["kubectl-joypod", "kubectl_complete-joypod", "LICENSE"];

/**
 * Packs the kubectl plugin of a release into kubectl-joypod-VERSION.tar.gz and, with the address from which
 * the release's files will be downloaded, writes Krew's manifest of it to krew/joypod.yaml.
 */
export async function packKubectlPlugin(
  folder: string,
  { version, created, downloads }: { version: string; created: string; downloads: string | undefined },
): Promise<void> {
  const name = `kubectl-joypod-${version}.tar.gz`;
  const archive = join(folder, name);
  await run("tar", [
    "--create",
    "--gzip",
    `--file=${archive}`,
    `--directory=${folder}`,
    "--sort=name",
    `--mtime=${created}`,
    "--owner=0",
    "--group=0",
    "--numeric-owner",
    ...files,
  ]);
  const manifest = join(folder, "krew-joypod.yaml");
  if (downloads === undefined) {
    await rm(manifest, { force: true });
    return;
  }
  const sha256 = createHash("sha256")
    .update(await readFile(archive))
    .digest("hex");
  await writeFile(manifest, stringify(krewManifest({ version, uri: `${downloads}/${name}`, sha256 })));
}

/** Returns Krew's manifest of the plugin. */
export function krewManifest({ version, uri, sha256 }: { version: string; uri: string; sha256: string }) {
  return {
    apiVersion: "krew.googlecontainertools.github.com/v1alpha2",
    kind: "Plugin",
    metadata: { name: "joypod" },
    spec: {
      version: `v${version}`,
      homepage: uri.split("/releases/")[0],
      shortDescription: "Manage Joypod, game streaming on Kubernetes",
      description:
        "Shows nodes, sessions, games and stores of a Joypod installation on one screen, stops sessions with\n" +
        "their saves, takes nodes out of service without a lost game, and manages players and partners.\n",
      caveats: "Needs Node.js 24 or later in the PATH.\n",
      platforms: [
        {
          selector: { matchExpressions: [{ key: "os", operator: "In", values: ["linux", "darwin"] }] },
          uri,
          sha256,
          bin: "kubectl-joypod",
          files: files.map((from) => ({ from, to: "." })),
        },
      ],
    },
  };
}
