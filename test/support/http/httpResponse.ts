import type { ClientRequest } from "node:http";
import { text } from "node:stream/consumers";
import { checkAgainstDocument } from "../openapi/documentCheck.ts";

/** A response to a request that fetch cannot send. */
export interface HttpResponse {
  status: number;
  headers: Headers;
  text: string;
}

/**
 * Reads the response to a `ClientRequest`.
 *
 * @throws If it does not match the interface document.
 */
export function responseTo(request: ClientRequest): Promise<HttpResponse> {
  return new Promise((resolve, reject) => {
    request.once("error", reject);
    request.once("response", (response) => {
      text(response)
        .then((body) => {
          const pairs = Object.entries(response.headersDistinct).flatMap(([name, values = []]) =>
            values.map((value): [string, string] => [name, value]),
          );
          const received = { status: response.statusCode ?? 0, headers: new Headers(pairs), text: body };
          checkAgainstDocument({ method: request.method, path: request.path, ...received });
          return received;
        })
        .then(resolve, reject);
    });
  });
}
