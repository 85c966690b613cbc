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
 * Returns the object of a T that the server's JSON holds, made of the same value. Fields that no type knows
 * are kept. Items of built-in lists come without apiVersion and kind, and get them. `managedFields`, which
 * says who wrote which field last, is dropped: it is as long as the rest of the object, and no program reads
 * it; a write without it leaves it as it is. Throws KubeError "MalformedResponse" when the value is no T.
 */
export function decodeObject<T extends KubeObject>(type: ResourceType<T>, value: unknown): Stored<T> {
  if (!isRecord(value) || !isRecord(value.metadata) || typeof value.metadata.name !== "string") {
    throw new KubeError({
      reason: "MalformedResponse",
      message: `The API server's response is no ${type.kind}.`,
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
    // The server is the authority on its own objects; a type that wants more certainty brings `parse`.
    return (type.parse ? type.parse(whole) : whole) as Stored<T>;
  } catch (cause) {
    const detail = messageOf(cause);
    throw new KubeError({
      reason: "MalformedResponse",
      message: `${type.kind} ${value.metadata.name} is not understood: ${detail}`,
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
      message: `The API server's response is no list of ${type.kind}.`,
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
    // Several conditions change in the same moment.
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
