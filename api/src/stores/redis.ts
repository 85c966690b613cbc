import { isIP } from "node:net";
import { Redis as Client } from "ioredis";
import { jittered } from "#runtime/scheduling/backOff.ts";
import type { Logger } from "#runtime/logger.ts";
import { ClosedAtOnce, redisSentence } from "./redisFailure.ts";

/** A connected client; commands fail in time instead of waiting for a server that is unavailable. */
export type Redis = Client;

/** Where Redis is. */
export interface RedisAddress {
  url: string;
  /** Of its certificate, in PEM; undefined trusts the public ones. */
  authorities?: string[] | undefined;
}

/** A client, and why it has no connection just now. */
export interface RedisConnection {
  redis: Redis;
  /** The last error since there was a connection; undefined while there is one. */
  failure: () => Error | undefined;
}

/** After so many timeouts in a row the server hangs: without a connection commands fail at once. */
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
        // A server that hangs takes no part in a close in good order, for which the client would wait two
        // seconds.
        this.stream.destroy();
      },
    );
    this.#corkWrites();
    return super.sendCommand(...args);
  }

  /**
   * Sends the commands of one turn of the event loop in one write: a write costs the system more than the
   * commands themselves.
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

/** Opens the shared connection; it reconnects for ever and never queues commands meanwhile. */
export function connectRedis(
  { url, authorities, commandTimeoutMs }: RedisAddress & { commandTimeoutMs: number },
  logger: Logger,
): RedisConnection {
  const client = new TimeoutClient(url, {
    enableOfflineQueue: false,
    maxRetriesPerRequest: 0,
    commandTimeout: commandTimeoutMs,
    connectTimeout: 2_000,
    // A server that froze keeps its connection; a ping that goes unanswered for this long ends it.
    socketTimeout: 10_000,
    retryStrategy: (attempt) =>
      jittered(Math.min(reconnectMs.first * 2 ** Math.min(attempt, 10), reconnectMs.most), Math.random, 0.25),
    ...tlsOf(url, authorities),
  });
  return { redis: client, failure: followFailures(client, url, logger) };
}

/**
 * The name is sent, too: where one address serves many of them, the server shows the certificate of that
 * name.
 */
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
 * Logs when Redis becomes unavailable, when the reason changes, and when it is available again. Returns what
 * tells the last error.
 */
function followFailures(client: Client, url: string, logger: Logger): () => Error | undefined {
  let failure: Error | undefined;
  let told: string | undefined;
  const fail = (error: Error): void => {
    failure = error;
    const reason = redisSentence(error, url) ?? "Redis does not answer.";
    if (reason !== told)
      logger.warn(
        { err: error, reason },
        "Redis is unavailable; limits and lockout are counted in this process meanwhile.",
      );
    told = reason;
  };
  let isAnswered = false;
  client.on("connect", () => (isAnswered = false));
  client.on("error", (error: Error) => {
    ignoreMore(client.stream);
    fail(!isAnswered && isClosed(error) ? new ClosedAtOnce(error) : error);
  });
  client.on("close", () => {
    if (!isAnswered && failure === undefined) fail(new ClosedAtOnce());
  });
  client.on("ready", () => {
    isAnswered = true;
    if (failure !== undefined) logger.info({}, "Redis is available again.");
    failure = undefined;
    told = undefined;
  });
  return () => failure;
}

/**
 * Redis' client listens for a connection's first error alone. A connection that was refused for its
 * certificate has a second error, which would end the process.
 */
function ignoreMore(stream: Client["stream"] | undefined): void {
  stream?.on("error", () => undefined);
}

function isClosed(error: Error): boolean {
  return "code" in error && (error.code === "ECONNRESET" || error.code === "EPIPE");
}

/** Resolves when Redis answers. Throws the reason why there is no connection, or the command's error. */
export async function pingRedis({ redis, failure }: RedisConnection): Promise<void> {
  if (redis.status !== "ready") throw failure() ?? new Error("There is no connection to Redis yet.");
  await redis.ping();
}
