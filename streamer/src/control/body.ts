import type { IncomingMessage } from "node:http";
import { WhepRefusal } from "../errors.ts";

/** Reads a text body of at most this many bytes; what is longer is refused without being kept. */
export async function readText(request: IncomingMessage, maxBytes: number): Promise<string> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    if (bytes > maxBytes) throw new WhepRefusal("offer_too_large", `The offer is longer than ${maxBytes} bytes.`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString("utf8");
}
