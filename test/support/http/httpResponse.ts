import type { ClientRequest } from "node:http";
import { text } from "node:stream/consumers";
import { checkAgainstDocument } from "../openapi/documentCheck.ts";

/** An answer to a request that fetch could not make. */
export interface HttpAnswer {
  status: number;
  headers: Headers;
  text: string;
}

/** Reads the answer to a request of our own making; throws when it is not as documented. */
export function answerTo(request: ClientRequest): Promise<HttpAnswer> {
  return new Promise((resolve, reject) => {
    request.once("error", reject);
    request.once("response", (response) => {
      text(response).then((body) => {
        const pairs = Object.entries(response.headersDistinct).flatMap(([name, values = []]) => values.map((value): [string, string] => [name, value]));
        const answer = { status: response.statusCode ?? 0, headers: new Headers(pairs), text: body };
        checkAgainstDocument({ method: request.method, path: request.path, ...answer });
        return answer;
      }).then(resolve, reject);
    });
  });
}
