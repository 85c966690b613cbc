import type { GameSessionStatusResponse } from "#contracts/http/gameSessions.ts";
import type { Clock, Timer } from "#runtime/clock.ts";
import type { GameSessionRow } from "../gameSessionStore.ts";
import { expiringEvent, isEnd, parsePosition, stateEvent, stateOf, warningOf, type GameSessionEvent } from "./gameSessionEvent.ts";

/** One reader of a session's events. */
export interface Follower {
  send(event: GameSessionEvent): void;
  /** Nothing comes any more. */
  end(): void;
}

export interface GameSessionFeedOptions {
  row: GameSessionRow;
  clock: Clock;
  /** Before the idle end, when to warn; the largest first. */
  warningSeconds: readonly number[];
  present: (row: GameSessionRow) => GameSessionStatusResponse;
  /** By the database's clock, which the idle end is of. */
  nowMs: () => number;
  /** Has the row read again and given to `take`. */
  read: () => void;
}

/** Warnings are this exact: a timer may come a little early. */
const toleranceMs = 250;

/** What one session's followers are told; each change once, however often its causes are looked at. */
export class GameSessionFeed {
  readonly #options: GameSessionFeedOptions;
  readonly #followers = new Set<Follower>();
  #row: GameSessionRow;
  #told: GameSessionStatusResponse;
  /** The last one given, see warningOf. */
  #warning = "";
  #timer: Timer | undefined;

  constructor(options: GameSessionFeedOptions) {
    this.#options = options;
    this.#row = options.row;
    this.#told = options.present(options.row);
  }

  get isFollowed(): boolean {
    return this.#followers.size > 0;
  }

  get isStarting(): boolean {
    return this.#told.status === "starting";
  }

  get hasEnded(): boolean {
    return isEnd(this.#told);
  }

  /** Begins with how things stand, unless that is what the follower's last event said. */
  follow(follower: Follower, lastEventId: string): void {
    const known = parsePosition(lastEventId);
    const due = this.#warningNow();
    // Another process gave that warning before this follower came to us.
    if (due !== undefined && known?.warning === due.name) this.#warning = due.name;
    if (known?.state !== stateOf(this.#told)) follower.send(stateEvent(this.#told, this.#warning));
    if (this.hasEnded) {
      follower.end();
      return;
    }
    if (due !== undefined && due.name === this.#warning && due.name !== known?.warning) follower.send(due.event);
    this.#followers.add(follower);
    this.#expectWarning(false);
  }

  unfollow(follower: Follower): void {
    this.#followers.delete(follower);
    if (!this.isFollowed) this.#timer?.cancel();
  }

  /** The row as it was read just now. */
  take(row: GameSessionRow): void {
    const isPutOff = this.#warning !== "" && row.expiresAt?.getTime() !== this.#row.expiresAt?.getTime();
    this.#row = row;
    if (isPutOff) this.#warning = "";
    this.#tell(isPutOff);
    this.#expectWarning(true);
  }

  /** Something about the session has changed in the cluster. */
  look(): void {
    this.#tell(false);
    this.#expectWarning(false);
  }

  end(): void {
    this.#timer?.cancel();
    for (const follower of this.#followers) follower.end();
    this.#followers.clear();
  }

  #tell(isNews: boolean): void {
    const now = this.#options.present(this.#row);
    const isChanged = stateOf(now) !== stateOf(this.#told);
    this.#told = now;
    if (isChanged || isNews) this.#sendAll(stateEvent(now, this.#warning));
    if (this.hasEnded) this.end();
  }

  /** Warns when it is time and the row is fresh; else waits until then, or has the row read. */
  #expectWarning(isFresh: boolean): void {
    this.#timer?.cancel();
    const leftMs = this.#leftMs();
    if (!this.isFollowed || leftMs === undefined) return;
    const due = this.#warningNow();
    if (due !== undefined && due.name !== this.#warning) {
      if (!isFresh) {
        this.#options.read();
        return;
      }
      this.#warning = due.name;
      this.#sendAll(due.event);
    }
    const nextSeconds = this.#options.warningSeconds.find((seconds) => seconds * 1000 < leftMs - toleranceMs);
    if (nextSeconds === undefined) return;
    this.#timer = this.#options.clock.setTimer(leftMs - nextSeconds * 1000, () => this.#options.read());
  }

  /** The warning that holds now: of the shortest time before the end that has been reached. */
  #warningNow(): { name: string; event: GameSessionEvent } | undefined {
    const leftMs = this.#leftMs();
    const { expiresAt } = this.#row;
    if (leftMs === undefined || expiresAt === null) return undefined;
    const seconds = this.#options.warningSeconds.findLast((each) => leftMs <= each * 1000 + toleranceMs);
    if (seconds === undefined) return undefined;
    return { name: warningOf(expiresAt, seconds), event: expiringEvent(this.#told, expiresAt, seconds) };
  }

  #leftMs(): number | undefined {
    const { expiresAt } = this.#row;
    return this.#told.status === "running" && expiresAt !== null ? expiresAt.getTime() - this.#options.nowMs() : undefined;
  }

  #sendAll(event: GameSessionEvent): void {
    for (const follower of this.#followers) follower.send(event);
  }
}
