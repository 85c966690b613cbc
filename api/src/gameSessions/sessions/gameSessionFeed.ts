import { createHash } from "node:crypto";
import {
  type GameSessionStatusResponse,
  type GameSessionEventName,
  type GameSessionEndingEvent,
  type GameSessionExpiring,
  gameSessionEvents,
} from "#contracts/http/gameSessions.ts";
import type { Clock, Timer } from "#runtime/scheduling/clock.ts";
import { hasEnded } from "#contracts/crd/sessionState.ts";
import type { GameSessionRow } from "./gameSessionQueries.ts";

/**
 * An event about a session. Its id records what the reader knows afterwards, so any replica can continue the
 * stream: a digest of the session's state, the idle expiry of the last warning, and the announced end.
 */
export interface GameSessionEvent {
  id: string;
  name: GameSessionEventName;
  data: GameSessionStatusResponse | GameSessionExpiring | GameSessionEndingEvent;
}

/** What the reader of an event knows, decoded from its id. */
interface EventPosition {
  state: string;
  /** The last warning of the current idle expiry, see warningOf; empty before the first. */
  warning: string;
  /** The announced end, see endingKeyOf; empty without one. */
  ending: string;
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
  /** Returns when the next end will be announced, in milliseconds since the epoch; undefined if none will. */
  nextEndingMs: (row: GameSessionRow) => number | undefined;
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
  #endingTimer: Timer | undefined;

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
    const isStateKnown =
      known?.state === stateOf(this.#sent) &&
      !isPutOff(known, this.#row.expiresAt) &&
      (known.ending === "" || endingKeyOf(this.#sent) !== "");
    const hasEnding = isEndingNew(this.#sent, known?.ending ?? "");
    for (const event of this.#eventsOf(!isStateKnown, hasEnding)) follower.send(event);
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
    if (!this.isFollowed) this.#cancelTimers();
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
    this.#cancelTimers();
    for (const follower of this.#followers) follower.end();
    this.#followers.clear();
  }

  #sendState(isForced: boolean): void {
    const current = this.#options.present(this.#row);
    const isChanged = stateOf(current) !== stateOf(this.#sent);
    const before = endingKeyOf(this.#sent);
    const isCancelled = before !== "" && endingKeyOf(current) === "";
    this.#sent = current;
    for (const event of this.#eventsOf(isChanged || isForced || isCancelled, isEndingNew(current, before)))
      this.#sendAll(event);
    if (this.hasEnded) this.end();
  }

  /** Returns the events to send. The end of a session that stops at once is announced before `stopping`. */
  #eventsOf(hasState: boolean, hasEnding: boolean): GameSessionEvent[] {
    const state = hasState ? [stateEvent(this.#sent, this.#warning)] : [];
    const ending = hasEnding ? [endingEvent(this.#sent, this.#warning)] : [];
    return this.#sent.status === "stopping" ? [...ending, ...state] : [...state, ...ending];
  }

  #cancelTimers(): void {
    this.#timer?.cancel();
    this.#endingTimer?.cancel();
  }

  /** Requests the row when the next end is due to be announced. */
  #scheduleEnding(): void {
    this.#endingTimer?.cancel();
    const { nextEndingMs, nowMs, clock, read } = this.#options;
    const nextMs = this.#sent.status === "running" ? nextEndingMs(this.#row) : undefined;
    if (nextMs !== undefined) this.#endingTimer = clock.setTimer(nextMs - nowMs(), () => read());
  }

  /**
   * Sends a due warning if the row is fresh. Otherwise requests the row, or sets a timer for the next
   * warning.
   */
  #scheduleWarning(isFresh: boolean): void {
    this.#cancelTimers();
    if (!this.isFollowed) return;
    this.#scheduleEnding();
    const leftMs = this.#leftMs();
    if (leftMs === undefined) return;
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
  return { id: idOf(positionOf(data, warning)), name: nameOf(data), data };
}

/** Returns the announced end as an event. The session must have one. */
function endingEvent(session: GameSessionStatusResponse, warning: string): GameSessionEvent {
  const { sessionId, ending } = session;
  if (ending === undefined) throw new Error("The session has no announced end.");
  return {
    id: idOf(positionOf(session, warning)),
    name: gameSessionEvents.ending,
    data: { sessionId, ...ending },
  };
}

function positionOf(session: GameSessionStatusResponse, warning: string): EventPosition {
  return { state: stateOf(session), warning, ending: endingKeyOf(session) };
}

/** Returns the key of the announced end, which changes with its time and reason; empty without one. */
function endingKeyOf({ ending }: GameSessionStatusResponse): string {
  return ending === undefined ? "" : `${ending.reason}_${Date.parse(ending.at).toString(36)}`;
}

/**
 * Returns whether the session has an announced end that differs from the one with the key `known`. The time
 * at which a stop began differs slightly from the announced one.
 */
function isEndingNew(session: GameSessionStatusResponse, known: string): boolean {
  const key = endingKeyOf(session);
  if (session.ending === undefined || key === known) return false;
  return session.status !== "stopping" || !known.startsWith(`${session.ending.reason}_`);
}

/** Returns a warning of the idle expiry as an event. */
function expiringEvent(
  session: GameSessionStatusResponse,
  expiresAt: Date,
  secondsLeft: number,
): GameSessionEvent {
  return {
    id: idOf(positionOf(session, warningOf(expiresAt, secondsLeft))),
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

/**
 * Returns a digest of the state, without the idle expiry, which every keepalive changes, and the announced
 * end, which has its own event.
 */
export function stateOf(session: GameSessionStatusResponse): string {
  return createHash("sha256")
    .update(JSON.stringify({ ...session, expiresAt: undefined, ending: undefined }))
    .digest("base64url")
    .slice(0, 12);
}

/** Parses a `Last-Event-ID`; returns undefined for an id in another format. */
export function parsePosition(lastEventId: string): EventPosition | undefined {
  const [, state, warning, ending = ""] =
    /^([\w-]{12})\.([0-9a-z]*(?:-\d+)?)(?:\.([0-9a-z_]+))?$/.exec(lastEventId) ?? [];
  return state === undefined || warning === undefined ? undefined : { state, warning, ending };
}

/** Returns the event in the format of server-sent events. */
export function encodeEvent({ id, name, data }: GameSessionEvent): string {
  return `id: ${id}\nevent: ${name}\ndata: ${JSON.stringify(data)}\n\n`;
}

function idOf({ state, warning, ending }: EventPosition): string {
  return ending === "" ? `${state}.${warning}` : `${state}.${warning}.${ending}`;
}

function nameOf(data: GameSessionStatusResponse): GameSessionEventName {
  if (hasEnded(data.status)) return gameSessionEvents.end;
  if (data.status === "starting") return gameSessionEvents.stage;
  return data.status === "running" ? gameSessionEvents.running : gameSessionEvents.stopping;
}
