import { connectionTest, TestRequest, type TestBurst } from "#contracts/connectionTest.ts";
import { sendNotice, type NoticeChannel } from "../transport/notices.ts";

/**
 * Sends a page's ping back, unless too much waits for a page that does not read, or has the burst sent that
 * it asks for; drops any other message. Throws when the channel closes meanwhile.
 */
export function handleRequest(
  channel: NoticeChannel,
  message: string | Buffer | ArrayBuffer,
  send: (burst: TestBurst) => void,
): void {
  const request = readRequest(message);
  if (request?.t === "ping") sendNotice(channel, request);
  if (request?.t === "send") send(request.burst);
}

function readRequest(message: string | Buffer | ArrayBuffer): TestRequest | undefined {
  if (typeof message !== "string" || message.length > connectionTest.maxMessageBytes) return undefined;
  try {
    return TestRequest.safeParse(JSON.parse(message)).data;
  } catch {
    return undefined; // Not JSON: dropped like any other message that is not one of these.
  }
}
