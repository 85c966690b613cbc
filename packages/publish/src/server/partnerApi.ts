import { randomUUID } from "node:crypto";
import { z } from "zod";
import { GameChannelsResponse } from "#contracts/http/gameChannels.ts";
import { GameVersion, GameVersionsResponse } from "#contracts/http/gameVersions.ts";
import { PartnerGameDetail, RegisterGameResponse, SyncResponse } from "#contracts/http/partners.ts";
import { PublishError } from "../publishError.ts";
import type { HttpClient, HttpRequest, HttpResponse } from "./httpClient.ts";
import { withRetries, type RetryContext } from "./retry.ts";
import { ServerError } from "./serverError.ts";

/** Fields of a game that publishing needs. Servers may add others. */
const Game = PartnerGameDetail.pick({ slug: true, launcher: true, engineDir: true, status: true });
/** A partner's game as far as publishing needs it. */
export type PartnerGame = z.infer<typeof Game>;

/** What the list of runs shows. Newer servers may have other states and reasons. */
const RunsResponse = z.object({
  runs: z.array(
    z.looseObject({
      id: z.string(),
      gameVersionId: z.string(),
      versionLabel: z.string().nullable(),
      status: z.string(),
      startedAt: z.string(),
      playSeconds: z.number().nullable(),
      usage: z.looseObject({ peakMemoryMb: z.number() }).nullable(),
      endReason: z.string().nullable(),
      failure: z.looseObject({ reason: z.string(), message: z.string().nullable() }).nullable(),
    }),
  ),
});
type RunsResponse = z.infer<typeof RunsResponse>;
/** A session of the game. */
export type Run = RunsResponse["runs"][number];

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
  async findGame(): Promise<PartnerGame | undefined> {
    try {
      return await this.#get(Game, "");
    } catch (error) {
      if (error instanceof ServerError && error.code === "not_found") return undefined;
      throw error;
    }
  }

  /** Registers the game. `fields` are those of the HTTP interface, without the slug. */
  async register(fields: object): Promise<void> {
    // A retry whose first response was lost gets that response instead of a conflict.
    const headers = { "idempotency-key": randomUUID() };
    const json = { ...fields, slug: this.slug };
    await this.#call(RegisterGameResponse, { method: "POST", path: "/api/partners/games", headers, json });
  }

  /** Returns the size of the largest archive in bytes; undefined if the server does not say. */
  async uploadMaxBytes(): Promise<number | undefined> {
    const response = await this.send({ method: "OPTIONS", path: `${this.path}/upload` });
    const [, bytes] = /max-size=(\d+)/.exec(response.header("upload-limit") ?? "") ?? [];
    return bytes === undefined ? undefined : Number(bytes);
  }

  sync(): Promise<SyncResponse> {
    return this.#get(SyncResponse, "/sync");
  }

  versions(): Promise<GameVersionsResponse> {
    return this.#get(GameVersionsResponse, "/versions");
  }

  channels(): Promise<GameChannelsResponse> {
    return this.#get(GameChannelsResponse, "/channels");
  }

  /** Makes a version current. */
  activate(versionId: string): Promise<GameVersion> {
    const path = `${this.path}/versions/${encodeURIComponent(versionId)}/activate`;
    return this.#call(GameVersion, { method: "POST", path });
  }

  runs(onlyCrashed: boolean): Promise<RunsResponse> {
    return this.#get(RunsResponse, onlyCrashed ? "/runs?crashed=true" : "/runs");
  }

  /** Returns the end of a session's output. */
  async log(runId: string): Promise<string> {
    const path = `${this.path}/runs/${encodeURIComponent(runId)}/log`;
    const { text } = await this.send({ method: "GET", path, headers: { accept: "text/plain" } });
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

  /** Sends a GET request for a path below the game's. */
  async #get<T>(schema: z.ZodType<T>, path: string): Promise<T> {
    return this.#call(schema, { method: "GET", path: `${this.path}${path}` });
  }

  async #call<T>(schema: z.ZodType<T>, request: HttpRequest): Promise<T> {
    return parseResponse(schema, await this.send(request));
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
