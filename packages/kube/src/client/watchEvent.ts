import { statusError } from "./responseError.ts";
import { decodeObject, isRecord } from "./decode.ts";
import { KubeError } from "../api/errors.ts";
import type { KubeObject, Stored } from "../api/object.ts";
import type { ResourceType } from "../api/resourceType.ts";

/** A decoded line of a watch. */
export type WatchEvent<T extends KubeObject> =
  | { type: "changed"; object: Stored<T>; resourceVersion: string }
  | { type: "deleted"; object: Stored<T>; resourceVersion: string }
  /** An object that the type's parse rejected. */
  | { type: "rejected"; error: KubeError; resourceVersion: string }
  | { type: "bookmark"; resourceVersion: string };

/** Decodes a line of a watch. Throws KubeError for an ERROR event and for invalid lines. */
export function decodeWatchLine<T extends KubeObject>(type: ResourceType<T>, line: string): WatchEvent<T> {
  const event = parseLine(line);
  if (event.type === "ERROR") throw statusError(event.object, 500, undefined, line);
  const resourceVersion = versionOf(event.object);
  switch (event.type) {
    case "BOOKMARK":
      return { type: "bookmark", resourceVersion };
    case "ADDED":
    case "MODIFIED":
    case "DELETED":
      try {
        const object = decodeObject(type, event.object);
        return { type: event.type === "DELETED" ? "deleted" : "changed", object, resourceVersion };
      } catch (error) {
        if (error instanceof KubeError) return { type: "rejected", error, resourceVersion };
        throw error;
      }
    default:
      throw new KubeError({
        reason: "MalformedResponse",
        message: `A watch sent an event of unknown type: ${line.slice(0, 200)}`,
      });
  }
}

function parseLine(line: string): Record<string, unknown> {
  let event: unknown;
  try {
    event = JSON.parse(line);
  } catch (cause) {
    throw new KubeError({
      reason: "MalformedResponse",
      message: `A watch sent a line that is not JSON: ${line.slice(0, 200)}`,
      cause,
    });
  }
  if (!isRecord(event))
    throw new KubeError({
      reason: "MalformedResponse",
      message: `A watch sent a line that is not an event: ${line.slice(0, 200)}`,
    });
  return event;
}

function versionOf(object: unknown): string {
  const version = isRecord(object) && isRecord(object.metadata) ? object.metadata.resourceVersion : undefined;
  if (typeof version !== "string" || version === "") {
    throw new KubeError({
      reason: "MalformedResponse",
      message: "A watch sent an object without resourceVersion.",
    });
  }
  return version;
}
