import { randomBytes } from "node:crypto";
import type { Event } from "./builtin.ts";
import { toApiMicroTime } from "./time.ts";
import type { Draft, KubeObject, ObjectRef, Stored } from "./object.ts";

/** What happened to an object, for people. */
export interface EventNote {
  type: "Normal" | "Warning";
  /** Why, in CamelCase, as "GameDownloaded". */
  reason: string;
  /** What was done or tried, in CamelCase, as "Download". */
  action: string;
  /** One sentence; cut at 1024 bytes, the most the API takes. */
  note: string;
}

/**
 * What an event says of the object that it is about: a series outlives the object by minutes, and must not
 * keep the whole of it.
 */
export type EventSubject = Pick<Stored<KubeObject>, "apiVersion" | "kind"> & {
  metadata: Pick<Stored<KubeObject>["metadata"], "name" | "namespace" | "uid" | "resourceVersion">;
};

/** Returns what an event says of the object. */
export function subjectOf({
  apiVersion,
  kind,
  metadata: { name, namespace, uid, resourceVersion },
}: Stored<KubeObject>): EventSubject {
  return { apiVersion, kind, metadata: { name, namespace, uid, resourceVersion } };
}

/**
 * One event and how often it has been seen. When the same event comes again the count rises, and no new event
 * is written.
 */
export interface EventSeries {
  regarding: EventSubject;
  event: EventNote;
  count: number;
  firstSeen: Date;
  lastSeen: Date;
  lastSeenMs: number;
  /** The Event object, once it is created, and the count it was last written with. */
  ref?: ObjectRef | undefined;
  writtenCount?: number | undefined;
}

const maxNoteBytes = 1024;
const maxNameLength = 253;

/** The Event object of a series. */
export function buildEvent(series: EventSeries, by: { controller: string; instance: string }): Draft<Event> {
  const {
    regarding: { apiVersion, kind, metadata },
    event,
    firstSeen,
  } = series;
  const unique = `.${firstSeen.getTime().toString(16)}${randomBytes(4).toString("hex")}`;
  return {
    metadata: {
      name: metadata.name.slice(0, maxNameLength - unique.length) + unique,
      // Events of cluster-scoped objects live in "default", where kubectl describe looks for them.
      namespace: metadata.namespace ?? "default",
    },
    eventTime: toApiMicroTime(firstSeen),
    reportingController: by.controller,
    reportingInstance: by.instance,
    type: event.type,
    reason: event.reason,
    action: event.action,
    note: cutToBytes(event.note, maxNoteBytes),
    regarding: {
      apiVersion,
      kind,
      name: metadata.name,
      uid: metadata.uid,
      resourceVersion: metadata.resourceVersion,
      ...(metadata.namespace === undefined ? {} : { namespace: metadata.namespace }),
    },
    ...(series.count > 1 ? { series: buildSeries(series) } : {}),
  };
}

/** The part of an Event that counts repetitions. */
export function buildSeries({ count, lastSeen }: EventSeries): { count: number; lastObservedTime: string } {
  // The API refuses a series of one.
  return { count: Math.max(2, count), lastObservedTime: toApiMicroTime(lastSeen) };
}

function cutToBytes(text: string, maxBytes: number): string {
  const bytes = Buffer.from(text);
  if (bytes.length <= maxBytes) return text;
  // A character cut in half decodes to U+FFFD, which goes too.
  return (
    bytes
      .subarray(0, maxBytes - 3)
      .toString()
      .replace(/\uFFFD+$/, "") + "…"
  );
}
