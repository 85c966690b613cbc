import { isIPv6 } from "node:net";
import { signalPort, StreamerStatus } from "#contracts/stream.ts";

/** A streamer that runs responds at once, and it is asked again soon. */
const timeoutMs = 1000;
/** Many times the size of a status. */
const maxResponseBytes = 16_384;

/** Returns whether the streamer at the pod's address takes viewers and its game runs. Throws when it does not respond within a second. */
export async function askStreamer(podIp: string, signal: AbortSignal): Promise<boolean> {
  const url = `http://${isIPv6(podIp) ? `[${podIp}]` : podIp}:${signalPort}/status`;
  const response = await fetch(url, { redirect: "error", signal: AbortSignal.any([signal, AbortSignal.timeout(timeoutMs)]) });
  const { ready, game } = StreamerStatus.parse(JSON.parse(await readBounded(response)));
  return ready && game === "running";
}

async function readBounded({ body }: Response): Promise<string> {
  if (body === null) return "";
  const decoder = new TextDecoder();
  let text = "";
  for await (const chunk of body as AsyncIterable<Uint8Array>) {
    text += decoder.decode(chunk, { stream: true });
    if (text.length > maxResponseBytes) throw new Error("The streamer's status is longer than any status.");
  }
  return text;
}
