import { KubeError } from "../api/errors.ts";

/** Maximum line length. An object has at most about 1.5 MB in etcd, and escapes make it longer. */
const maxLineLength = 16 * 1024 * 1024;

/**
 * Reads a byte stream as text. Each chunk is released once it is read: keeping the chunks of many large lists
 * to the end fragments memory permanently.
 */
export async function readText(chunks: AsyncIterable<Uint8Array>): Promise<string> {
  const decoder = new TextDecoder();
  let text = "";
  for await (const chunk of chunks) text += decoder.decode(chunk, { stream: true });
  return text + decoder.decode();
}

/** Splits a byte stream into lines. Throws if the stream ends within a line. */
export async function* readLines(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<string, void, void> {
  const decoder = new TextDecoder();
  let rest = "";
  for await (const chunk of chunks) {
    const parts = (rest + decoder.decode(chunk, { stream: true })).split("\n");
    rest = parts.pop() ?? "";
    if (rest.length > maxLineLength)
      throw new KubeError({ reason: "MalformedResponse", message: "A watch event is longer than 16 MiB." });
    for (const line of parts) {
      if (line !== "") yield line;
    }
  }
  rest += decoder.decode();
  if (rest !== "")
    throw new KubeError({ reason: "Unreachable", message: "The watch was interrupted inside an event." });
}
