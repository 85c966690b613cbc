import { limits } from "#contracts/limits.ts";
import { DomainError, invalidRequest } from "../errors.ts";
import type { AppContext, HttpDeps } from "./appContext.ts";
import { payloadTooLarge, unsupportedEncoding, unsupportedMediaType } from "./httpError.ts";

export const jsonType = "application/json";
export const formType = "application/x-www-form-urlencoded";

/** A context whose body can be read. */
type BodyContext = AppContext<{ config: { http: { bodyTimeoutMs: number } } }>;

const depthMax = 10;
const utf8 = new TextDecoder("utf-8", { fatal: true });

/**
 * Returns the value of a JSON body of at most `maxBytes`.
 *
 * @throws invalid_request, payload_too_large, unsupported_media_type, or request_timeout for a slow body
 */
export async function readJson(
  ctx: BodyContext,
  maxBytes: number = limits.partner.bodyBytes,
): Promise<unknown> {
  if (!hasBody(ctx)) throw invalidRequest("The body is missing. Send a JSON object, as application/json.");
  requireType(ctx, [jsonType]);
  return parseJson(await readText(ctx, maxBytes));
}

/**
 * Returns the fields of a form, or a JSON body in its place; no fields without a body.
 *
 * @throws the errors of `readJson`
 */
export async function readForm(ctx: BodyContext, maxBytes: number = limits.auth.bodyBytes): Promise<unknown> {
  if (!hasBody(ctx)) return {};
  const type = requireType(ctx, [formType, jsonType]);
  const text = await readText(ctx, maxBytes);
  return type === jsonType ? parseJson(text) : Object.fromEntries(new URLSearchParams(text));
}

/**
 * Returns a body of exactly this media type as text.
 *
 * @throws the errors of `readJson`
 */
export async function readPlain(ctx: BodyContext, type: string, maxBytes: number): Promise<string> {
  requireType(ctx, [type]);
  return readText(ctx, maxBytes);
}

/** Tells a client that waits for 100-continue to send its body. Call it when the body is needed. */
export function continueBody(ctx: AppContext): void {
  if (!waitsForContinue(ctx)) return;
  ctx.state.isBodyRequested = true;
  ctx.res.writeContinue();
}

/** Returns whether the client waits for 100-continue before it sends its body. */
function waitsForContinue({ req, state }: AppContext): boolean {
  return req.headers.expect?.toLowerCase() === "100-continue" && !state.isBodyRequested;
}

/**
 * Returns the bytes of a body and its media type, which must be one of these.
 *
 * @throws the errors of `readJson`
 */
export async function readBinary<Type extends string>(
  ctx: BodyContext,
  types: readonly Type[],
  maxBytes: number,
): Promise<{ type: Type; bytes: Buffer }> {
  const type = requireType(ctx, types);
  return { type, bytes: await readWhole(ctx, maxBytes) };
}

/** Returns whether the request has a body. Without a body the media type is not checked. */
function hasBody({ req: { headers } }: AppContext): boolean {
  return (
    headers["content-type"] !== undefined ||
    headers["transfer-encoding"] !== undefined ||
    Number(headers["content-length"] ?? 0) > 0
  );
}

function requireType<Type extends string>(ctx: AppContext, accepted: readonly Type[]): Type {
  if (ctx.req.headers["content-encoding"] !== undefined) throw unsupportedEncoding(accepted);
  const [type = ""] = (ctx.req.headers["content-type"] ?? "").split(";", 1);
  const found = accepted.find((name) => name === type.trim().toLowerCase());
  if (found === undefined) throw unsupportedMediaType(accepted);
  return found;
}

async function readText(ctx: BodyContext, maxBytes: number): Promise<string> {
  const bytes = await readWhole(ctx, maxBytes);
  try {
    return utf8.decode(bytes);
  } catch (cause) {
    throw new DomainError("invalid_request", { message: "The body is not UTF-8 text.", cause });
  }
}

async function readWhole(ctx: BodyContext, maxBytes: number): Promise<Buffer> {
  if (Number(ctx.req.headers["content-length"] ?? 0) > maxBytes) throw payloadTooLarge(maxBytes);
  continueBody(ctx);
  return ctx.req.complete ? takeBytes(ctx, maxBytes) : readBytes(ctx, maxBytes);
}

/** Returns the body of a complete request. Most bodies arrive while the credential is checked. */
function takeBytes({ req }: AppContext, maxBytes: number): Buffer {
  const bytes: unknown = req.read();
  if (!Buffer.isBuffer(bytes)) return Buffer.alloc(0);
  if (bytes.length > maxBytes) throw payloadTooLarge(maxBytes);
  return bytes;
}

function readBytes({ req, deps }: BodyContext, maxBytes: number): Promise<Buffer> {
  const deadlineMs = deps.config.http.bodyTimeoutMs;
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    let size = 0;
    const timer = setTimeout(
      () =>
        fail(
          new DomainError("request_timeout", {
            message: `The body did not arrive within ${deadlineMs / 1000} s.`,
          }),
        ),
      deadlineMs,
    );
    const fail = (error: Error): void => {
      clearTimeout(timer);
      req.removeAllListeners("data");
      req.pause();
      reject(error);
    };
    req.on("data", (chunk: Buffer) => {
      size += chunk.length;
      if (size > maxBytes) fail(payloadTooLarge(maxBytes));
      else chunks.push(chunk);
    });
    req.once("end", () => {
      clearTimeout(timer);
      resolve(Buffer.concat(chunks));
    });
    req.once("error", (cause) =>
      fail(new DomainError("invalid_request", { message: "The body was interrupted.", cause })),
    );
    req.once("close", () => {
      if (!req.complete) fail(new DomainError("invalid_request", { message: "The body was interrupted." }));
    });
  });
}

function parseJson(text: string): unknown {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (cause) {
    throw new DomainError("invalid_request", { message: "The body is not valid JSON.", cause });
  }
  if (isDeeper(value, depthMax)) throw invalidRequest(`The body has more than ${depthMax} levels.`);
  return value;
}

function isDeeper(value: unknown, depth: number): boolean {
  if (typeof value !== "object" || value === null) return false;
  return depth === 0 || Object.values(value).some((child) => isDeeper(child, depth - 1));
}

/** The body of a refused request is discarded as long as it arrives at this rate, within these bounds. */
const checkMs = 1_000;
const bytesBetweenLooks = 64 * 1024;
const discardMs = 5_000;
const discardBytes = 64 * 2 ** 20;

/** Returns whether the request has a body that was not read completely. */
export function isBodyUnread({ req: { complete, headers } }: AppContext): boolean {
  return (
    !complete && (headers["transfer-encoding"] !== undefined || Number(headers["content-length"] ?? 0) > 0)
  );
}

/**
 * Discards the body of a refused request, within bounds. A client that sends its whole body before it reads
 * would otherwise miss the error, because closing a connection with unread data resets it. A client that
 * waits for 100-continue sends nothing.
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
  const check = (): void => {
    if (bytes - bytesBefore < bytesBetweenLooks || clock.monotonicMs() >= endMs) stop();
    bytesBefore = bytes;
    timer = clock.setTimer(checkMs, check);
  };
  let timer = clock.setTimer(checkMs, check);
  req.once("end", stop).once("close", stop).on("data", count).resume();
  await done.promise;
  timer.cancel();
  req.off("data", count).pause();
}

/**
 * Returns a signal that aborts with invalid_request when the client closes the connection before the
 * response.
 */
export function clientGoneSignal({ res }: AppContext): AbortSignal {
  const gone = new AbortController();
  const onClose = (): void => {
    if (!res.writableFinished) gone.abort(invalidRequest("The connection was closed before the response."));
  };
  if (res.closed) onClose();
  else res.once("close", onClose);
  return gone.signal;
}
