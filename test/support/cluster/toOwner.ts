import { controllerOf, keyOfRef, type KubeObject } from "#kube/api/object.ts";

/**
 * Returns a function that maps an object to its controller if that has the given kind. Used as `keys` of a
 * source of owned objects.
 */
export function toOwner(kind: string): (object: KubeObject) => string[] {
  return (object) => {
    const owner = controllerOf(object);
    return owner?.kind === kind ? [keyOfRef({ namespace: object.metadata.namespace, name: owner.name })] : [];
  };
}
