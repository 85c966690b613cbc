import { expect } from "chai";
import { setTimeout as delay } from "node:timers/promises";
import { weighOwnSession } from "#test/support/processes/ownSession.ts";
import type { FrameGap } from "#test/support/session/frameGap.ts";
import type { PublishedGame } from "./games.ts";
import { platform, sessionsNamespace } from "./platform.ts";
import type { Players } from "./players.ts";
import { PagePlayer, ReceivingPlayer, type WatchedPlayer } from "./watchedPlayer.ts";

/** What a page asks for over and over. */
type Asked = "keepalive" | "status" | "library";

/** A request that failed. */
export interface FailedRequest {
  asked: Asked;
  /** Status, or why there was no response. */
  response: number | string;
  hasRetryAfter: boolean;
  /** The version of the interface of the API that answered, if one did. */
  apiVersion: string | undefined;
  /** What the response said. */
  body: string;
  /** When it was sent. */
  at: string;
}

interface Watched {
  player: WatchedPlayer;
  podUid: string;
}

/** Within the limits of a minute, with what the page asks for by itself. */
const pauseMs = 3_000;
/**
 * Players look on machines of their own: what takes their pictures would stand still for half a second,
 * beside nodes that start everything anew. The page's browser is left as it is, as it takes whatever it gets,
 * and nodes have their share to lose.
 */
const playersNice = -10;
/** Long enough to see what the machine does to pictures by itself. */
const calmMs = 20_000;

/**
 * Games that are played while something is done to the platform, one of them in a real page: their pods,
 * their pictures, and their players' requests.
 */
export class WatchedGames {
  /** The player in the page. */
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

  /** So many players who play the game. */
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

  /** Requests that failed since the last call; throws when none was served. */
  takeFailed(): FailedRequest[] {
    expect(this.#served, "requests that were served").to.be.above(0);
    const failed = this.#failed;
    this.#failed = [];
    this.#served = 0;
    return failed;
  }

  /**
   * The longest time that each picture stood still since the last call, the page's first, beyond what it did
   * while nothing was done: four games, their players and a platform that restarts share the machine's
   * processors.
   */
  async takeAddedGaps(): Promise<FrameGap[]> {
    const gaps = await this.#takeLongestGaps();
    return gaps.map(({ milliseconds, endedAt }, index) => ({
      milliseconds: Math.round(milliseconds - (this.#calmGapsMs[index] ?? 0)),
      endedAt,
    }));
  }

  /**
   * Every game is in its pod still, and the page's listens to its player, who has pressed a key so many times
   * then.
   */
  async areUntouched(presses: number): Promise<void> {
    for (const { player, podUid } of this.#watched)
      expect(await podUidOf(player), `the pod of ${player.sessionId}`).to.equal(podUid);
    await this.page.press(presses);
  }

  /** Ends the requests, and all games but the page's. */
  async stop(): Promise<void> {
    if (this.#isOver) return;
    this.#isOver = true;
    await this.#running;
    await weighOwnSession(0);
    for (const { player } of this.#watched) await player.close();
  }

  /** What the games' starts did to each other does not count. */
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

/** The gaps for a reader, who will look for what else was done then. */
export function textOfGaps(gaps: readonly FrameGap[]): string {
  return gaps
    .map(({ milliseconds, endedAt }) => `${milliseconds} ms until ${new Date(endedAt).toISOString()}`)
    .join(", ");
}

async function podUidOf({ sessionId }: WatchedPlayer): Promise<string> {
  return (await (await platform()).pods.get({ namespace: sessionsNamespace, name: sessionId })).metadata.uid;
}

/** Why there was no response: `fetch` says it in the cause. */
function reasonOf(error: unknown): string {
  const { cause } = error instanceof Error ? error : {};
  const code = cause instanceof Error && "code" in cause ? `${String(cause.code)} ` : "";
  return code + String(cause ?? error);
}
