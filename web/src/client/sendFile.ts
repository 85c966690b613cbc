import type { z } from "zod";
import { ApiError } from "./apiError.ts";
import { responseError } from "./request.ts";

/**
 * Longer than the largest save takes on a slow line; the API gives up on one that stands still long before.
 */
const sendTimeoutMs = 60 * 60_000;

export interface SendFileOptions {
  /** Called with the share that was sent, from 0 to 1. */
  onProgress: (share: number) => void;
  /** Ends the upload, which then throws `unreachable`. */
  signal: AbortSignal;
}

/**
 * Posts a gzip file and returns the body of the response. Throws ApiError. It is an XMLHttpRequest because
 * fetch tells nothing of what was sent.
 */
export function sendFile<Schema extends z.ZodType>(
  schema: Schema,
  path: string,
  file: File,
  { onProgress, signal }: SendFileOptions,
): Promise<z.infer<Schema>> {
  return new Promise((resolve, reject) => {
    const sending = new XMLHttpRequest();
    const fail = (): void => reject(new ApiError("unreachable", "The API did not respond."));
    sending.open("POST", path);
    sending.timeout = sendTimeoutMs;
    sending.setRequestHeader("accept", "application/json");
    sending.setRequestHeader("content-type", "application/gzip");
    sending.upload.addEventListener("progress", ({ loaded, total }) =>
      onProgress(total === 0 ? 0 : loaded / total),
    );
    for (const end of ["error", "timeout", "abort"] as const) sending.addEventListener(end, fail);
    sending.addEventListener("load", () => {
      const body = jsonOf(sending.responseText);
      const parsed = schema.safeParse(body);
      if (sending.status < 200 || sending.status > 299)
        reject(responseError(sending.status, sending.getResponseHeader("retry-after"), body));
      else if (parsed.success) resolve(parsed.data);
      else
        reject(
          new ApiError("unexpected", `The response of ${path} does not match its contract.`, {
            cause: parsed.error,
          }),
        );
    });
    signal.addEventListener("abort", () => sending.abort(), { once: true });
    sending.send(file);
  });
}

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined; // A proxy's page; the status tells.
  }
}
