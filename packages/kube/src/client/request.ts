export type HttpMethod = "GET" | "POST" | "PUT" | "PATCH" | "DELETE";
export type QueryValue = string | number | boolean | undefined;

/** One request to the API server. */
export interface KubeRequest {
  method: HttpMethod;
  /** Path with its leading slash. */
  path: string;
  query?: Record<string, QueryValue> | undefined;
  /** Sent as JSON. */
  body?: unknown;
  /** application/json unless given. */
  contentType?: string | undefined;
  /** Time for the whole call with its retries. */
  deadlineMs?: number | undefined;
  signal?: AbortSignal | undefined;
  /** The resource's name for metrics, as "pods" or "pods/status". */
  resource?: string | undefined;
}

/** A watch stream to open. */
export interface WatchRequest {
  path: string;
  query: Record<string, QueryValue>;
  idleDeadlineMs: number;
  /** Called when the server has agreed to the watch, before its first line. */
  onOpened?: (() => void) | undefined;
  signal?: AbortSignal | undefined;
  resource?: string | undefined;
}

/** Told of each request that was sent, with its retries one by one. */
export interface RequestMetrics {
  requestDone(request: {
    method: string;
    resource: string;
    status: number | undefined;
    seconds: number;
  }): void;
}

/** Which objects of a kind are meant; without a namespace, all namespaces. */
export interface Selection {
  namespace?: string | undefined;
  labelSelector?: string | undefined;
  fieldSelector?: string | undefined;
}

/** One page of a list, see the Kubernetes API for the meaning of resourceVersion. */
export interface ListOptions extends Selection {
  limit?: number | undefined;
  continue?: string | undefined;
  resourceVersion?: string | undefined;
  resourceVersionMatch?: "Exact" | "NotOlderThan" | undefined;
  signal?: AbortSignal | undefined;
  /**
   * Told of items the type's parse refuses, which are then left out; without it such an item fails the list.
   */
  onRejected?: ((error: unknown) => void) | undefined;
}

/** What every call may be given. */
export interface CallOptions {
  signal?: AbortSignal | undefined;
  /** Time for the whole call with its retries. */
  deadlineMs?: number | undefined;
}

/** What a write may be given. */
export interface WriteOptions extends CallOptions {
  fieldManager?: string | undefined;
}

/** Server-side apply: one manager per writer, the whole intent each time. */
export interface ApplyOptions extends CallOptions {
  fieldManager: string;
  /**
   * Takes fields over from other managers; true unless said otherwise, as a controller must not stop at a
   * conflict.
   */
  force?: boolean | undefined;
}

/** How an object is deleted; preconditions make a mistaken identity a 409. */
export interface DeleteOptions extends CallOptions {
  uid?: string | undefined;
  resourceVersion?: string | undefined;
  gracePeriodSeconds?: number | undefined;
  propagationPolicy?: "Foreground" | "Background" | "Orphan" | undefined;
}

/** What a watch asks for. */
export interface WatchOptions extends Selection {
  resourceVersion: string;
  timeoutSeconds: number;
  /** The stream counts as dead when nothing arrives for this long. */
  idleDeadlineMs: number;
  /** Called when the server has agreed to the watch, before its first event. */
  onOpened?: (() => void) | undefined;
  signal?: AbortSignal | undefined;
}
