import { once } from "node:events";
import { request as httpRequest, type IncomingMessage } from "node:http";
import { request as httpsRequest } from "node:https";

const timeoutMs = 10_000;
const responseBytesMax = 64 * 1024;

/**
 * Posts a form and returns the response, whose body is cut at 64 KiB. Throws when there is none within ten
 * seconds. `authorities` sign the server's certificate; undefined trusts the public ones.
 */
export async function postForm(
  url: string,
  form: Record<string, string>,
  authorities: string[] | undefined,
): Promise<{ status: number; text: string }> {
  const body = new URLSearchParams(form).toString();
  const options = {
    method: "POST",
    signal: AbortSignal.timeout(timeoutMs),
    headers: {
      "content-type": "application/x-www-form-urlencoded",
      "content-length": String(Buffer.byteLength(body)),
    },
  };
  const request = url.startsWith("https:")
    ? httpsRequest(url, { ...options, ...(authorities !== undefined && { ca: authorities }) })
    : httpRequest(url, options);
  request.on("error", () => undefined); // What breaks while the response is read, its reader throws.
  request.end(body);
  const [response] = (await once(request, "response")) as [IncomingMessage];
  return { status: response.statusCode ?? 0, text: await readStart(response) };
}

async function readStart(response: IncomingMessage): Promise<string> {
  const parts: Buffer[] = [];
  let bytes = 0;
  for await (const part of response as AsyncIterable<Buffer>) {
    parts.push(part);
    bytes += part.length;
    if (bytes > responseBytesMax) break;
  }
  return Buffer.concat(parts).subarray(0, responseBytesMax).toString("utf8");
}
