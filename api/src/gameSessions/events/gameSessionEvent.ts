import { createHash } from "node:crypto";
import { hasEnded } from "#contracts/crd/sessionState.ts";
import {
  gameSessionEvents,
  type GameSessionEventName,
  type GameSessionExpiring,
  type GameSessionStatusResponse,
} from "#contracts/http/gameSessions.ts";

/**
 * One event about a session. Its id holds what its reader knows after it, so that any replica can continue: a
 * digest of the session's state, and the idle expiry of which was warned.
 */
export interface GameSessionEvent {
  id: string;
  name: GameSessionEventName;
  data: GameSessionStatusResponse | GameSessionExpiring;
}

/** What the reader of an event knows, as its id says it. */
export interface EventPosition {
  state: string;
  /** The last warning of this idle expiry, see warningOf; empty before the first. */
  warning: string;
}

/** Returns the state as an event. */
export function stateEvent(data: GameSessionStatusResponse, warning: string): GameSessionEvent {
  return { id: idOf({ state: stateOf(data), warning }), name: nameOf(data), data };
}

/** Returns a warning of the idle expiry as an event. */
export function expiringEvent(
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

/** Returns the name of a warning; another one is due when the idle expiry moves or comes nearer. */
export function warningOf(expiresAt: Date, secondsLeft: number): string {
  return `${expiresAt.getTime().toString(36)}-${secondsLeft}`;
}

/** Returns whether the idle end that the reader was warned of was put off: the session expires later now. */
export function isPutOff({ warning }: EventPosition, expiresAt: Date | null): boolean {
  const [warned = ""] = warning.split("-");
  return expiresAt !== null && expiresAt.getTime() > Number.parseInt(warned, 36);
}

/** Returns a digest of the state without the idle expiry, which every keepalive moves. */
export function stateOf(session: GameSessionStatusResponse): string {
  return createHash("sha256")
    .update(JSON.stringify({ ...session, expiresAt: undefined }))
    .digest("base64url")
    .slice(0, 12);
}

/** Parses a `Last-Event-ID`; undefined when it is none of ours. */
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
