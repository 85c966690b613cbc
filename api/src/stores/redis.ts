import { isIP } from "node:net";
import { Redis as Client } from "ioredis";
import { jittered } from "#runtime/scheduling/backOff.ts";
import type { Logger } from "#runtime/logger.ts";
import {
  connectionFailureOf,
  connectionSentence,
  type ServerWords,
} from "#runtime/network/connectionFailure.ts";
import { createHash } from "node:crypto";

/** A connected client. Commands time out instead of waiting for an unavailable server. */
export type Redis = Client;

/** Address of Redis. */
export interface RedisAddress {
  url: string;
  /** CA of the server's certificate, in PEM; undefined trusts the public CAs. */
  authorities?: string[] | undefined;
}

/** A client, and the reason when it is not connected. */
export interface RedisConnection {
  redis: Redis;
  /** Last error since the connection was lost; undefined while connected. */
  failure: () => Error | undefined;
}

/** After this many consecutive timeouts the connection is dropped, so commands fail immediately. */
const timeoutsBeforeReconnect = 3;
const reconnectMs = { first: 50, most: 2_000 };

class TimeoutClient extends Client {
  #timeouts = 0;
  #isCorked = false;

  override sendCommand(...args: Parameters<Client["sendCommand"]>): unknown {
    const [command] = args;
    (command.promise as Promise<unknown>).then(
      () => {
        this.#timeouts = 0;
      },
      (error: unknown) => {
        if (!(error instanceof Error) || error.message !== "Command timed out") return;
        this.#timeouts += 1;
        if (this.#timeouts < timeoutsBeforeReconnect) return;
        this.#timeouts = 0;
        this.disconnect(true);
        // A hanging server does not respond to an orderly close, for which the client would wait two
        // seconds.
        this.stream.destroy();
      },
    );
    this.#corkWrites();
    return super.sendCommand(...args);
  }

  /**
   * Sends the commands of one turn of the event loop in one write, because a write costs more than the
   * commands.
   */
  #corkWrites(): void {
    if (this.#isCorked || this.status !== "ready") return;
    const { stream } = this;
    this.#isCorked = true;
    stream.cork();
    setImmediate(() => {
      this.#isCorked = false;
      stream.uncork();
    });
  }
}

/** Opens the shared connection. It reconnects forever and never queues commands while disconnected. */
export function connectRedis(
  { url, authorities, commandTimeoutMs }: RedisAddress & { commandTimeoutMs: number },
  logger: Logger,
): RedisConnection {
  const client = new TimeoutClient(url, {
    enableOfflineQueue: false,
    maxRetriesPerRequest: 0,
    commandTimeout: commandTimeoutMs,
    connectTimeout: 2_000,
    // A frozen server keeps its connection; a ping without a response for this long closes it.
    socketTimeout: 10_000,
    retryStrategy: (attempt) =>
      jittered(Math.min(reconnectMs.first * 2 ** Math.min(attempt, 10), reconnectMs.most), Math.random, 0.25),
    ...tlsOf(url, authorities),
  });
  return { redis: client, failure: followFailures(client, url, logger) };
}

/** Also sends the host name, which selects the certificate if one address serves several names. */
function tlsOf(url: string, ca: string[] | undefined): { tls?: { ca?: string[]; servername?: string } } {
  const { protocol, hostname } = new URL(url);
  if (protocol !== "rediss:") return {};
  return {
    tls: {
      ...(ca !== undefined && { ca }),
      ...(isIP(hostname.replace(/^\[|\]$/g, "")) === 0 && { servername: hostname }),
    },
  };
}

/**
 * Logs when Redis becomes unavailable, when the reason changes, and when it is available again. Returns a
 * function that returns the last error.
 */
function followFailures(client: Client, url: string, logger: Logger): () => Error | undefined {
  let failure: Error | undefined;
  let loggedReason: string | undefined;
  const fail = (error: Error): void => {
    failure = error;
    const reason = redisSentence(error, url) ?? "Redis does not respond.";
    if (reason !== loggedReason)
      logger.warn(
        { err: error, reason },
        "Redis is unavailable. Until it is back, limits and lockouts are counted per process.",
      );
    loggedReason = reason;
  };
  let isAnswered = false;
  client.on("connect", () => (isAnswered = false));
  client.on("error", (error: Error) => {
    ignoreLaterErrors(client.stream);
    fail(!isAnswered && isClosed(error) ? new ClosedAtOnce(error) : error);
  });
  client.on("close", () => {
    if (!isAnswered && failure === undefined) fail(new ClosedAtOnce());
  });
  client.on("ready", () => {
    isAnswered = true;
    if (failure !== undefined) logger.info({}, "Redis is available again.");
    failure = undefined;
    loggedReason = undefined;
  });
  return () => failure;
}

/**
 * The Redis client listens only for a connection's first error. A connection that was rejected because of its
 * certificate has a second error, which would end the process.
 */
function ignoreLaterErrors(stream: Client["stream"] | undefined): void {
  stream?.on("error", () => undefined);
}

function isClosed(error: Error): boolean {
  return "code" in error && (error.code === "ECONNRESET" || error.code === "EPIPE");
}

/**
 * Resolves when Redis responds.
 *
 * @throws the connection's error, or the command's
 */
export async function pingRedis({ redis, failure }: RedisConnection): Promise<void> {
  if (redis.status !== "ready") throw failure() ?? new Error("There is no connection to Redis yet.");
  await redis.ping();
}

const words: ServerWords = {
  server: "Redis",
  address: "REDIS_URL",
  authority: "REDIS_CA_FILE (the chart's redis.caSecret)",
};

/** A server closed the connection before its first response. */
class ClosedAtOnce extends Error {
  constructor(cause?: Error) {
    super("The server closed the connection before its first response.", { cause });
    this.name = "ClosedAtOnce";
  }
}

/**
 * Returns a sentence, without secrets, that describes a configuration problem of the Redis connection and its
 * fix; undefined for transient errors.
 */
export function redisSentence(error: unknown, url: string): string | undefined {
  const isTls = url.startsWith("rediss:");
  const failure = connectionFailureOf(error);
  if (failure !== undefined) return connectionSentence(failure, words);
  if (!(error instanceof Error)) return undefined;
  if (/^(?:WRONGPASS|ERR invalid password)/.test(error.message))
    return "Redis refuses the user or the password in REDIS_URL: correct them.";
  if (error.message.startsWith("NOAUTH"))
    return "Redis requires a password, but REDIS_URL has none: use rediss://:PASSWORD@HOST:PORT.";
  if (error.message.startsWith("NOPERM"))
    return "The user in REDIS_URL lacks permissions in Redis: allow it all commands on keys and channels.";
  if (!isTls && error instanceof ClosedAtOnce)
    return "Redis closes the connection immediately: if it requires TLS, REDIS_URL must begin with rediss://.";
  if (isTls && error.message === "connect ETIMEDOUT")
    return "Redis does not respond with TLS: enable TLS there, or check that its port is reachable.";
  return undefined;
}

/** A Lua script, called by its digest. The text is sent only to a server that does not know it yet. */
export class RedisScript {
  readonly #lua: string;
  readonly #digest: string;

  constructor(lua: string) {
    this.#lua = lua;
    this.#digest = createHash("sha1").update(lua).digest("hex");
  }

  async run(redis: Redis, keys: readonly string[], values: readonly (string | number)[]): Promise<unknown> {
    try {
      return await redis.evalsha(this.#digest, keys.length, ...keys, ...values);
    } catch (error) {
      if (!(error instanceof Error) || !error.message.startsWith("NOSCRIPT")) throw error;
      return redis.eval(this.#lua, keys.length, ...keys, ...values);
    }
  }
}
