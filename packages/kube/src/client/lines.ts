import { KubeError } from "../api/errors.ts";

/** Longest line taken: an object is at most about 1.5 MB in etcd, and escapes make it longer. */
const maxLineLength = 16 * 1024 * 1024;

/**
 * Reads a byte stream as one text. Each piece is released as soon as it is read: pieces of many large lists
 * that are kept to the end stay in memory for good.
 */
export async function readText(chunks: AsyncIterable<Uint8Array>): Promise<string> {
  const decoder = new TextDecoder();
  let text = "";
  for await (const chunk of chunks) text += decoder.decode(chunk, { stream: true });
  return text + decoder.decode();
}

/** Splits a byte stream into its lines; a stream that ends inside a line was cut, which is an error. */
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
    throw new KubeError({ reason: "Unreachable", message: "The watch was cut in the middle of an event." });
}
