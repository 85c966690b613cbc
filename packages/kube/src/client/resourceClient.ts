import type {
  ApplyOptions,
  CallOptions,
  DeleteOptions,
  ListOptions,
  WatchOptions,
  WriteOptions,
  KubeRequest,
  QueryValue,
} from "./request.ts";
import { decodeList, decodeObject, type ListPage } from "./decode.ts";
import { isNotFound } from "../api/errors.ts";
import type {
  Draft,
  Intent,
  JsonPatchOperation,
  KubeObject,
  MergePatch,
  ObjectRef,
  Stored,
} from "../api/object.ts";
import {
  apiVersionOf,
  collectionPath,
  creationPath,
  objectPath,
  type ResourceType,
} from "../api/resourceType.ts";
import type { KubeTransport } from "./transport.ts";

/** Reads and writes objects of a kind. Throws KubeError. */
export class ResourceClient<T extends KubeObject> {
  readonly type: ResourceType<T>;
  readonly #transport: KubeTransport;

  constructor(transport: KubeTransport, type: ResourceType<T>) {
    this.#transport = transport;
    this.type = type;
  }

  async get(ref: ObjectRef, options: CallOptions = {}): Promise<Stored<T>> {
    return this.#one({ method: "GET", path: objectPath(this.type, ref), ...options });
  }

  /** Like get, but returns undefined if the object does not exist. */
  async find(ref: ObjectRef, options: CallOptions = {}): Promise<Stored<T> | undefined> {
    try {
      return await this.get(ref, options);
    } catch (error) {
      if (isNotFound(error)) return undefined;
      throw error;
    }
  }

  /** Returns one page. Its `continue` token requests the next page. */
  async list({ namespace, signal, onRejected, ...query }: ListOptions = {}): Promise<ListPage<T>> {
    const response = await this.#transport.request({
      method: "GET",
      path: collectionPath(this.type, namespace),
      query: { ...query },
      signal,
      resource: this.type.plural,
    });
    return decodeList(this.type, response, onRejected);
  }

  /** Returns all objects, read in pages. */
  async listAll(
    options: Omit<ListOptions, "limit" | "continue"> = {},
  ): Promise<{ items: Stored<T>[]; resourceVersion: string }> {
    return readPages((page) => this.list(page), options);
  }

  /**
   * Yields the raw lines of a watch, one event each. Ends when the server closes it; throws KubeError when it
   * breaks.
   */
  watch({
    namespace,
    signal,
    idleDeadlineMs,
    onOpened,
    ...query
  }: WatchOptions): AsyncGenerator<string, void, void> {
    return this.#transport.watch({
      path: collectionPath(this.type, namespace),
      query: { ...query, watch: true, allowWatchBookmarks: true },
      idleDeadlineMs,
      onOpened,
      signal,
      resource: this.type.plural,
    });
  }

  /** Creates an object. Throws AlreadyExists if the name is in use. */
  async create(draft: Draft<T>, { fieldManager, ...options }: WriteOptions = {}): Promise<Stored<T>> {
    return this.#one({
      method: "POST",
      path: creationPath(this.type, draft.metadata),
      query: { fieldManager },
      body: this.#whole(draft),
      ...options,
    });
  }

  /** Replaces the object. With a resourceVersion, a concurrent change causes a Conflict. */
  async replace(object: T, options: WriteOptions = {}): Promise<Stored<T>> {
    return this.#replace(object, undefined, options);
  }

  /** Replaces the status, see replace. */
  async replaceStatus(object: T, options: WriteOptions = {}): Promise<Stored<T>> {
    return this.#replace(object, "status", options);
  }

  /** Deletes an object. Resolves even if finalizers keep it. Throws NotFound if it does not exist. */
  async delete(ref: ObjectRef, options: DeleteOptions = {}): Promise<void> {
    const { uid, resourceVersion, gracePeriodSeconds, propagationPolicy, ...call } = options;
    const preconditions =
      uid === undefined && resourceVersion === undefined ? undefined : { uid, resourceVersion };
    const body = {
      apiVersion: "v1",
      kind: "DeleteOptions",
      preconditions,
      gracePeriodSeconds,
      propagationPolicy,
    };
    await this.#transport.request({
      method: "DELETE",
      path: objectPath(this.type, ref),
      body,
      resource: this.type.plural,
      ...call,
    });
  }

  /** Merges `patch` into the object. With metadata.resourceVersion, a concurrent change causes a Conflict. */
  async mergePatch(ref: ObjectRef, patch: MergePatch<T>, options: WriteOptions = {}): Promise<Stored<T>> {
    return this.#patch(ref, undefined, "application/merge-patch+json", patch, options);
  }

  /** Merges the `status` of `patch` into the status. */
  async mergePatchStatus(
    ref: ObjectRef,
    patch: MergePatch<T>,
    options: WriteOptions = {},
  ): Promise<Stored<T>> {
    return this.#patch(ref, "status", "application/merge-patch+json", patch, options);
  }

  /** Applies the operations atomically. A failed test causes Invalid. */
  async jsonPatch(
    ref: ObjectRef,
    operations: JsonPatchOperation[],
    options: WriteOptions = {},
  ): Promise<Stored<T>> {
    return this.#patch(ref, undefined, "application/json-patch+json", operations, options);
  }

  /**
   * Applies the intent (server-side apply): creates or changes its fields, and removes fields that this
   * manager no longer sets.
   */
  async apply(intent: Intent<T>, options: ApplyOptions): Promise<Stored<T>> {
    return this.#apply(intent, undefined, options);
  }

  /** Like apply, for the status of an existing object. */
  async applyStatus(intent: Intent<T>, options: ApplyOptions): Promise<Stored<T>> {
    return this.#apply(intent, "status", options);
  }

  async #replace(
    object: T,
    subresource: string | undefined,
    { fieldManager, ...options }: WriteOptions,
  ): Promise<Stored<T>> {
    const path = objectPath(this.type, object.metadata, subresource);
    return this.#one(
      { method: "PUT", path, query: { fieldManager }, body: this.#whole(object), ...options },
      subresource,
    );
  }

  async #apply(
    intent: Intent<T>,
    subresource: string | undefined,
    { force, ...options }: ApplyOptions,
  ): Promise<Stored<T>> {
    // JSON is valid YAML, so the body needs no YAML serializer.
    return this.#patch(
      intent.metadata,
      subresource,
      "application/apply-patch+yaml",
      this.#whole(intent),
      options,
      force ?? true,
    );
  }

  async #patch(
    ref: ObjectRef,
    subresource: string | undefined,
    contentType: string,
    body: unknown,
    { fieldManager, ...options }: WriteOptions,
    force?: boolean,
  ): Promise<Stored<T>> {
    const query: Record<string, QueryValue> = { fieldManager, force };
    return this.#one(
      {
        method: "PATCH",
        path: objectPath(this.type, ref, subresource),
        query,
        contentType,
        body,
        ...options,
      },
      subresource,
    );
  }

  async #one(request: KubeRequest, subresource?: string): Promise<Stored<T>> {
    const resource = subresource === undefined ? this.type.plural : `${this.type.plural}/${subresource}`;
    return decodeObject(this.type, await this.#transport.request({ ...request, resource }));
  }

  #whole(object: object): object {
    return { ...object, apiVersion: apiVersionOf(this.type), kind: this.type.kind };
  }
}

const pageSize = 500;

/**
 * Reads a list in pages. Throws Gone if the snapshot expires in between, because a partial list is not
 * consistent.
 */
async function readPages<T extends KubeObject>(
  list: (options: ListOptions) => Promise<ListPage<T>>,
  options: ListOptions,
): Promise<{ items: Stored<T>[]; resourceVersion: string }> {
  let page = await list({ ...options, limit: pageSize });
  const items = [...page.items];
  while (page.continue !== undefined) {
    // The continue token contains the version. The server rejects requests with both.
    page = await list({
      ...options,
      resourceVersion: undefined,
      resourceVersionMatch: undefined,
      limit: pageSize,
      continue: page.continue,
    });
    items.push(...page.items);
  }
  return { items, resourceVersion: page.resourceVersion };
}
