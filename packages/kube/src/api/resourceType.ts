import type { KubeObject, ObjectRef } from "./object.ts";

/**
 * Fields of spec and status with the same text in many objects, which are then kept in memory once. Common
 * Kubernetes fields are shared without being listed.
 */
export interface RepeatedTexts {
  spec: readonly string[];
  status: readonly string[];
}

/** Describes a kind of object, built-in or custom, for ResourceClient. */
export interface ResourceType<T extends KubeObject> {
  /** Empty for the core group. */
  group: string;
  version: string;
  /** Lower-case plural, as in the URL. */
  plural: string;
  kind: string;
  namespaced: boolean;
  repeated?: RepeatedTexts | undefined;
  /** Validates objects from the server. Without it they are trusted. */
  parse?: ((value: unknown) => T) | undefined;
}

/** Returns `group/version`, or `version` for the core group. */
export function apiVersionOf({ group, version }: { group: string; version: string }): string {
  return group === "" ? version : `${group}/${version}`;
}

/** Returns the URL path of a collection; across all namespaces when none is given. */
export function collectionPath<T extends KubeObject>(type: ResourceType<T>, namespace?: string): string {
  const root = type.group === "" ? `/api/${type.version}` : `/apis/${type.group}/${type.version}`;
  const scope =
    type.namespaced && namespace !== undefined ? `/namespaces/${encodeURIComponent(namespace)}` : "";
  return `${root}${scope}/${type.plural}`;
}

/** Returns the URL path for creating an object. Throws for a namespaced kind without a namespace. */
export function creationPath<T extends KubeObject>(type: ResourceType<T>, ref: ObjectRef): string {
  requireNamespace(type, ref);
  return collectionPath(type, ref.namespace);
}

/**
 * Returns the URL path of one object, or of its subresource. Throws for a namespaced kind without a
 * namespace.
 */
export function objectPath<T extends KubeObject>(
  type: ResourceType<T>,
  ref: ObjectRef,
  subresource?: string,
): string {
  requireNamespace(type, ref);
  const path = `${collectionPath(type, ref.namespace)}/${encodeURIComponent(ref.name)}`;
  return subresource === undefined ? path : `${path}/${subresource}`;
}

/** Throws for a namespaced object without a namespace, whose path would be that of a collection. */
function requireNamespace<T extends KubeObject>(type: ResourceType<T>, ref: ObjectRef): void {
  if (type.namespaced && (ref.namespace === undefined || ref.namespace === "")) {
    throw new Error(`${type.kind} ${ref.name} lives in a namespace; give metadata.namespace.`);
  }
}
