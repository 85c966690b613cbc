import type { IncomingMessage } from "node:http";
import { WhepRequestError } from "../errors.ts";

/**
 * Returns a request's text body. Throws WhepRequestError when it is longer than this, without reading the
 * rest.
 */
export async function readText(request: IncomingMessage, maxBytes: number): Promise<string> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    if (bytes > maxBytes)
      throw new WhepRequestError("offer_too_large", `The offer is longer than ${maxBytes} bytes.`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString("utf8");
}
