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
  /** Defaults to application/json. */
  contentType?: string | undefined;
  /** Time limit of the call including retries. */
  deadlineMs?: number | undefined;
  signal?: AbortSignal | undefined;
  /** Resource for metrics, for example "pods" or "pods/status". */
  resource?: string | undefined;
}

/** A watch stream to open. */
export interface WatchRequest {
  path: string;
  query: Record<string, QueryValue>;
  idleDeadlineMs: number;
  /** Called when the server has opened the watch, before its first line. */
  onOpened?: (() => void) | undefined;
  signal?: AbortSignal | undefined;
  resource?: string | undefined;
}

/** Receives metrics of each request, including each retry. */
export interface RequestMetrics {
  requestDone(request: {
    method: string;
    resource: string;
    status: number | undefined;
    seconds: number;
  }): void;
}

/** Selects objects of a kind, in all namespaces by default. */
export interface Selection {
  namespace?: string | undefined;
  labelSelector?: string | undefined;
  fieldSelector?: string | undefined;
}

/** Options of a list page. See the Kubernetes API for resourceVersion. */
export interface ListOptions extends Selection {
  limit?: number | undefined;
  continue?: string | undefined;
  resourceVersion?: string | undefined;
  resourceVersionMatch?: "Exact" | "NotOlderThan" | undefined;
  signal?: AbortSignal | undefined;
  /**
   * Receives items that the type's parse rejects, which are then left out. Without it, such an item fails the
   * list.
   */
  onRejected?: ((error: unknown) => void) | undefined;
}

/** Options of a call. */
export interface CallOptions {
  signal?: AbortSignal | undefined;
  /** Time limit of the call including retries. */
  deadlineMs?: number | undefined;
}

/** Options of a write. */
export interface WriteOptions extends CallOptions {
  fieldManager?: string | undefined;
}

/** Options of server-side apply. Each writer is one manager, and sends its complete intent each time. */
export interface ApplyOptions extends CallOptions {
  fieldManager: string;
  /**
   * Whether to take over fields from other managers. Defaults to true, because a controller must not stop at
   * a conflict.
   */
  force?: boolean | undefined;
}

/** Options of a deletion. A failed precondition is a 409. */
export interface DeleteOptions extends CallOptions {
  uid?: string | undefined;
  resourceVersion?: string | undefined;
  gracePeriodSeconds?: number | undefined;
  propagationPolicy?: "Foreground" | "Background" | "Orphan" | undefined;
}

/** Options of a watch. */
export interface WatchOptions extends Selection {
  resourceVersion: string;
  timeoutSeconds: number;
  /** Time without data after which the stream counts as dead. */
  idleDeadlineMs: number;
  /** Called when the server has opened the watch, before its first event. */
  onOpened?: (() => void) | undefined;
  signal?: AbortSignal | undefined;
}
