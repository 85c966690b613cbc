import type { AppContext, HttpDeps } from "./appContext.ts";
import { waitsForContinue } from "./body.ts";

/**
 * A refused client's body is read on for as long as so much of it comes in each second, and up to these
 * bounds.
 */
const lookMs = 1_000;
const bytesBetweenLooks = 64 * 1024;
const discardMs = 5_000;
const discardBytes = 64 * 2 ** 20;

/** Returns whether the request has a body that has not come to its end. */
export function isBodyUnread({ req: { complete, headers } }: AppContext): boolean {
  return (
    !complete && (headers["transfer-encoding"] !== undefined || Number(headers["content-length"] ?? 0) > 0)
  );
}

/**
 * Reads what comes of a refused request's body and discards it, within bounds. A client that sends its whole
 * body before it reads would not see the error: a connection that is closed while bytes of it are unread is
 * reset. A client that waits for 100-continue sends nothing.
 */
export async function discardBody(ctx: AppContext<HttpDeps>): Promise<void> {
  const {
    req,
    deps: { clock },
  } = ctx;
  if (!isBodyUnread(ctx) || req.destroyed || waitsForContinue(ctx)) return;
  const done = Promise.withResolvers<undefined>();
  const stop = (): void => done.resolve(undefined);
  const endMs = clock.monotonicMs() + discardMs;
  let bytes = 0;
  let bytesBefore = 0;
  const count = (piece: Buffer): void => {
    bytes += piece.length;
    if (bytes >= discardBytes) stop();
  };
  const look = (): void => {
    if (bytes - bytesBefore < bytesBetweenLooks || clock.monotonicMs() >= endMs) stop();
    bytesBefore = bytes;
    timer = clock.setTimer(lookMs, look);
  };
  let timer = clock.setTimer(lookMs, look);
  req.once("end", stop).once("close", stop).on("data", count).resume();
  await done.promise;
  timer.cancel();
  req.off("data", count).pause();
}
