import type { IncomingMessage, Server } from "node:http";
import type { Socket } from "node:net";

/** Of a request's head, apart from its credentials. */
const headBytes = 16 * 1024;
/** A credential that is far too long for one is read all the same, so that it can be refused as one. */
const credentialBytes = 100 * 1024;
/** One of so many connections may send such: what all of them together can make the process hold stays small. */
const connectionsPerRoomyOne = 20;

/**
 * Bounds what a connection may send before there is a request. The size is taken over when a connection begins, so each can be
 * given its own: the first ones the larger size, those of a crowd the smaller.
 */
export function boundHeaders(server: Server, connectionsMax: number): void {
  const roomyMax = Math.ceil(connectionsMax / connectionsPerRoomyOne);
  let open = 0;
  server.prependListener("connection", (socket: Socket) => {
    open += 1;
    socket.once("close", () => open -= 1);
    Object.assign(server, { maxHeaderSize: open <= roomyMax ? headBytes + credentialBytes : headBytes });
  });
}

/** Whether a head is long for another reason than its credentials: an API key, or the session cookie. */
export function isHeadTooLarge(
  { url = "", rawHeaders, headers: { cookie = "", authorization = "" } }: IncomingMessage, { sessionCookie: name }: { sessionCookie: string },
): boolean {
  let bytes = url.length;
  for (const part of rawHeaders) bytes += part.length;
  if (bytes <= headBytes) return false;
  const sessionCookie = cookie.split(";").find((pair) => pair.trimStart().startsWith(`${name}=`)) ?? "";
  return bytes - sessionCookie.length - authorization.length > headBytes;
}
