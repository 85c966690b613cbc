import { Readable } from "node:stream";
import { limits } from "#contracts/limits.ts";
import { sleepUntilAborted } from "#runtime/scheduling/clock.ts";
import { hasEnded } from "#contracts/crd/sessionState.ts";
import { presentGameSession } from "./present.ts";
import type { UserPrincipal } from "../../auth/requireUser.ts";
import type { AppContext } from "../../http/appContext.ts";
import type { GameSessionRow } from "./gameSessionQueries.ts";
import { encodeEvent, parsePosition, stateOf } from "./gameSessionFeed.ts";
import type { Deps } from "../../deps.ts";

/** Bytes that may be buffered for a slow reader, in addition to the connection's own buffers. */
const bufferBytes = 16 * 1024;

/**
 * A response written event by event. A reader that does not keep up is disconnected, and receives the current
 * state when it reconnects.
 */
export class EventBody extends Readable {
  readonly #disconnect: () => void;

  /** `disconnect` must close the connection. */
  constructor(disconnect: () => void) {
    super({ highWaterMark: bufferBytes });
    this.#disconnect = disconnect;
  }

  override _read(): void {
    // Events are pushed when they happen.
  }

  /** Sends the text, or disconnects the reader if too much is buffered. */
  send(text: string): void {
    if (this.destroyed || this.readableEnded || this.#isOver) return;
    if (this.readableLength + Buffer.byteLength(text) > bufferBytes) {
      this.#isOver = true;
      this.#disconnect();
      return;
    }
    this.push(text);
  }

  /** Ends the response after the text sent so far. */
  end(): void {
    if (this.destroyed || this.#isOver) return;
    this.#isOver = true;
    this.push(null);
  }

  #isOver = false;
}

/** How long browsers wait before they reconnect. */
const retryMs = 2_000;

/**
 * Responds with the session's events until the session or the sign-in ends, or for an hour. A client that
 * already knows the end gets 204, which stops browsers from reconnecting.
 */
export function streamGameSession(ctx: AppContext<Deps>, user: UserPrincipal, row: GameSessionRow): void {
  const { gameSessionEvents, clock } = ctx.deps;
  const lastEventId = ctx.get("last-event-id");
  const now = presentGameSession(row, ctx.deps, clock.now());
  ctx.set("Cache-Control", "no-store, no-transform");
  if (hasEnded(now.status) && parsePosition(lastEventId)?.state === stateOf(now)) {
    ctx.status = 204;
    return;
  }
  // A plain end would leave the kernel holding data buffered for the reader.
  const body = new EventBody(() => ctx.req.socket.resetAndDestroy());
  body.send(`retry: ${retryMs}\n\n`);
  const unfollow = gameSessionEvents.follow(
    { row, userId: user.id, lastEventId },
    {
      send: (event) => body.send(encodeEvent(event)),
      end: () => body.end(),
    },
  );
  const closed = new AbortController();
  body.once("close", () => {
    unfollow();
    closed.abort();
  });
  void keepOpen(ctx, user, body, closed.signal);
  ctx.set("X-Accel-Buffering", "no");
  ctx.type = "text/event-stream";
  ctx.body = body;
}

/** Sends heartbeats while the sign-in is valid, so that proxies and browsers keep the connection open. */
async function keepOpen(
  { deps }: AppContext<Deps>,
  user: UserPrincipal,
  body: EventBody,
  signal: AbortSignal,
): Promise<void> {
  const { authSessions, clock, config } = deps;
  const endMs = clock.monotonicMs() + limits.gameSession.eventStreamSeconds * 1000;
  while (await sleepUntilAborted(clock, config.gameSession.eventHeartbeatSeconds * 1000, signal)) {
    // If the check fails, the stream stays open: the sign-in was valid a moment ago, and the stream shows
    // only this session.
    const isSignedIn = await authSessions.admit(user.authSessionId, user.id, []).then(
      (admission) => admission !== undefined,
      () => true,
    );
    if (isSignedIn && clock.monotonicMs() < endMs) body.send(":\n\n");
    else body.end();
  }
}
