import { connectionTest, TestRequest, type TestBurst } from "#contracts/connectionTest.ts";
import { sendNotice, type NoticeChannel } from "../transport/notices.ts";

/**
 * Returns a page's ping, unless too many notices wait for a page that does not read. Starts the burst that a
 * page requests. Drops any other message.
 *
 * @throws Error when the channel closes during the call.
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
    return undefined; // Not JSON.
  }
}
