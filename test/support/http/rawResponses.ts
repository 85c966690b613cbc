/** A response as received on a connection. */
export interface RawResponse {
  status: number;
  headers: Headers;
  text: string;
  /** False if the connection ended before the response was complete. */
  isWhole: boolean;
}

/**
 * Returns the final responses in what a server sent on a connection to requests with these methods.
 *
 * @throws If it is not valid HTTP.
 */
export function responsesIn(received: string, methods: readonly string[]): RawResponse[] {
  const responses: RawResponse[] = [];
  for (let rest = received; rest !== "";) {
    const headEnd = rest.indexOf("\r\n\r\n");
    const [statusLine = "", ...lines] = rest.slice(0, headEnd === -1 ? undefined : headEnd).split("\r\n");
    const status = Number(/^HTTP\/1\.1 (\d{3}) /.exec(statusLine)?.[1]);
    if (Number.isNaN(status)) throw new Error(`This is no response: ${JSON.stringify(rest.slice(0, 200))}`);
    if (headEnd === -1) break;
    rest = rest.slice(headEnd + 4);
    if (status < 200) continue;
    const headers = new Headers(
      lines.map((line): [string, string] => [
        line.slice(0, line.indexOf(":")),
        line.slice(line.indexOf(":") + 1).trim(),
      ]),
    );
    const body = bodyIn(rest, status, headers, methods[responses.length]);
    responses.push({
      status,
      headers,
      text: Buffer.from(body.text, "latin1").toString(),
      isWhole: body.isWhole,
    });
    rest = rest.slice(body.length);
  }
  return responses;
}

interface Body {
  text: string;
  length: number;
  isWhole: boolean;
}

function bodyIn(rest: string, status: number, headers: Headers, method: string | undefined): Body {
  if (method === "HEAD" || status === 204 || status === 304) return { text: "", length: 0, isWhole: true };
  if (headers.get("transfer-encoding") === "chunked") return chunksIn(rest);
  const announced = headers.get("content-length");
  const length = announced === null ? rest.length : Number(announced);
  return { text: rest.slice(0, length), length, isWhole: rest.length >= length };
}

function chunksIn(rest: string): Body {
  let text = "";
  for (let at = 0; ;) {
    const lineEnd = rest.indexOf("\r\n", at);
    const size = Number.parseInt(rest.slice(at, lineEnd), 16);
    if (lineEnd === -1 || rest.length < lineEnd + 4 + size)
      return { text, length: rest.length, isWhole: false };
    text += rest.slice(lineEnd + 2, lineEnd + 2 + size);
    at = lineEnd + 4 + size;
    if (size === 0) return { text, length: at, isWhole: true };
  }
}
