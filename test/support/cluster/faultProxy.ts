import { createServer, request, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

/** What happens to one response on its way back. */
export interface Fault {
  /** The connection is cut after so many bytes of the body. */
  cutAfterBytes?: number;
  /** The byte at this offset of the body is flipped. */
  corruptByte?: number;
  /** The body comes at this rate. */
  bytesPerSecond?: number;
  /** Answered instead of asking the server. */
  status?: number;
  /** The connection is closed instead, as by a server that is not there. */
  isCut?: boolean;
  /** The headers are held back until this resolves. */
  holdUntil?: Promise<unknown>;
}

/** A request as the proxy saw it. */
export interface SeenRequest {
  method: string;
  path: string;
  range: string | undefined;
}

/**
 * An HTTP proxy in front of one server that damages responses on demand; signed requests pass, as Host is
 * kept.
 */
export interface FaultProxy {
  endpoint: string;
  /** Every request so far, in order. */
  requests: SeenRequest[];
  /** Returns the fault of each request; none has one while this is undefined or returns undefined. */
  fault: ((request: SeenRequest) => Fault | undefined) | undefined;
  close(): Promise<void>;
}

export async function startFaultProxy(target: string): Promise<FaultProxy> {
  const { hostname, port } = new URL(target);
  const server = createServer((incoming, outgoing) => void serve(incoming, outgoing));
  const proxy: FaultProxy = {
    endpoint: "",
    requests: [],
    fault: undefined,
    async close() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };

  async function serve(incoming: IncomingMessage, outgoing: ServerResponse): Promise<void> {
    const seen = {
      method: incoming.method ?? "",
      path: (incoming.url ?? "").split("?")[0] ?? "",
      range: incoming.headers.range,
    };
    proxy.requests.push(seen);
    const fault = proxy.fault?.(seen) ?? {};
    await fault.holdUntil;
    if (fault.isCut === true) {
      incoming.destroy();
      return;
    }
    if (fault.status !== undefined) {
      incoming.resume();
      outgoing.writeHead(fault.status).end();
      return;
    }
    const forward = request({
      hostname,
      port,
      method: incoming.method,
      path: incoming.url,
      headers: incoming.headers,
    });
    forward.on("error", () => outgoing.destroy());
    incoming.on("error", () => forward.destroy());
    outgoing.on("close", () => forward.destroy());
    forward.on("response", (forwarded) => {
      outgoing.writeHead(forwarded.statusCode ?? 502, forwarded.headers);
      relay(forwarded, outgoing, fault).catch(() => outgoing.destroy());
    });
    incoming.pipe(forward);
  }

  await new Promise<void>((resolve, reject) => server.once("error", reject).listen(0, "127.0.0.1", resolve));
  proxy.endpoint = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return proxy;
}

async function relay(
  forwarded: IncomingMessage,
  outgoing: ServerResponse,
  { cutAfterBytes, corruptByte, bytesPerSecond }: Fault,
): Promise<void> {
  let offset = 0;
  for await (const chunk of forwarded as AsyncIterable<Buffer>) {
    const bytes = Buffer.from(chunk);
    if (corruptByte !== undefined && corruptByte >= offset && corruptByte < offset + bytes.length) {
      const at = corruptByte - offset;
      bytes[at] = (bytes[at] ?? 0) ^ 0xff;
    }
    const allowed =
      cutAfterBytes === undefined ? bytes.length : Math.min(bytes.length, cutAfterBytes - offset);
    await passOn(outgoing, bytes.subarray(0, allowed), bytesPerSecond);
    offset += bytes.length;
    if (allowed < bytes.length) {
      outgoing.destroy();
      return;
    }
  }
  outgoing.end();
}

/** Slow responses go out in small pieces with pauses, as over a thin line. */
async function passOn(
  outgoing: ServerResponse,
  bytes: Buffer,
  bytesPerSecond: number | undefined,
): Promise<void> {
  const chunkBytes =
    bytesPerSecond === undefined ? bytes.length : Math.max(1, Math.floor(bytesPerSecond / 20));
  for (let start = 0; start < bytes.length; start += chunkBytes) {
    if (outgoing.destroyed) return;
    if (!outgoing.write(bytes.subarray(start, start + chunkBytes))) {
      await new Promise<void>((resolve) => {
        const go = (): void => {
          outgoing.off("drain", go).off("close", go);
          resolve();
        };
        outgoing.on("drain", go).on("close", go);
      });
    }
    if (bytesPerSecond !== undefined) await new Promise((resolve) => setTimeout(resolve, 50));
  }
}
