import type { KubeObject, ObjectRef } from "./object.ts";

/**
 * Names of fields in spec and status that have the same text in many objects: a process then has it once.
 * Those of all kinds need not be named.
 */
export interface RepeatedTexts {
  spec: readonly string[];
  status: readonly string[];
}

/** Describes one kind of object, built-in or custom, so that a ResourceClient can speak of it. */
export interface ResourceType<T extends KubeObject> {
  /** Empty for the core group. */
  group: string;
  version: string;
  /** Lower-case plural, as in the URL. */
  plural: string;
  kind: string;
  namespaced: boolean;
  repeated?: RepeatedTexts | undefined;
  /** Checks what the server returned; throws when it is no T. Without it the server is believed. */
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

/** Returns the URL path that a new object is sent to. Throws for a namespaced kind without a namespace. */
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

/** Throws for a namespaced object without its namespace: the path made of it would not be its own. */
function requireNamespace<T extends KubeObject>(type: ResourceType<T>, ref: ObjectRef): void {
  if (type.namespaced && (ref.namespace === undefined || ref.namespace === "")) {
    throw new Error(`${type.kind} ${ref.name} lives in a namespace; give metadata.namespace.`);
  }
}
