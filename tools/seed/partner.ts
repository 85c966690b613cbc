import { ErrorBody } from "#contracts/http/errors.ts";
import {
  PartnerGameDetail,
  PictureResponse,
  SyncResponse,
  UploadResponse,
  type RegisterGameRequest,
} from "#contracts/http/partners.ts";
import { createReadStream, readFileSync, statSync } from "node:fs";
import { Readable } from "node:stream";
import type { JoypodCli } from "./cli.ts";
import { partnerKeyFile, readIfThere, writePrivately, type Credentials } from "./credentials.ts";

type Body = NonNullable<RequestInit["body"]>;

/** The partner interface with one partner's key. */
export class PartnerClient {
  readonly #base: string;
  readonly #key: string;

  constructor(baseUrl: string, key: string) {
    this.#base = `${baseUrl}/api/partners`;
    this.#key = key;
  }

  async isAccepted(): Promise<boolean> {
    const response = await this.#send("GET", "/games");
    await response.body?.cancel();
    if (response.status !== 200 && response.status !== 401)
      throw new Error(`GET /api/partners/games answered ${response.status}`);
    return response.status === 200;
  }

  /**
   * The game, brought back if it was deleted; undefined when this partner never had one of that slug, or
   * deleted it long ago.
   */
  async restore(slug: string): Promise<PartnerGameDetail | undefined> {
    const response = await this.#send("POST", `/games/${slug}/restore`);
    if (response.status === 404) {
      await response.body?.cancel();
      return undefined;
    }
    return PartnerGameDetail.parse(await this.#json(response, 200));
  }

  async register(metadata: RegisterGameRequest): Promise<void> {
    const response = await this.#send(
      "POST",
      "/games",
      { "content-type": "application/json" },
      JSON.stringify(metadata),
    );
    await this.#json(response, 201);
  }

  /** Streams the archive; resolves once it is validated and stored. */
  async upload(slug: string, archive: string): Promise<UploadResponse> {
    const headers = { "content-type": "application/gzip", "content-length": String(statSync(archive).size) };
    const body = Readable.toWeb(createReadStream(archive));
    const response = await this.#send("PUT", `/games/${slug}/upload`, headers, body as Body, 600_000);
    return UploadResponse.parse(await this.#json(response, 200));
  }

  /** Uploads a JPEG as the game's picture; the same one again changes nothing. */
  async uploadPicture(slug: string, picture: string): Promise<void> {
    const response = await this.#send(
      "PUT",
      `/games/${slug}/picture`,
      { "content-type": "image/jpeg" },
      readFileSync(picture),
    );
    PictureResponse.parse(await this.#json(response, 200));
  }

  async sync(slug: string): Promise<SyncResponse> {
    return SyncResponse.parse(await this.#json(await this.#send("GET", `/games/${slug}/sync`), 200));
  }

  #send(
    method: string,
    path: string,
    headers: Record<string, string> = {},
    body?: Body,
    timeoutMs = 30_000,
  ): Promise<Response> {
    const init: RequestInit = {
      method,
      headers: { ...headers, authorization: `Bearer ${this.#key}` },
      signal: AbortSignal.timeout(timeoutMs),
    };
    // A streamed body needs half duplex: the response comes when all of it was read.
    return fetch(this.#base + path, body === undefined ? init : { ...init, body, duplex: "half" });
  }

  async #json(response: Response, expected: number): Promise<unknown> {
    const text = await response.text();
    if (response.status !== expected)
      throw new Error(`${response.url} answered ${response.status}: ${messageOf(text)}`);
    return JSON.parse(text);
  }
}

/** The sentence of an error of the platform; the beginning of any other text. */
function messageOf(text: string): string {
  try {
    return ErrorBody.parse(JSON.parse(text)).message ?? text.slice(0, 500);
  } catch {
    return text.slice(0, 500);
  }
}

/** A client whose key works: the kept one, else a new one, for a partner that is made when there is none. */
export async function ensurePartner(
  cli: JoypodCli,
  baseUrl: string,
  stateFolder: string,
  partner: Credentials["partner"],
): Promise<PartnerClient> {
  const file = partnerKeyFile(stateFolder);
  const kept = readIfThere(file)?.trim();
  if (kept !== undefined) {
    const client = new PartnerClient(baseUrl, kept);
    if (await client.isAccepted()) return client;
  }
  const key = await cli.createPartnerKey(partner.name).catch(async (cause: unknown) => {
    // No key without a partner: this is the first run, unless making the partner fails too.
    await cli.createPartner(partner.name).catch((error: unknown) => {
      throw new AggregateError(
        [cause, error],
        `There is no key for the partner ${partner.name}: ${String(cause)}; ${String(error)}`,
      );
    });
    return cli.createPartnerKey(partner.name);
  });
  writePrivately(file, `${key}\n`);
  return new PartnerClient(baseUrl, key);
}
