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
