/** Names the owner of an object, for garbage collection and for mapping a change back to its owner. */
export interface OwnerReference {
  apiVersion: string;
  kind: string;
  name: string;
  uid: string;
  controller?: boolean | undefined;
  blockOwnerDeletion?: boolean | undefined;
}

/** Metadata as any writer may give it; times are RFC 3339 strings, as on the wire. */
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

/** The least every object of the API has. Objects are plain JSON and keep fields this code does not know. */
export interface KubeObject {
  apiVersion?: string | undefined;
  kind?: string | undefined;
  metadata: ObjectMeta;
}

/** An object as the API server returned it: it has a kind, a uid and a resourceVersion. */
export type Stored<T extends KubeObject> = T & {
  apiVersion: string;
  kind: string;
  metadata: { uid: string; resourceVersion: string; creationTimestamp: string };
};

/** An object to be created: the client adds apiVersion and kind, the server the rest. */
export type Draft<T extends KubeObject> = Omit<T, "apiVersion" | "kind" | "metadata" | "status"> & {
  metadata: ObjectMeta;
};

/** Any subset of a shape, at any depth. */
export type Partially<T> = T extends readonly (infer E)[]
  ? Partially<E>[]
  : T extends object
    ? { [K in keyof T]?: Partially<T[K]> | undefined }
    : T;

/** The fields one manager wants an object to have (server-side apply). */
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

/** Names an object within its kind; `object.metadata` is one. */
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

/** Returns the key of the object that a reference names, as keyOf does. */
export function keyOfRef({ namespace, name }: ObjectRef): string {
  return namespace === undefined || namespace === "" ? name : `${namespace}/${name}`;
}

/** Returns the reference that a key stands for. */
export function refOf(key: string): ObjectRef {
  const slash = key.indexOf("/");
  return slash < 0 ? { name: key } : { namespace: key.slice(0, slash), name: key.slice(slash + 1) };
}

/** Returns the owner that controls an object; undefined without one. */
export function controllerOf(object: KubeObject): OwnerReference | undefined {
  return object.metadata.ownerReferences?.find((owner) => owner.controller === true);
}

/**
 * Returns a reference that makes `owner` the controller of a new object, which the cluster then deletes with
 * `owner`.
 */
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

/**
 * Returns whether the object was made for the owner of this uid, and not for a former or another one of its
 * name; false where the uid is not known.
 */
export function isOwnedBy(object: KubeObject, uid: string | undefined): boolean {
  return uid !== undefined && controllerOf(object)?.uid === uid;
}

/**
 * Returns whether resourceVersion `left` is older than `right`. Numbers are compared as numbers; versions
 * that are not numbers have no order and count as not older.
 */
export function isOlderVersion(left: string, right: string): boolean {
  if (!/^\d+$/.test(left) || !/^\d+$/.test(right)) return false;
  return left.length === right.length ? left < right : left.length < right.length;
}

/** Returns a time as Kubernetes keeps it: RFC 3339 in whole seconds. */
export function toApiTime(time: Date): string {
  return time.toISOString().replace(/\.\d+Z$/, "Z");
}

/** Returns a time as leases and events keep it: RFC 3339 with microseconds. */
export function toApiMicroTime(time: Date): string {
  return time.toISOString().replace(/Z$/, "000Z");
}
