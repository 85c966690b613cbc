import type { IncomingMessage, Server } from "node:http";
import type { Socket } from "node:net";

/** How long a request's head may be, apart from its credentials. */
const headBytes = 16 * 1024;
/**
 * A credential that is far too long is read all the same, so that the client hears that its credential is
 * wrong, and not that its head is too long.
 */
const credentialBytes = 100 * 1024;
/**
 * One of so many connections may send such a credential: what all connections together can make the process
 * hold stays small.
 */
const connectionsPerRoomyOne = 20;

/**
 * Bounds what a connection may send before there is a request. Node takes the bound over when a connection
 * begins, so each connection can be given its own: the first ones get the larger bound, the later ones of a
 * crowd the smaller.
 */
export function boundHeaders(server: Server, connectionsMax: number): void {
  const roomyMax = Math.ceil(connectionsMax / connectionsPerRoomyOne);
  let open = 0;
  server.prependListener("connection", (socket: Socket) => {
    open += 1;
    socket.once("close", () => (open -= 1));
    Object.assign(server, { maxHeaderSize: open <= roomyMax ? headBytes + credentialBytes : headBytes });
  });
}

/** Returns whether a head is too long even without its credentials: an API key, or the session cookie. */
export function isHeadTooLarge(
  { url = "", rawHeaders, headers: { cookie = "", authorization = "" } }: IncomingMessage,
  { sessionCookie: name }: { sessionCookie: string },
): boolean {
  let bytes = url.length;
  for (const part of rawHeaders) bytes += part.length;
  if (bytes <= headBytes) return false;
  const sessionCookie = cookie.split(";").find((pair) => pair.trimStart().startsWith(`${name}=`)) ?? "";
  return bytes - sessionCookie.length - authorization.length > headBytes;
}
