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

/** Reads and writes objects of one kind. Errors are KubeError. */
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

  /** Like get, but undefined when there is no such object. */
  async find(ref: ObjectRef, options: CallOptions = {}): Promise<Stored<T> | undefined> {
    try {
      return await this.get(ref, options);
    } catch (error) {
      if (isNotFound(error)) return undefined;
      throw error;
    }
  }

  /** Returns one page; its `continue` asks for the next. */
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

  /** All objects, read in pages. */
  async listAll(
    options: Omit<ListOptions, "limit" | "continue"> = {},
  ): Promise<{ items: Stored<T>[]; resourceVersion: string }> {
    return readPages((page) => this.list(page), options);
  }

  /**
   * The raw lines of a watch, one event each; ends when the server closes, throws KubeError when it breaks.
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

  /** Throws AlreadyExists when the name is taken. */
  async create(draft: Draft<T>, { fieldManager, ...options }: WriteOptions = {}): Promise<Stored<T>> {
    return this.#one({
      method: "POST",
      path: creationPath(this.type, draft.metadata),
      query: { fieldManager },
      body: this.#whole(draft),
      ...options,
    });
  }

  /** Replaces the whole object; a resourceVersion in it makes a lost race a Conflict. */
  async replace(object: T, options: WriteOptions = {}): Promise<Stored<T>> {
    return this.#replace(object, undefined, options);
  }

  /** Replaces the whole status, see replace. */
  async replaceStatus(object: T, options: WriteOptions = {}): Promise<Stored<T>> {
    return this.#replace(object, "status", options);
  }

  /**
   * Asks for deletion; resolves also when the object stays until its finalizers are done. Throws NotFound
   * when there is none.
   */
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

  /** Merges `patch` into the object; metadata.resourceVersion in it makes a lost race a Conflict. */
  async mergePatch(ref: ObjectRef, patch: MergePatch<T>, options: WriteOptions = {}): Promise<Stored<T>> {
    return this.#patch(ref, undefined, "application/merge-patch+json", patch, options);
  }

  /** Merges `patch`, whose only written part is `status`, into the status. */
  async mergePatchStatus(
    ref: ObjectRef,
    patch: MergePatch<T>,
    options: WriteOptions = {},
  ): Promise<Stored<T>> {
    return this.#patch(ref, "status", "application/merge-patch+json", patch, options);
  }

  /** Carries out the operations, all or none; a failed test is Invalid. */
  async jsonPatch(
    ref: ObjectRef,
    operations: JsonPatchOperation[],
    options: WriteOptions = {},
  ): Promise<Stored<T>> {
    return this.#patch(ref, undefined, "application/json-patch+json", operations, options);
  }

  /**
   * Creates or changes the object so that it has the intent's fields, and drops those this manager gave up.
   */
  async apply(intent: Intent<T>, options: ApplyOptions): Promise<Stored<T>> {
    return this.#apply(intent, undefined, options);
  }

  /** Like apply, for the status; the object must exist. */
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
    // JSON is valid YAML, so the body needs no YAML writer.
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
 * Reads a whole list in pages. Throws Gone when the snapshot expired on the way; what was read until then is
 * no list of any moment, so none of it is returned.
 */
async function readPages<T extends KubeObject>(
  list: (options: ListOptions) => Promise<ListPage<T>>,
  options: ListOptions,
): Promise<{ items: Stored<T>[]; resourceVersion: string }> {
  let page = await list({ ...options, limit: pageSize });
  const items = [...page.items];
  while (page.continue !== undefined) {
    // The continue token carries the version; the server refuses both together.
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
