import { expect } from "chai";
import { setTimeout as delay } from "node:timers/promises";
import { weighOwnSession } from "#test/support/processes/ownSession.ts";
import type { FrameGap } from "#test/support/session/frameGap.ts";
import type { PublishedGame } from "./games.ts";
import { platform, sessionsNamespace } from "./platform.ts";
import type { Players } from "./players.ts";
import { PagePlayer, ReceivingPlayer, type WatchedPlayer } from "./watchedPlayer.ts";

/** Requests that a page repeats. */
type Asked = "keepalive" | "status" | "library";

/** A request that failed. */
export interface FailedRequest {
  asked: Asked;
  /** The response status, or the reason why there was no response. */
  response: number | string;
  hasRetryAfter: boolean;
  /** The interface version of the API that responded, if any did. */
  apiVersion: string | undefined;
  /** The response body. */
  body: string;
  at: string;
}

interface Watched {
  player: WatchedPlayer;
  podUid: string;
}

/** Keeps the requests within the limit per minute, together with those of the page. */
const pauseMs = 3_000;
/**
 * Real players use other machines. Without this priority, receiving their streams would stall for half a
 * second while nodes restart everything. The page's browser keeps its priority, because it would use all
 * processor time at the nodes' expense.
 */
const playersNice = -10;
/** Time to measure how long pictures freeze without any changes. */
const calmMs = 20_000;

/**
 * Games that are played during a change to the platform, one of them in a real page: watches their pods,
 * pictures and players' requests.
 */
export class WatchedGames {
  /** The player in the real page. */
  readonly page: PagePlayer;
  readonly #watched: readonly Watched[];
  readonly #running: Promise<unknown>;
  #calmGapsMs: readonly number[] = [];
  #isOver = false;
  #failed: FailedRequest[] = [];
  #served = 0;

  private constructor(page: PagePlayer, watched: readonly Watched[]) {
    this.page = page;
    this.#watched = watched;
    this.#running = Promise.all(
      watched.flatMap(({ player }) =>
        (["keepalive", "status", "library"] as const).map((asked) => this.#ask(asked, player)),
      ),
    );
  }

  /** Starts `count` players of the game. */
  static async start(players: Players, game: PublishedGame, count: number): Promise<WatchedGames> {
    const page = await PagePlayer.start(players, game);
    const all: WatchedPlayer[] = [page];
    let games: WatchedGames | undefined;
    try {
      while (all.length < count) all.push(await ReceivingPlayer.start(game));
      games = new WatchedGames(
        page,
        await Promise.all(all.map(async (player) => ({ player, podUid: await podUidOf(player) }))),
      );
      await weighOwnSession(playersNice);
      await games.#measureCalm();
      return games;
    } catch (error) {
      await games?.stop();
      for (const player of all) await player.close();
      throw error;
    }
  }

  /**
   * Returns requests that failed since the last call.
   *
   * @throws If no request was served.
   */
  takeFailed(): FailedRequest[] {
    expect(this.#served, "requests that were served").to.be.above(0);
    const failed = this.#failed;
    this.#failed = [];
    this.#served = 0;
    return failed;
  }

  /**
   * Returns the longest freeze of each picture since the last call, the page's first, beyond its freezes
   * before the change: four games, their players and a restarting platform share the machine's processors.
   */
  async takeAddedGaps(): Promise<FrameGap[]> {
    const gaps = await this.#takeLongestGaps();
    return gaps.map(({ milliseconds, endedAt }, index) => ({
      milliseconds: Math.round(milliseconds - (this.#calmGapsMs[index] ?? 0)),
      endedAt,
    }));
  }

  /**
   * Expects that every game still runs in the same pod, and that the page's game still receives key presses.
   * `presses` is the number of presses including this one.
   */
  async areUntouched(presses: number): Promise<void> {
    for (const { player, podUid } of this.#watched)
      expect(await podUidOf(player), `the pod of ${player.sessionId}`).to.equal(podUid);
    await this.page.press(presses);
  }

  /** Stops the requests, and ends all games except the page's. */
  async stop(): Promise<void> {
    if (this.#isOver) return;
    this.#isOver = true;
    await this.#running;
    await weighOwnSession(0);
    for (const { player } of this.#watched) await player.close();
  }

  /** Measures after all games have started, because their starts disturb each other. */
  async #measureCalm(): Promise<void> {
    await this.#takeLongestGaps();
    await delay(calmMs);
    this.#calmGapsMs = (await this.#takeLongestGaps()).map(({ milliseconds }) => milliseconds);
  }

  #takeLongestGaps(): Promise<FrameGap[]> {
    return Promise.all(this.#watched.map(({ player }) => player.takeLongestGap()));
  }

  async #ask(asked: Asked, { http, sessionId }: WatchedPlayer): Promise<void> {
    const request = {
      keepalive: () => http.ask("POST", "/api/game/keepalive", { sessionId }),
      status: () => http.ask("GET", `/api/game/session-status?sessionId=${sessionId}`),
      library: () => http.ask("GET", "/api/games"),
    }[asked];
    const isOver = (): boolean => this.#isOver;
    while (!isOver()) {
      const at = new Date().toISOString();
      try {
        const response = await request();
        const body = await response.text();
        if (response.ok) this.#served++;
        else {
          const { status, headers } = response;
          this.#failed.push({
            asked,
            response: status,
            hasRetryAfter: headers.has("retry-after"),
            apiVersion: headers.get("api-version") ?? undefined,
            body,
            at,
          });
        }
      } catch (error) {
        if (!isOver())
          this.#failed.push({
            asked,
            response: reasonOf(error),
            hasRetryAfter: false,
            apiVersion: undefined,
            body: "",
            at,
          });
      }
      await delay(pauseMs * (0.5 + Math.random()));
    }
  }
}

/** Formats the gaps with their times, to compare with other events. */
export function textOfGaps(gaps: readonly FrameGap[]): string {
  return gaps
    .map(({ milliseconds, endedAt }) => `${milliseconds} ms until ${new Date(endedAt).toISOString()}`)
    .join(", ");
}

async function podUidOf({ sessionId }: WatchedPlayer): Promise<string> {
  return (await (await platform()).pods.get({ namespace: sessionsNamespace, name: sessionId })).metadata.uid;
}

/** Returns why there was no response, which `fetch` puts into the cause. */
function reasonOf(error: unknown): string {
  const { cause } = error instanceof Error ? error : {};
  const code = cause instanceof Error && "code" in cause ? `${String(cause.code)} ` : "";
  return code + String(cause ?? error);
}
