import { request } from "node:http";
import { text } from "node:stream/consumers";
import type { PackedGame } from "./packedGame.ts";

/** PUTs an archive of at least so many bytes, no faster than it is taken; throws for every answer but 200. */
export async function sendPackedGame(url: string, packedGame: PackedGame, bytes: number, headers: Record<string, string> = {}): Promise<void> {
  const sending = request(url, { method: "PUT", headers: { ...headers, "content-length": String(packedGame.packedBytes(bytes)) } });
  const answered = new Promise<string>((resolve, reject) => {
    sending.once("error", reject);
    sending.once("response", (response) => {
      void text(response).then((body) => (response.statusCode === 200 ? resolve(body) : reject(new Error(`${url.split("?", 1)[0]}: ${response.statusCode} ${body}`))), reject);
    });
  });
  answered.catch(() => undefined);
  for (const piece of packedGame.pieces(bytes)) {
    if (!sending.write(piece)) await Promise.race([new Promise((resolve) => sending.once("drain", resolve)), answered]);
  }
  sending.end();
  await answered;
}
