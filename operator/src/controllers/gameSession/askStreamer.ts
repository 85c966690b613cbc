import { isIPv6 } from "node:net";
import { signalPort, StreamerStatus } from "#contracts/stream.ts";

/** A streamer that lives answers at once; the next question comes soon. */
const answerMs = 1000;
/** Far more than a status has. */
const maxAnswerBytes = 16_384;

/** Whether the streamer at the pod's address takes viewers and its game runs. Rejects when there is no answer (yet). */
export async function askStreamer(podIp: string, signal: AbortSignal): Promise<boolean> {
  const url = `http://${isIPv6(podIp) ? `[${podIp}]` : podIp}:${signalPort}/status`;
  const response = await fetch(url, { redirect: "error", signal: AbortSignal.any([signal, AbortSignal.timeout(answerMs)]) });
  const { ready, game } = StreamerStatus.parse(JSON.parse(await readBounded(response)));
  return ready && game === "running";
}

async function readBounded({ body }: Response): Promise<string> {
  if (body === null) return "";
  const decoder = new TextDecoder();
  let text = "";
  for await (const chunk of body as AsyncIterable<Uint8Array>) {
    text += decoder.decode(chunk, { stream: true });
    if (text.length > maxAnswerBytes) throw new Error("The streamer's status is longer than any status.");
  }
  return text;
}
