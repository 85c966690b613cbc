import { randomUUID } from "node:crypto";
import type { z } from "zod";
import { RegisterGameResponse } from "#contracts/http/partners.ts";
import { PublishError } from "../publishError.ts";
import type { HttpClient, HttpRequest, HttpResponse } from "./httpClient.ts";
import type { Run } from "./responses.ts";
import { Channels, Game, Runs, Sync, Verification, Version, Versions } from "./responses.ts";
import { withRetries, type RetryContext } from "./retry.ts";
import { isMissing, ServerError } from "./serverError.ts";

const attempts = 5;

/** The partner interface of one game. Requests are retried after temporary failures. */
export class PartnerApi {
  readonly http: HttpClient;
  readonly slug: string;
  readonly #retry: RetryContext;

  constructor(http: HttpClient, slug: string, retry: RetryContext) {
    this.http = http;
    this.slug = slug;
    this.#retry = retry;
  }

  /** Returns the game; undefined if the partner has no such game. */
  findGame(): Promise<Game | undefined> {
    return orMissing(this.#get(Game, ""));
  }

  /** Registers the game. `fields` are those of the HTTP interface, without the slug. */
  async register(fields: object): Promise<void> {
    // A retry whose first response was lost gets that response instead of a conflict.
    const headers = { "idempotency-key": randomUUID() };
    const json = { ...fields, slug: this.slug };
    const request = { method: "POST", path: "/api/partners/games", headers, json } as const;
    await this.#call(RegisterGameResponse.pick({ slug: true }), request);
  }

  /** Returns the size of the largest archive in bytes; undefined if the server does not say. */
  async uploadMaxBytes(): Promise<number | undefined> {
    const response = await this.send({ method: "OPTIONS", path: `${this.path}/upload` });
    const [, bytes] = /max-size=(\d+)/.exec(response.header("upload-limit") ?? "") ?? [];
    return bytes === undefined ? undefined : Number(bytes);
  }

  sync(): Promise<Sync> {
    return this.#get(Sync, "/sync");
  }

  async versions(): Promise<Version[]> {
    return (await this.#get(Versions, "/versions")).versions;
  }

  async channels(): Promise<z.infer<typeof Channels>["channels"]> {
    return (await this.#get(Channels, "/channels")).channels;
  }

  /** Makes a version current. */
  activate(versionId: string): Promise<Version> {
    return this.#call(Version, { method: "POST", path: `${this.#versionPath(versionId)}/activate` });
  }

  /** Returns the verification of a version; undefined if the server does not verify it. */
  findVerification(versionId: string): Promise<Verification | undefined> {
    return orMissing(this.#call(Verification, { path: `${this.#versionPath(versionId)}/verification` }));
  }

  async runs(onlyCrashed: boolean): Promise<Run[]> {
    return (await this.#get(Runs, onlyCrashed ? "/runs?crashed=true" : "/runs")).runs;
  }

  /** Returns the end of a session's output. */
  async log(runId: string): Promise<string> {
    const path = `${this.path}/runs/${encodeURIComponent(runId)}/log`;
    const { text } = await this.send({ path, headers: { accept: "text/plain" } });
    return text;
  }

  /** The game's path. */
  get path(): string {
    return `/api/partners/games/${this.slug}`;
  }

  /**
   * Sends a request, again after temporary failures.
   *
   * @throws ServerError for any status that is not 2xx
   */
  send(request: HttpRequest): Promise<HttpResponse> {
    return withRetries(this.#retry, attempts, () => sendOnce(this.http, request));
  }

  #versionPath(versionId: string): string {
    return `${this.path}/versions/${encodeURIComponent(versionId)}`;
  }

  /** Sends a GET request for a path below the game's. */
  #get<T>(schema: z.ZodType<T>, path: string): Promise<T> {
    return this.#call(schema, { path: `${this.path}${path}` });
  }

  async #call<T>(schema: z.ZodType<T>, request: HttpRequest): Promise<T> {
    return parseResponse(schema, await this.send(request));
  }
}

/** Returns undefined if the server has no such object. */
async function orMissing<T>(response: Promise<T>): Promise<T | undefined> {
  try {
    return await response;
  } catch (error) {
    if (isMissing(error)) return undefined;
    throw error;
  }
}

/**
 * Sends a request once.
 *
 * @throws ServerError for any status that is not 2xx
 */
export async function sendOnce(http: HttpClient, request: HttpRequest): Promise<HttpResponse> {
  const response = await http.send(request);
  if (response.status < 200 || response.status > 299) throw new ServerError(response);
  return response;
}

/**
 * Returns the body of a response.
 *
 * @throws PublishError if it has another form
 */
export function parseResponse<T>(schema: z.ZodType<T>, { text }: Pick<HttpResponse, "text">): T {
  let body: unknown;
  try {
    body = JSON.parse(text);
  } catch {
    body = undefined;
  }
  const { data, error } = schema.safeParse(body);
  if (error === undefined) return data;
  const message = "The server does not respond as Joypod does. Check JOYPOD_URL, or update joypod-publish.";
  throw new PublishError("unexpected_response", message, { cause: error });
}
