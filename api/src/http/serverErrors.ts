import { STATUS_CODES, type IncomingMessage, type ServerResponse } from "node:http";
import type { Socket } from "node:net";
import { errors, type ErrorCode } from "#contracts/http/errors.ts";
import { DomainError } from "../errors.ts";
import { errorBodyOf } from "./httpError.ts";
import { headersOfEveryResponse } from "./setSecurityHeaders.ts";
import { randomBase32 } from "#runtime/base32.ts";
import type { Logger } from "#runtime/logger.ts";

/** How long a refused client has to read the error. */
const lingerMs = 1_000;

const codes: Readonly<Record<string, ErrorCode>> = {
  HPE_HEADER_OVERFLOW: "headers_too_large",
  ERR_HTTP_REQUEST_TIMEOUT: "request_timeout",
};

/**
 * Error responses for requests that never reach the application, in the application's format. Each closes the
 * connection, because the start of the next request is unknown.
 */
export class ServerErrors {
  readonly #config: { isSecure: boolean };
  readonly #logger: Logger;
  /** The current response by connection, or the last of several pipelined ones. */
  readonly #latest = new WeakMap<Socket, ServerResponse>();

  constructor(config: { isSecure: boolean }, logger: Logger) {
    this.#config = config;
    this.#logger = logger;
  }

  /**
   * Records the response that the connection will carry. It is forgotten at its end; otherwise an idle
   * connection would keep its last request in memory.
   */
  begin({ socket }: IncomingMessage, response: ServerResponse): void {
    this.#latest.set(socket, response);
    response.once("finish", () => {
      if (this.#latest.get(socket) === response) this.#latest.delete(socket);
    });
  }

  /**
   * Refuses bytes that are not a request. The response is written directly, because Node has created none.
   */
  refuseBytes(error: Error & { code?: string }, socket: Socket): void {
    const latest = this.#latest.get(socket);
    // During a response, another one would be read as part of its body.
    if (error.code === "ECONNRESET" || !socket.writable || latest?.headersSent === true) {
      socket.destroy();
      return;
    }
    this.refuseConnection(codes[error.code ?? ""] ?? "invalid_request", socket);
  }

  /** Refuses the connection for this reason, like refuseBytes. */
  refuseConnection(code: ErrorCode, socket: Socket, headers: Record<string, string> = {}): void {
    const { status, body, all } = this.#make(code, undefined, { Date: new Date().toUTCString(), ...headers });
    const lines = all.map(([name, value]) => `${name}: ${value}\r\n`).join("");
    socket.end(`HTTP/1.1 ${status} ${STATUS_CODES[status] ?? ""}\r\n${lines}\r\n${body}`);
    const timer = setTimeout(() => socket.destroy(), lingerMs);
    socket.once("close", () => clearTimeout(timer));
  }

  /** Refuses a request that was parsed but must not be served. */
  refuseRequest(code: ErrorCode, response: ServerResponse): void {
    const { status, body, all } = this.#make(code, pathOf(response.req));
    for (const [name, value] of all) response.setHeader(name, value);
    response.writeHead(status).end(response.req.method === "HEAD" ? undefined : body);
  }

  #make(
    code: ErrorCode,
    path: string | undefined,
    more: Record<string, string> = {},
  ): { status: number; body: string; all: [string, string][] } {
    const { status } = errors[code];
    const requestId = randomBase32(20);
    const body = JSON.stringify(errorBodyOf({ path, requestId }, new DomainError(code)));
    this.#logger.debug({ requestId, status, reason: code }, "A connection did not send a valid request.");
    const own = {
      "X-Request-Id": requestId,
      "Content-Type": "application/json; charset=utf-8",
      "Content-Length": String(body.length),
      Connection: "close",
      ...more,
    };
    return {
      status,
      body,
      all: [...headersOfEveryResponse(this.#config), ...Object.entries(own)].map(([name, value]) => [
        name,
        value,
      ]),
    };
  }
}

/** Returns the path of a request, also from an absolute URL; undefined when the target is invalid. */
function pathOf({ url }: IncomingMessage): string | undefined {
  return url === undefined ? undefined : URL.parse(url, "http://localhost")?.pathname;
}
