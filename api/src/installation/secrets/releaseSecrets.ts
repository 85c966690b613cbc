import type { Secret } from "#kube/api/builtin.ts";
import type { ObjectRef } from "#kube/api/object.ts";
import type { ResourceClient } from "#kube/client/resourceClient.ts";
import type { SecretPlan, SecretValues } from "./secretPlans.ts";

/** What happened to a secret: `completed` means that missing keys were added. */
export type SecretOutcome = "created" | "completed" | "kept";

/**
 * Creates the secret if it is missing, and adds missing keys to an existing one. Existing values are never
 * changed: the pepper of password hashes and the credentials of stores could not be recovered.
 *
 * @throws KubeError, a Conflict when the secret was changed concurrently
 */
export async function ensureSecret(
  secrets: ResourceClient<Secret>,
  { namespace, release }: { namespace: string; release: string },
  { name, component, complete }: SecretPlan,
): Promise<SecretOutcome> {
  const found = await secrets.find({ name, namespace });
  if (found === undefined) {
    await secrets.create({
      metadata: { name, namespace, labels: labelsOf(release, component) },
      type: "Opaque",
      stringData: { ...complete({}) },
    });
    return "created";
  }
  const kept = valuesOf(found);
  const missing = Object.fromEntries(Object.entries(complete(kept)).filter(([key]) => !(key in kept)));
  if (Object.keys(missing).length === 0) return "kept";
  // The resource version turns a concurrent write into a conflict instead of a loss.
  await secrets.mergePatch(
    { name, namespace },
    { metadata: { resourceVersion: found.metadata.resourceVersion }, stringData: missing },
  );
  return "completed";
}

/**
 * Writes values to the secret and creates it if it is missing. Undefined values are removed.
 *
 * @throws KubeError
 */
export async function writeSecret(
  secrets: ResourceClient<Secret>,
  ref: Required<ObjectRef>,
  labels: Record<string, string>,
  values: Readonly<Record<string, string | undefined>>,
): Promise<void> {
  const stringData = Object.fromEntries(
    Object.entries(values).flatMap(([key, value]) => (value === undefined ? [] : [[key, value]])),
  );
  const removed = Object.fromEntries(
    Object.entries(values).flatMap(([key, value]) => (value === undefined ? [[key, null]] : [])),
  );
  if ((await secrets.find(ref)) === undefined)
    await secrets.create({ metadata: { ...ref, labels }, type: "Opaque", stringData });
  else await secrets.mergePatch(ref, { stringData, data: removed });
}

/** Returns the labels of an object that belongs to the release but is not managed by Helm. */
export function labelsOf(release: string, component: string): Record<string, string> {
  return {
    "app.kubernetes.io/name": "joypod",
    "app.kubernetes.io/instance": release,
    "app.kubernetes.io/component": component,
    "app.kubernetes.io/part-of": "joypod",
  };
}

function valuesOf({ data = {} }: Secret): SecretValues {
  return Object.fromEntries(
    Object.entries(data).map(([key, value]) => [key, Buffer.from(value, "base64").toString()]),
  );
}
