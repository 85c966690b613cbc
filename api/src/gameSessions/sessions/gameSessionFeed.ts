import { createHash } from "node:crypto";
import {
  type GameSessionStatusResponse,
  type GameSessionEventName,
  type GameSessionExpiring,
  gameSessionEvents,
} from "#contracts/http/gameSessions.ts";
import type { Clock, Timer } from "#runtime/scheduling/clock.ts";
import { hasEnded } from "#contracts/crd/sessionState.ts";
import type { GameSessionRow } from "./gameSessionQueries.ts";

/**
 * An event about a session. Its id records what the reader knows afterwards, so any replica can continue the
 * stream: a digest of the session's state, and the idle expiry of the last warning.
 */
export interface GameSessionEvent {
  id: string;
  name: GameSessionEventName;
  data: GameSessionStatusResponse | GameSessionExpiring;
}

/** What the reader of an event knows, decoded from its id. */
interface EventPosition {
  state: string;
  /** The last warning of the current idle expiry, see warningOf; empty before the first. */
  warning: string;
}

/** A reader of a session's events. */
export interface Follower {
  send(event: GameSessionEvent): void;
  /** Called after the last event. */
  end(): void;
}

/** Options of a feed. */
export interface GameSessionFeedOptions {
  row: GameSessionRow;
  clock: Clock;
  /** Seconds before the idle expiry at which to warn, in descending order. */
  warningSeconds: readonly number[];
  present: (row: GameSessionRow) => GameSessionStatusResponse;
  /** Returns the database's current time in milliseconds since the epoch. */
  nowMs: () => number;
  /** Requests a new read of the row, which is passed to `take`. */
  read: () => void;
}

/** Tolerance of warnings: a timer may fire slightly early. */
const toleranceMs = 250;

/** Sends a session's events to its followers: each change once, however often the feed is updated. */
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

  get isQueued(): boolean {
    return this.#sent.stage === "queued";
  }

  get hasEnded(): boolean {
    return hasEnded(this.#sent.status);
  }

  /**
   * Adds a follower. Sends the current state unless the follower's last event had it and the idle end it
   * warned of has not been postponed.
   */
  follow(follower: Follower, lastEventId: string): void {
    const known = parsePosition(lastEventId);
    const due = this.#dueWarning();
    // Another process sent that warning before this follower reconnected.
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

  /** Processes a row that was just read. */
  take(row: GameSessionRow): void {
    const isExtended = this.#warning !== "" && row.expiresAt?.getTime() !== this.#row.expiresAt?.getTime();
    this.#row = row;
    if (isExtended) this.#warning = "";
    this.#sendState(isExtended);
    this.#scheduleWarning(true);
  }

  /** Sends changes from the cluster. */
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
   * Sends a due warning if the row is fresh. Otherwise requests the row, or sets a timer for the next
   * warning.
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

  /** Returns the due warning: the one with the shortest lead time that has been reached. */
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

/** Returns the state as an event. */
function stateEvent(data: GameSessionStatusResponse, warning: string): GameSessionEvent {
  return { id: idOf({ state: stateOf(data), warning }), name: nameOf(data), data };
}

/** Returns a warning of the idle expiry as an event. */
function expiringEvent(
  session: GameSessionStatusResponse,
  expiresAt: Date,
  secondsLeft: number,
): GameSessionEvent {
  const position = { state: stateOf(session), warning: warningOf(expiresAt, secondsLeft) };
  return {
    id: idOf(position),
    name: gameSessionEvents.expiring,
    data: { sessionId: session.sessionId, expiresAt: expiresAt.toISOString(), secondsLeft },
  };
}

/** Returns the key of a warning. The next warning is due when the idle expiry changes or comes closer. */
function warningOf(expiresAt: Date, secondsLeft: number): string {
  return `${expiresAt.getTime().toString(36)}-${secondsLeft}`;
}

/** Returns whether the session now expires later than the reader was warned. */
function isPutOff({ warning }: EventPosition, expiresAt: Date | null): boolean {
  const [warned = ""] = warning.split("-");
  return expiresAt !== null && expiresAt.getTime() > Number.parseInt(warned, 36);
}

/** Returns a digest of the state, without the idle expiry that every keepalive changes. */
export function stateOf(session: GameSessionStatusResponse): string {
  return createHash("sha256")
    .update(JSON.stringify({ ...session, expiresAt: undefined }))
    .digest("base64url")
    .slice(0, 12);
}

/** Parses a `Last-Event-ID`; returns undefined for an id in another format. */
export function parsePosition(lastEventId: string): EventPosition | undefined {
  const [, state, warning] = /^([\w-]{12})\.([0-9a-z]*(?:-\d+)?)$/.exec(lastEventId) ?? [];
  return state === undefined || warning === undefined ? undefined : { state, warning };
}

/** Returns the event in the format of server-sent events. */
export function encodeEvent({ id, name, data }: GameSessionEvent): string {
  return `id: ${id}\nevent: ${name}\ndata: ${JSON.stringify(data)}\n\n`;
}

function idOf({ state, warning }: EventPosition): string {
  return `${state}.${warning}`;
}

function nameOf(data: GameSessionStatusResponse): GameSessionEventName {
  if (hasEnded(data.status)) return gameSessionEvents.end;
  if (data.status === "starting") return gameSessionEvents.stage;
  return data.status === "running" ? gameSessionEvents.running : gameSessionEvents.stopping;
}
