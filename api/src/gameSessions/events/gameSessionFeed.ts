import { hasEnded } from "#contracts/crd/sessionState.ts";
import type { GameSessionStatusResponse } from "#contracts/http/gameSessions.ts";
import type { Clock, Timer } from "#runtime/scheduling/clock.ts";
import type { GameSessionRow } from "../gameSessionQueries.ts";
import {
  expiringEvent,
  isPutOff,
  parsePosition,
  stateEvent,
  stateOf,
  warningOf,
  type GameSessionEvent,
} from "./gameSessionEvent.ts";

/** One reader of a session's events. */
export interface Follower {
  send(event: GameSessionEvent): void;
  /** Called after the last event. */
  end(): void;
}

/** What a feed is made of. */
export interface GameSessionFeedOptions {
  row: GameSessionRow;
  clock: Clock;
  /** How long before the idle expiry to warn, in seconds; the longest first. */
  warningSeconds: readonly number[];
  present: (row: GameSessionRow) => GameSessionStatusResponse;
  /** Now by the database's clock, in milliseconds of the epoch. */
  nowMs: () => number;
  /** Asks for the row to be read again and given to `take`. */
  read: () => void;
}

/** How exact warnings are: a timer may fire a little early. */
const toleranceMs = 250;

/** Sends one session's events to its followers: each change once, however often the feed is updated. */
export class GameSessionFeed {
  readonly #options: GameSessionFeedOptions;
  readonly #followers = new Set<Follower>();
  #row: GameSessionRow;
  #sent: GameSessionStatusResponse;
  /** The last warning, see warningOf. */
  #warning = "";
  #timer: Timer | undefined;

  constructor(options: GameSessionFeedOptions) {
    this.#options = options;
    this.#row = options.row;
    this.#sent = options.present(options.row);
  }

  get isFollowed(): boolean {
    return this.#followers.size > 0;
  }

  get isStarting(): boolean {
    return this.#sent.status === "starting";
  }

  get hasEnded(): boolean {
    return hasEnded(this.#sent.status);
  }

  /**
   * Adds a follower and sends the current state, unless the follower's last event had it, and the idle end
   * that it was warned of was not put off since.
   */
  follow(follower: Follower, lastEventId: string): void {
    const known = parsePosition(lastEventId);
    const due = this.#dueWarning();
    // Another process sent that warning before this follower reconnected to this one.
    if (due !== undefined && known?.warning === due.name) this.#warning = due.name;
    if (known?.state !== stateOf(this.#sent) || isPutOff(known, this.#row.expiresAt))
      follower.send(stateEvent(this.#sent, this.#warning));
    if (this.hasEnded) {
      follower.end();
      return;
    }
    if (due !== undefined && due.name === this.#warning && due.name !== known?.warning)
      follower.send(due.event);
    this.#followers.add(follower);
    this.#scheduleWarning(false);
  }

  unfollow(follower: Follower): void {
    this.#followers.delete(follower);
    if (!this.isFollowed) this.#timer?.cancel();
  }

  /** Takes the row as it was just read. */
  take(row: GameSessionRow): void {
    const isExtended = this.#warning !== "" && row.expiresAt?.getTime() !== this.#row.expiresAt?.getTime();
    this.#row = row;
    if (isExtended) this.#warning = "";
    this.#sendState(isExtended);
    this.#scheduleWarning(true);
  }

  /** Sends what has changed in the cluster. */
  update(): void {
    this.#sendState(false);
    this.#scheduleWarning(false);
  }

  end(): void {
    this.#timer?.cancel();
    for (const follower of this.#followers) follower.end();
    this.#followers.clear();
  }

  #sendState(isForced: boolean): void {
    const current = this.#options.present(this.#row);
    const isChanged = stateOf(current) !== stateOf(this.#sent);
    this.#sent = current;
    if (isChanged || isForced) this.#sendAll(stateEvent(current, this.#warning));
    if (this.hasEnded) this.end();
  }

  /**
   * Sends a warning that is due, when the row is fresh; otherwise asks for the row, or sets a timer for the
   * next warning.
   */
  #scheduleWarning(isFresh: boolean): void {
    this.#timer?.cancel();
    const leftMs = this.#leftMs();
    if (!this.isFollowed || leftMs === undefined) return;
    const due = this.#dueWarning();
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

  /**
   * Returns the warning that is due now: the one of the shortest time before the expiry that has been
   * reached.
   */
  #dueWarning(): { name: string; event: GameSessionEvent } | undefined {
    const leftMs = this.#leftMs();
    const { expiresAt } = this.#row;
    if (leftMs === undefined || expiresAt === null) return undefined;
    const seconds = this.#options.warningSeconds.findLast((each) => leftMs <= each * 1000 + toleranceMs);
    if (seconds === undefined) return undefined;
    return { name: warningOf(expiresAt, seconds), event: expiringEvent(this.#sent, expiresAt, seconds) };
  }

  #leftMs(): number | undefined {
    const { expiresAt } = this.#row;
    return this.#sent.status === "running" && expiresAt !== null
      ? expiresAt.getTime() - this.#options.nowMs()
      : undefined;
  }

  #sendAll(event: GameSessionEvent): void {
    for (const follower of this.#followers) follower.send(event);
  }
}
