import { setTimeout as delay } from "node:timers/promises";
import type { TestUser } from "#test/factories/catalog.ts";
import type { TestApi } from "./api.ts";
import type { ApiClient, ApiResponse } from "./apiClient.ts";

/** Kinds of requests by pages and partners' programs. */
const kinds = ["keepalive", "status", "library", "launch", "download", "upload"] as const;
export type Asked = (typeof kinds)[number];

/** Outcome of a request. */
export interface Outcome {
  asked: Asked;
  /** Time of sending, in milliseconds of performance.now(). */
  sentMs: number;
  /** The status, or 0 if there was no response within the timeout of a page. */
  status: number;
  retryAfter: string | null;
  milliseconds: number;
}

/** A player, and the session on their page. */
export interface PlayedSession {
  user: TestUser;
  sessionId: string;
}

/** A player, and the save version that they download. */
export interface DownloadedSave {
  user: TestUser;
  path: string;
}

/** A partner, and the archive that their program uploads. */
export interface UploadedArchive {
  partner: { key: string };
  path: string;
  archive: Buffer;
}

export interface PlayTrafficOptions {
  api: TestApi;
  /** The replicas, used in turn. */
  replicas: readonly { url: string }[];
  /** Players with an open play page. */
  played: readonly PlayedSession[];
  /** Users who read the library and launch. */
  visitors: readonly TestUser[];
  slug: string;
  downloads?: readonly DownloadedSave[];
  uploads?: readonly UploadedArchive[];
}

/** Timeout of a page's requests. */
const patienceMs = 15_000;
const pauseMs = 1_000;
/** The rate limit of saves is half that of pages, per player. */
const transferPauseMs = 3_000;

/**
 * Continuous requests of players' and visitors' pages, spread over the replicas like by a Service. A page
 * sends its next request after the previous one has ended.
 */
export class PlayTraffic {
  readonly outcomes: Outcome[] = [];
  /** Clients by user, one per replica, with the same sign-in. */
  readonly #browsers: ReadonlyMap<TestUser, readonly ApiClient[]>;
  readonly #running: Promise<unknown>;
  #isOver = false;
  #turn = 0;

  private constructor(
    browsers: ReadonlyMap<TestUser, readonly ApiClient[]>,
    { api, replicas, played, visitors, slug, downloads = [], uploads = [] }: PlayTrafficOptions,
  ) {
    this.#browsers = browsers;
    this.#running = Promise.all([
      ...played.flatMap(({ user, sessionId }) => [
        this.#browse("keepalive", user, (browser) => browser.post("/api/game/keepalive", { sessionId })),
        this.#browse("status", user, (browser) =>
          browser.get(`/api/game/session-status?sessionId=${sessionId}`),
        ),
      ]),
      ...visitors.flatMap((user) => [
        this.#browse("library", user, (browser) => browser.get("/api/games")),
        this.#browse("launch", user, (browser) => browser.post("/api/game/launch", { gameSlug: slug })),
      ]),
      ...downloads.map(({ user, path }) =>
        this.#browse("download", user, (browser) => browser.get(path), transferPauseMs),
      ),
      ...uploads.map(({ partner, path, archive }) =>
        this.#send(
          "upload",
          replicas.map((replica) => api.asPartner(partner, replica)),
          (program) => program.put(path, archive, { "content-type": "application/gzip" }),
          transferPauseMs,
        ),
      ),
    ]);
  }

  /** Opens the pages of signed-in users, one browser each. */
  static async start(options: PlayTrafficOptions): Promise<PlayTraffic> {
    const users = [
      ...[...options.played, ...(options.downloads ?? [])].map(({ user }) => user),
      ...options.visitors,
    ];
    return new PlayTraffic(
      new Map(await Promise.all(users.map(async (user) => [user, await browsersOf(user, options)] as const))),
      options,
    );
  }

  /** Discards the outcomes so far. */
  reset(): void {
    this.outcomes.length = 0;
  }

  /** Closes the pages. Resolves when their last requests have ended. */
  async stop(): Promise<void> {
    this.#isOver = true;
    await this.#running;
  }

  /** Returns failed requests of these kinds: with a status of 500 or above, or without a response. */
  failed(...asked: Asked[]): Outcome[] {
    return this.outcomes.filter(
      (outcome) => asked.includes(outcome.asked) && (outcome.status === 0 || outcome.status >= 500),
    );
  }

  /** Returns requests of this kind that were sent since a time of performance.now(). */
  sentSince(sinceMs: number, asked: Asked): Outcome[] {
    return this.outcomes.filter((outcome) => outcome.asked === asked && outcome.sentMs >= sinceMs);
  }

  /** Returns the number of requests of these kinds. */
  count(...asked: Asked[]): number {
    return this.outcomes.filter((outcome) => asked.includes(outcome.asked)).length;
  }

  /** Returns one line per kind: count, statuses and latencies. */
  summary(): string {
    return kinds
      .filter((asked) => this.count(asked) > 0)
      .map((asked) => {
        const of = this.outcomes.filter((outcome) => outcome.asked === asked);
        const statuses = Object.entries(Object.groupBy(of, ({ status }) => status)).map(
          ([status, those]) => `${status} × ${those?.length ?? 0}`,
        );
        const sorted = of.map(({ milliseconds }) => milliseconds).toSorted((a, b) => a - b);
        const at = (share: number): string =>
          `${Math.round(sorted[Math.ceil(sorted.length * share) - 1] ?? 0)} ms`;
        return `${asked}: ${statuses.join(", ")}; median ${at(0.5)}, p99 ${at(0.99)}, slowest ${at(1)}`;
      })
      .join("\n");
  }

  #browse(
    asked: Asked,
    user: TestUser,
    request: (browser: ApiClient) => Promise<ApiResponse>,
    everyMs = pauseMs,
  ): Promise<void> {
    return this.#send(asked, this.#browsers.get(user) ?? [], request, everyMs);
  }

  /** Repeats the request, using the replicas in turn. */
  async #send(
    asked: Asked,
    clients: readonly ApiClient[],
    request: (client: ApiClient) => Promise<ApiResponse>,
    everyMs: number,
  ): Promise<void> {
    // Spreads the requests over time.
    await delay(Math.random() * pauseMs);
    while (!this.#isOver) {
      const client = clients[this.#turn++ % clients.length];
      if (client === undefined) throw new Error("There is no replica.");
      const sentMs = performance.now();
      const response = await inTime(request(client));
      this.outcomes.push({
        asked,
        sentMs,
        status: response?.status ?? 0,
        retryAfter: response?.headers.get("retry-after") ?? null,
        milliseconds: performance.now() - sentMs,
      });
      await delay(everyMs);
    }
  }
}

async function browsersOf(user: TestUser, { api, replicas }: PlayTrafficOptions): Promise<ApiClient[]> {
  const [first, ...others] = replicas.map((replica, index) =>
    index === 0 ? api.as(user, replica) : api.anonymous(replica),
  );
  if (first === undefined) throw new Error("There is no replica.");
  await first.get("/api/game/sessions");
  // A page that was open for some minutes has used every replica.
  for (const other of others) {
    for (const [name, value] of first.cookies) other.cookies.set(name, value);
    await other.get("/api/game/sessions");
  }
  return [first, ...others];
}

/**
 * Returns undefined if there is no response in time.
 *
 * @throws If it does not match the interface document.
 */
async function inTime(response: Promise<ApiResponse>): Promise<ApiResponse | undefined> {
  response.catch(() => undefined); // Told below, unless nobody waits any more.
  const timeout = new AbortController();
  try {
    return await Promise.race([response, delay(patienceMs, undefined, { signal: timeout.signal })]);
  } catch (error) {
    // `fetch` throws a TypeError if a connection is refused or breaks.
    if (error instanceof TypeError) return undefined;
    throw error;
  } finally {
    timeout.abort();
  }
}
