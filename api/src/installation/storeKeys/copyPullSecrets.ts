import type { Secret } from "#kube/api/builtin.ts";
import type { ResourceClient } from "#kube/client/resourceClient.ts";
import { labelsOf } from "../secrets/releaseSecrets.ts";
import type { Config } from "./config.ts";

const component = "image-pull";

/**
 * Copies the pull secrets to their namespaces and updates earlier copies. Secrets of others are not changed.
 * Returns the names that are missing in the release's namespace.
 *
 * @throws KubeError
 */
export async function copyPullSecrets(
  secrets: ResourceClient<Secret>,
  { names, from, to }: Config["pullSecrets"],
  release: string,
): Promise<string[]> {
  const missing: string[] = [];
  for (const name of names) {
    const original = await secrets.find({ name, namespace: from });
    if (original === undefined) missing.push(name);
    else
      for (const namespace of to)
        await copySecret(secrets, original, namespace, labelsOf(release, component));
  }
  return missing;
}

async function copySecret(
  secrets: ResourceClient<Secret>,
  { metadata: { name }, type, data }: Secret,
  namespace: string,
  labels: Record<string, string>,
): Promise<void> {
  const copy = {
    metadata: { name, namespace, labels },
    ...(type === undefined ? {} : { type }),
    ...(data === undefined ? {} : { data }),
  };
  const existing = await secrets.find({ name, namespace });
  if (existing === undefined) {
    await secrets.create(copy);
    return;
  }
  if (!isCopy(existing, labels)) return;
  if (existing.type === type) {
    await secrets.mergePatch({ name, namespace }, { data });
    return;
  }
  // The type of a secret is immutable, so the original was also recreated.
  await secrets.delete({ name, namespace }, { uid: existing.metadata.uid });
  await secrets.create(copy);
}

function isCopy({ metadata }: Secret, labels: Record<string, string>): boolean {
  return Object.entries(labels).every(([key, value]) => metadata.labels?.[key] === value);
}
