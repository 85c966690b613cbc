import { isConflict, isNotFound, KubeError } from "../api/errors.ts";
import type { KubeObject, MergePatch, Stored } from "../api/object.ts";
import type { CallOptions } from "../client/request.ts";
import type { ResourceClient } from "../client/resourceClient.ts";

const attempts = 5;

/** Returns whether the object has the finalizer. */
export function hasFinalizer(object: KubeObject, finalizer: string): boolean {
  return object.metadata.finalizers?.includes(finalizer) ?? false;
}

/** Returns whether the object is being deleted. */
export function isDeleting(object: KubeObject): boolean {
  return object.metadata.deletionTimestamp !== undefined;
}

/**
 * Adds the finalizer if it is missing, and returns the stored object. Throws NotFound if the object is gone
 * or its name belongs to another object.
 */
export async function addFinalizer<T extends KubeObject>(
  client: ResourceClient<T>,
  object: Stored<T>,
  finalizer: string,
  options: CallOptions = {},
): Promise<Stored<T>> {
  return writeFinalizers(client, object, options, (existing) =>
    existing.includes(finalizer) ? existing : [...existing, finalizer],
  );
}

/**
 * Removes the finalizer. Succeeds if the object is gone or its name belongs to another object. Throws
 * KubeError.
 */
export async function removeFinalizer<T extends KubeObject>(
  client: ResourceClient<T>,
  object: Stored<T>,
  finalizer: string,
  options: CallOptions = {},
): Promise<void> {
  try {
    await writeFinalizers(client, object, options, (existing) =>
      existing.filter((other) => other !== finalizer),
    );
  } catch (error) {
    if (!isNotFound(error)) throw error;
  }
}

/** Several programs write the list, so each write is bound to the version that it is based on. */
async function writeFinalizers<T extends KubeObject>(
  client: ResourceClient<T>,
  object: Stored<T>,
  options: CallOptions,
  change: (existing: string[]) => string[],
): Promise<Stored<T>> {
  let current = object;
  for (let attempt = 1; ; attempt++) {
    const existing = current.metadata.finalizers ?? [];
    const finalizers = change(existing);
    if (finalizers.length === existing.length) return current;
    const patch = { metadata: { resourceVersion: current.metadata.resourceVersion, finalizers } };
    try {
      return await client.mergePatch(current.metadata, patch as MergePatch<T>, options);
    } catch (error) {
      if (!isConflict(error) || attempt === attempts) throw error;
      current = await client.get(object.metadata, options);
      if (current.metadata.uid !== object.metadata.uid) {
        throw new KubeError({
          status: 404,
          reason: "NotFound",
          message: `${client.type.kind} ${object.metadata.name} was replaced by another object of the same name.`,
        });
      }
    }
  }
}
