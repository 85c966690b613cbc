/** The owner of an object, for garbage collection and for mapping changes to the owner. */
export interface OwnerReference {
  apiVersion: string;
  kind: string;
  name: string;
  uid: string;
  controller?: boolean | undefined;
  blockOwnerDeletion?: boolean | undefined;
}

/** Metadata of an object. Times are RFC 3339 strings. */
export interface ObjectMeta {
  name: string;
  namespace?: string | undefined;
  uid?: string | undefined;
  resourceVersion?: string | undefined;
  generation?: number | undefined;
  creationTimestamp?: string | undefined;
  deletionTimestamp?: string | undefined;
  deletionGracePeriodSeconds?: number | undefined;
  labels?: Record<string, string> | undefined;
  annotations?: Record<string, string> | undefined;
  finalizers?: string[] | undefined;
  ownerReferences?: OwnerReference[] | undefined;
}

/** The common fields of all objects. Objects are plain JSON and keep unknown fields. */
export interface KubeObject {
  apiVersion?: string | undefined;
  kind?: string | undefined;
  metadata: ObjectMeta;
}

/** An object returned by the API server, with kind, uid and resourceVersion. */
export type Stored<T extends KubeObject> = T & {
  apiVersion: string;
  kind: string;
  metadata: { uid: string; resourceVersion: string; creationTimestamp: string };
};

/** An object to create, without apiVersion and kind. */
export type Draft<T extends KubeObject> = Omit<T, "apiVersion" | "kind" | "metadata" | "status"> & {
  metadata: ObjectMeta;
};

/** Any subset of a shape, at any depth. */
export type Partially<T> = T extends readonly (infer E)[]
  ? Partially<E>[]
  : T extends object
    ? { [K in keyof T]?: Partially<T[K]> | undefined }
    : T;

/** The fields that a manager applies (server-side apply). */
export type Intent<T extends KubeObject> = Partially<Omit<T, "apiVersion" | "kind" | "metadata">> & {
  metadata: ObjectMeta;
};

/** A JSON merge patch (RFC 7386): null removes a field, a list is replaced whole. */
export type MergePatch<T> = T extends readonly unknown[]
  ? T
  : T extends object
    ? { [K in keyof T]?: MergePatch<T[K]> | null | undefined }
    : T;

/** One operation of a JSON patch (RFC 6902). */
export type JsonPatchOperation =
  | { op: "add" | "replace" | "test"; path: string; value: unknown }
  | { op: "remove"; path: string }
  | { op: "move" | "copy"; from: string; path: string };

/** Identifies an object within its kind, for example `object.metadata`. */
export interface ObjectRef {
  name: string;
  namespace?: string | undefined;
}

/**
 * Returns the key of an object in caches and queues: `namespace/name`, or `name` when it is cluster-scoped.
 */
export function keyOf({ metadata }: { metadata: ObjectRef }): string {
  return keyOfRef(metadata);
}

/** Returns the key of the referenced object, see keyOf. */
export function keyOfRef({ namespace, name }: ObjectRef): string {
  return namespace === undefined || namespace === "" ? name : `${namespace}/${name}`;
}

/** Converts a key to a reference. */
export function refOf(key: string): ObjectRef {
  const slash = key.indexOf("/");
  return slash < 0 ? { name: key } : { namespace: key.slice(0, slash), name: key.slice(slash + 1) };
}

/** Returns the controlling owner of an object; undefined without one. */
export function controllerOf(object: KubeObject): OwnerReference | undefined {
  return object.metadata.ownerReferences?.find((owner) => owner.controller === true);
}

/** Returns an owner reference with `owner` as controller. The cluster deletes the object with its owner. */
export function ownedBy<T extends KubeObject>(owner: Stored<T>): OwnerReference {
  return {
    apiVersion: owner.apiVersion,
    kind: owner.kind,
    name: owner.metadata.name,
    uid: owner.metadata.uid,
    controller: true,
    blockOwnerDeletion: true,
  };
}

/** Returns whether the controlling owner has this uid; false if the uid is undefined. */
export function isOwnedBy(object: KubeObject, uid: string | undefined): boolean {
  return uid !== undefined && controllerOf(object)?.uid === uid;
}

/**
 * Returns whether resourceVersion `left` is older than `right`. Non-numeric versions have no order and are
 * never older.
 */
export function isOlderVersion(left: string, right: string): boolean {
  if (!/^\d+$/.test(left) || !/^\d+$/.test(right)) return false;
  return left.length === right.length ? left < right : left.length < right.length;
}

/** Formats a time like Kubernetes: RFC 3339 with whole seconds. */
export function toApiTime(time: Date): string {
  return time.toISOString().replace(/\.\d+Z$/, "Z");
}

/** Formats a time for leases and events: RFC 3339 with microseconds. */
export function toApiMicroTime(time: Date): string {
  return time.toISOString().replace(/Z$/, "000Z");
}
