import { hostname } from "node:os";
import { events } from "./builtin.ts";
import { type Clock, systemClock, toApiMicroTime } from "./clock.ts";
import { isNotFound } from "./errors.ts";
import { type Logger, silentLogger } from "./logger.ts";
import type { KubeObject, Stored } from "./object.ts";
import { ResourceClient } from "./resourceClient.ts";
import type { KubeTransport } from "./transport.ts";
import { TokenBuckets } from "./tokenBuckets.ts";

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

/** Records events; a controller needs no more of a recorder than this. */
export interface EventSink {
  record(regarding: Stored<KubeObject>, event: EventNote): void;
}

export interface EventRecorderOptions {
  transport: KubeTransport;
  /** The program, as "joypod.dev/operator". */
  controller: string;
  /** The process; the host name unless given, which in a pod is the pod's name. */
  instance?: string | undefined;
  logger?: Logger | undefined;
  clock?: Clock | undefined;
  /** Events waiting to be written; further ones are dropped. 1000 unless given. */
  maxWaiting?: number | undefined;
  /** Per object: so many events at once, and one more each so many milliseconds. 25 and 300 000 unless given. */
  bucket?: { size: number; refillMs: number } | undefined;
}
