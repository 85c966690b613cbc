import { KubeError } from "./errors.ts";
import type { KubeObject, Stored } from "./object.ts";
import { apiVersionOf, type ResourceType } from "./resourceType.ts";

/** A page of a list: the objects, the version it was taken at, and the token for the next page, if any. */
export interface ListPage<T extends KubeObject> {
  items: Stored<T>[];
  resourceVersion: string;
  continue?: string | undefined;
}

/**
 * Takes one object from the server's JSON. Fields nobody knows are kept; items of built-in lists, which come
 * without apiVersion and kind, get them. Who wrote which field last (`managedFields`) is dropped: it is as long as the object, and nobody
 * asks; a write without it leaves it as it is. Throws KubeError "MalformedResponse" when it is no T.
 */
export function decodeObject<T extends KubeObject>(type: ResourceType<T>, value: unknown): Stored<T> {
  if (!isRecord(value) || !isRecord(value.metadata) || typeof value.metadata.name !== "string") {
    throw new KubeError({ reason: "MalformedResponse", message: `The API server's answer is no ${type.kind}.` });
  }
  const metadata = Object.fromEntries(Object.entries(value.metadata).filter(([name]) => name !== "managedFields"));
  const whole = { ...value, apiVersion: apiVersionOf(type), kind: type.kind, metadata };
  try {
    // The server is the authority on its own objects; a type that wants more certainty brings `parse`.
    return (type.parse ? type.parse(whole) : whole) as Stored<T>;
  } catch (cause) {
    const detail = cause instanceof Error ? cause.message : String(cause);
    throw new KubeError({ reason: "MalformedResponse", message: `${type.kind} ${value.metadata.name} is not understood: ${detail}`, cause });
  }
}

/** Takes a list from the server's JSON; an item that is no T is told to `onRejected` and left out. */
export function decodeList<T extends KubeObject>(
  type: ResourceType<T>, value: unknown, onRejected?: (error: unknown) => void,
): ListPage<T> {
  if (!isRecord(value) || !isRecord(value.metadata) || typeof value.metadata.resourceVersion !== "string") {
    throw new KubeError({ reason: "MalformedResponse", message: `The API server's answer is no list of ${type.kind}.` });
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

/** Whether a value is a JSON object. */
export function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
