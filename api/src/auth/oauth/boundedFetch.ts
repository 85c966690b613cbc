import type { CustomFetch } from "openid-client";
import { requireProviderAddress } from "./providerAddress.ts";

/** Of metadata, keys, tokens and profiles; what is longer is none of these. */
const bytesMax = 256 * 1024;

/**
 * `fetch` for answers of providers, which are no more trusted than any other input: no redirects are followed, the body ends
 * at a limit, and only https is spoken, but for providers on the loopback that were allowed it.
 */
export function createBoundedFetch({ allowInsecure }: { allowInsecure: boolean }): CustomFetch {
  return async (address, options) => {
    const url = new URL(address);
    requireProviderAddress(url, { allowInsecure });
    const response = await fetch(url, { ...options, body: options.body ?? null, redirect: "manual" });
    const body = await readAtMost(response, bytesMax);
    const { status, statusText, headers } = response;
    return new Response(body, { status, statusText, headers });
  };
}

/** Null for an empty body, which some statuses must have. */
async function readAtMost(response: Response, max: number): Promise<Uint8Array<ArrayBuffer> | null> {
  const stream: AsyncIterable<Uint8Array> | null = response.body;
  if (stream === null) return null;
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of stream) {
    size += chunk.length;
    // Leaving the loop cancels the stream, and with it the connection.
    if (size > max) throw new TypeError(`A provider's answer is larger than ${max} bytes.`);
    chunks.push(chunk);
  }
  return size === 0 ? null : new Uint8Array(Buffer.concat(chunks));
}
