/** A partner's program in a process of its own: `node sendArchive.ts <url> <key> <bytes>` uploads a large archive and prints the answer. */
import { request } from "node:http";
import { text } from "node:stream/consumers";
import { pipeline } from "node:stream/promises";
import { aLargeArchive } from "./archives.ts";

const [url = "", key = "", bytes = ""] = process.argv.slice(2);
const sending = request(url, { method: "PUT", headers: { authorization: `Bearer ${key}`, "content-type": "application/gzip" } });
const answered = new Promise<string>((resolve, reject) => {
  sending.once("response", (response) => void text(response).then(resolve, reject));
});
await pipeline(await aLargeArchive(Number(bytes)), sending);
process.stdout.write(await answered);
