import { createHash } from "node:crypto";
import { gameSessionEvents, type GameSessionEventName, type GameSessionExpiring } from "#contracts/http/gameSessionEvents.ts";
import type { GameSessionStatusResponse } from "#contracts/http/gameSessions.ts";

/**
 * One event about a session. Its id says all that its reader knows then, so that any replica can go on after it: a digest
 * of the session's state, and the idle end that was warned of.
 */
export interface GameSessionEvent {
  id: string;
  name: GameSessionEventName;
  data: GameSessionStatusResponse | GameSessionExpiring;
}

/** What the reader of an event knows. */
export interface EventPosition {
  state: string;
  /** Shortest warning given of this idle end; empty before the first. */
  warning: string;
}

/** The state as an event. */
export function stateEvent(data: GameSessionStatusResponse, warning: string): GameSessionEvent {
  return { id: idOf({ state: stateOf(data), warning }), name: nameOf(data), data };
}

/** A warning as an event. */
export function expiringEvent(session: GameSessionStatusResponse, expiresAt: Date, secondsLeft: number): GameSessionEvent {
  const position = { state: stateOf(session), warning: warningOf(expiresAt, secondsLeft) };
  return { id: idOf(position), name: gameSessionEvents.expiring, data: { sessionId: session.sessionId, expiresAt: expiresAt.toISOString(), secondsLeft } };
}

/** Names a warning; another one is due when the idle end moves or comes nearer. */
export function warningOf(expiresAt: Date, secondsLeft: number): string {
  return `${expiresAt.getTime().toString(36)}-${secondsLeft}`;
}

/** Names the state; every keepalive moves the idle end, which is no news. */
export function stateOf(session: GameSessionStatusResponse): string {
  return createHash("sha256").update(JSON.stringify({ ...session, expiresAt: undefined })).digest("base64url").slice(0, 12);
}

/** Where the reader of a `Last-Event-ID` is; anything that is not ours is nowhere. */
export function parsePosition(lastEventId: string): EventPosition | undefined {
  const [, state, warning] = /^([\w-]{12})\.([0-9a-z]*(?:-\d+)?)$/.exec(lastEventId) ?? [];
  return state === undefined || warning === undefined ? undefined : { state, warning };
}

/** The event as it is sent. */
export function encodeEvent({ id, name, data }: GameSessionEvent): string {
  return `id: ${id}\nevent: ${name}\ndata: ${JSON.stringify(data)}\n\n`;
}

/** Whether nothing comes after this state. */
export function isEnd({ status }: GameSessionStatusResponse): boolean {
  return status === "stopped" || status === "error";
}

function idOf({ state, warning }: EventPosition): string {
  return `${state}.${warning}`;
}

function nameOf(data: GameSessionStatusResponse): GameSessionEventName {
  if (isEnd(data)) return gameSessionEvents.end;
  if (data.status === "starting") return gameSessionEvents.stage;
  return data.status === "running" ? gameSessionEvents.running : gameSessionEvents.stopping;
}
