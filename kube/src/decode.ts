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
 * without apiVersion and kind, get them.
 */
export function decodeObject<T extends KubeObject>(type: ResourceType<T>, value: unknown): Stored<T> {
  if (!isRecord(value) || !isRecord(value.metadata) || typeof value.metadata.name !== "string") {
    throw new KubeError({ reason: "BadAnswer", message: `The API server's answer is no ${type.kind}.` });
  }
  const whole = { ...value, apiVersion: apiVersionOf(type), kind: type.kind };
  // The server is the authority on its own objects; a type that wants more certainty brings `parse`.
  return (type.parse ? type.parse(whole) : whole) as Stored<T>;
}

/** Takes a list from the server's JSON. */
export function decodeList<T extends KubeObject>(type: ResourceType<T>, value: unknown): ListPage<T> {
  if (!isRecord(value) || !isRecord(value.metadata)) {
    throw new KubeError({ reason: "BadAnswer", message: `The API server's answer is no list of ${type.kind}.` });
  }
  const { resourceVersion, continue: next } = value.metadata;
  const items = Array.isArray(value.items) ? value.items : [];
  return {
    items: items.map((item) => decodeObject(type, item)),
    resourceVersion: typeof resourceVersion === "string" ? resourceVersion : "",
    continue: typeof next === "string" && next !== "" ? next : undefined,
  };
}

/** Whether a value is a JSON object. */
export function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
