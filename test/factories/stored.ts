import type { KubeObject, ObjectMeta, Stored } from "#kube/api/object.ts";

/** Returns an object as the API server could return it, with the given metadata. */
export function aStored(metadata: Partial<ObjectMeta> = {}): Stored<KubeObject> {
  const { name = "a", namespace = "default", uid = `uid-of-${name}`, resourceVersion = "1" } = metadata;
  return {
    apiVersion: "v1",
    kind: "ConfigMap",
    metadata: {
      ...metadata,
      name,
      namespace,
      uid,
      resourceVersion,
      creationTimestamp: "2030-01-01T00:00:00Z",
    },
  };
}
