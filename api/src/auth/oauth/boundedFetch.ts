import type { CustomFetch } from "openid-client";
import { requireProviderAddress } from "./providerAddress.ts";

/** The largest response of a provider: metadata, keys, tokens and profiles are all shorter. */
const bytesMax = 256 * 1024;

/**
 * Returns a `fetch` for providers, whose responses are trusted no more than any other input: it follows no
 * redirects, bounds the body, and speaks only https, except to providers on the loopback that are allowed
 * plain http.
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

/** Returns the body; null for an empty one, which some statuses must have. */
async function readAtMost(response: Response, max: number): Promise<Uint8Array<ArrayBuffer> | null> {
  const stream: AsyncIterable<Uint8Array> | null = response.body;
  if (stream === null) return null;
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of stream) {
    size += chunk.length;
    // Leaving the loop cancels the stream, and with it the connection.
    if (size > max) throw new TypeError(`A provider's response is larger than ${max} bytes.`);
    chunks.push(chunk);
  }
  return size === 0 ? null : new Uint8Array(Buffer.concat(chunks));
}
