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
