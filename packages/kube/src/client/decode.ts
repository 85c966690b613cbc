import { KubeError } from "../api/errors.ts";
import type { KubeObject, Stored } from "../api/object.ts";
import { apiVersionOf, type RepeatedTexts, type ResourceType } from "../api/resourceType.ts";
import { SharedStrings } from "./sharedStrings.ts";
import { messageOf } from "#runtime/errors.ts";

const strings = new SharedStrings();

/** A page of a list, with the version of the list and the token for the next page. */
export interface ListPage<T extends KubeObject> {
  items: Stored<T>[];
  resourceVersion: string;
  continue?: string | undefined;
}

/**
 * Converts the server's JSON value to an object of the type, in place. Unknown fields are kept. apiVersion
 * and kind are added, because items of built-in lists lack them. `managedFields` is removed: it is as large
 * as the rest of the object, no program reads it, and a write without it leaves it unchanged. Throws
 * KubeError "MalformedResponse" if the value is not an object of the type.
 */
export function decodeObject<T extends KubeObject>(type: ResourceType<T>, value: unknown): Stored<T> {
  if (!isRecord(value) || !isRecord(value.metadata) || typeof value.metadata.name !== "string") {
    throw new KubeError({
      reason: "MalformedResponse",
      message: `The API server's response is not of kind ${type.kind}.`,
    });
  }
  const { managedFields, ...metadata } = value.metadata;
  const whole = Object.assign(value, {
    apiVersion: strings.share(apiVersionOf(type)),
    kind: type.kind,
    metadata,
  });
  shareStrings(type.repeated, whole);
  try {
    // The server validates its own objects. A type that needs more certainty defines `parse`.
    return (type.parse ? type.parse(whole) : whole) as Stored<T>;
  } catch (cause) {
    const detail = messageOf(cause);
    throw new KubeError({
      reason: "MalformedResponse",
      message: `${type.kind} ${value.metadata.name} is invalid: ${detail}`,
      cause,
    });
  }
}

/**
 * Returns a page of a list from the server's JSON. Items that cannot be decoded are passed to `onRejected`
 * and left out. Throws KubeError "MalformedResponse" if the value is not a list.
 */
export function decodeList<T extends KubeObject>(
  type: ResourceType<T>,
  value: unknown,
  onRejected?: (error: unknown) => void,
): ListPage<T> {
  if (!isRecord(value) || !isRecord(value.metadata) || typeof value.metadata.resourceVersion !== "string") {
    throw new KubeError({
      reason: "MalformedResponse",
      message: `The API server's response is not a list of ${type.kind}.`,
    });
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

/** An object with a known kind and name. */
interface Decoded {
  metadata: Record<string, unknown>;
  spec?: unknown;
  status?: unknown;
}

/**
 * Shares strings that many objects have in common, such as namespaces, labels and condition reasons. V8 only
 * shares strings of up to ten characters.
 */
function shareStrings(repeated: RepeatedTexts | undefined, { metadata, spec, status }: Decoded): void {
  shareIn(metadata, ["namespace"]);
  const { labels, finalizers } = metadata;
  if (isRecord(labels)) shareIn(labels, Object.keys(labels));
  if (Array.isArray(finalizers))
    metadata.finalizers = finalizers.map((name: unknown) =>
      typeof name === "string" ? strings.share(name) : name,
    );
  if (repeated !== undefined && isRecord(spec)) shareIn(spec, repeated.spec);
  if (!isRecord(status)) return;
  if (repeated !== undefined) shareIn(status, repeated.status);
  const { conditions } = status;
  if (!Array.isArray(conditions)) return;
  for (const condition of conditions) {
    // Several conditions often change at the same time.
    if (isRecord(condition)) shareIn(condition, ["type", "reason", "message", "lastTransitionTime"]);
  }
}

function shareIn(object: Record<string, unknown>, names: readonly string[]): void {
  for (const name of names) {
    const value = object[name];
    if (typeof value === "string") object[name] = strings.share(value);
  }
}

/** Returns whether a value is a JSON object. */
export function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
