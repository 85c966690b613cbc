import { once } from "node:events";
import { request as httpRequest, type IncomingMessage } from "node:http";
import { request as httpsRequest } from "node:https";
import { text } from "node:stream/consumers";

const timeoutMs = 10_000;

/** Posts a form and returns the answer. Throws when there is none within ten seconds. `authorities` sign the server's certificate; undefined trusts the public ones. */
export async function postForm(url: string, form: Record<string, string>, authorities: string[] | undefined): Promise<{ status: number; text: string }> {
  const body = new URLSearchParams(form).toString();
  const options = {
    method: "POST", signal: AbortSignal.timeout(timeoutMs),
    headers: { "content-type": "application/x-www-form-urlencoded", "content-length": String(Buffer.byteLength(body)) },
  };
  const request = url.startsWith("https:") ? httpsRequest(url, { ...options, ...(authorities !== undefined && { ca: authorities }) }) : httpRequest(url, options);
  request.end(body);
  const [response] = await once(request, "response") as [IncomingMessage];
  return { status: response.statusCode ?? 0, text: await text(response) };
}
