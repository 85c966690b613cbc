import { KubeError } from "./errors.ts";
import type { KubeObject, Stored } from "./object.ts";
import { apiVersionOf, type ResourceType } from "./resourceType.ts";
import { SharedStrings } from "./sharedStrings.ts";
import { messageOf } from "#runtime/toError.ts";

const strings = new SharedStrings();

/** A page of a list: the objects, the version it was taken at, and the token for the next page, if any. */
export interface ListPage<T extends KubeObject> {
  items: Stored<T>[];
  resourceVersion: string;
  continue?: string | undefined;
}

/**
 * Returns the object of a T that the server's JSON holds, made of the same value. Fields that no type knows are kept. Items of built-in lists
 * come without apiVersion and kind, and get them. `managedFields`, which says who wrote which field last, is dropped: it is as long as the rest
 * of the object, and no program reads it; a write without it leaves it as it is. Throws KubeError "MalformedResponse" when the value is no T.
 */
export function decodeObject<T extends KubeObject>(type: ResourceType<T>, value: unknown): Stored<T> {
  if (!isRecord(value) || !isRecord(value.metadata) || typeof value.metadata.name !== "string") {
    throw new KubeError({ reason: "MalformedResponse", message: `The API server's response is no ${type.kind}.` });
  }
  const { managedFields, ...metadata } = value.metadata;
  const whole = Object.assign(value, { apiVersion: strings.share(apiVersionOf(type)), kind: type.kind, metadata });
  shareStrings(whole);
  try {
    // The server is the authority on its own objects; a type that wants more certainty brings `parse`.
    return (type.parse ? type.parse(whole) : whole) as Stored<T>;
  } catch (cause) {
    const detail = messageOf(cause);
    throw new KubeError({ reason: "MalformedResponse", message: `${type.kind} ${value.metadata.name} is not understood: ${detail}`, cause });
  }
}

/** Returns the page of a list that the server's JSON holds. An item that is no T is left out, with its error to `onRejected`. Throws KubeError "MalformedResponse" when the value is no list. */
export function decodeList<T extends KubeObject>(
  type: ResourceType<T>, value: unknown, onRejected?: (error: unknown) => void,
): ListPage<T> {
  if (!isRecord(value) || !isRecord(value.metadata) || typeof value.metadata.resourceVersion !== "string") {
    throw new KubeError({ reason: "MalformedResponse", message: `The API server's response is no list of ${type.kind}.` });
  }
  const { resourceVersion, continue: next } = value.metadata;
  const items: Stored<T>[] = [];
  for (const item of Array.isArray(value.items) ? value.items : []) {
    try {
      items.push(decodeObject(type, item));
    } catch (error) {
      if (!onRejected) throw error;
      onRejected(error);
    }
  }
  return { items, resourceVersion, continue: typeof next === "string" && next !== "" ? next : undefined };
}

/** Lets an object share with others what Kubernetes' conventions repeat in each of them; V8 shares what has ten characters at most. */
function shareStrings({ metadata, status }: { metadata: Record<string, unknown>; status?: unknown }): void {
  shareIn(metadata, "namespace");
  const { labels } = metadata;
  if (isRecord(labels)) for (const name of Object.keys(labels)) shareIn(labels, name);
  const conditions = isRecord(status) ? status.conditions : undefined;
  if (!Array.isArray(conditions)) return;
  for (const condition of conditions) {
    if (isRecord(condition)) for (const name of ["type", "reason", "message"]) shareIn(condition, name);
  }
}

function shareIn(object: Record<string, unknown>, name: string): void {
  const value = object[name];
  if (typeof value === "string") object[name] = strings.share(value);
}

/** Whether a value is a JSON object. */
export function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
