import { ErrorBody } from "#contracts/http/errors.ts";
import {
  PartnerGameDetail,
  PictureResponse,
  SyncResponse,
  type RegisterGameRequest,
} from "#contracts/http/partners.ts";
import { GameRun } from "#contracts/http/gameRuns.ts";
import { UploadResponse } from "#contracts/http/gameVersions.ts";
import { createReadStream, readFileSync, statSync } from "node:fs";
import { Readable } from "node:stream";
import type { JoypodCli } from "./cli.ts";
import { partnerKeyFile, readIfThere, writePrivately, type Credentials } from "./credentials.ts";

type Body = NonNullable<RequestInit["body"]>;

/** A client of the partner interface with one partner's key. */
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
   * Returns the game, and restores it if it was deleted. Returns undefined if the partner has no such game,
   * or deleted it too long ago.
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

  /** Uploads the archive. Resolves once it is validated and stored. */
  async upload(slug: string, archive: string): Promise<UploadResponse> {
    const headers = { "content-type": "application/gzip", "content-length": String(statSync(archive).size) };
    const body = Readable.toWeb(createReadStream(archive));
    const response = await this.#send("PUT", `/games/${slug}/upload`, headers, body as Body, 600_000);
    return UploadResponse.parse(await this.#json(response, 200));
  }

  /** Uploads a JPEG as the game's picture. Idempotent. */
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

  /** Returns one session of the game as its partner sees it. */
  async run(slug: string, id: string): Promise<GameRun> {
    return GameRun.parse(await this.#json(await this.#send("GET", `/games/${slug}/runs/${id}`), 200));
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
    // fetch requires half duplex for streamed bodies.
    return fetch(this.#base + path, body === undefined ? init : { ...init, body, duplex: "half" });
  }

  async #json(response: Response, expected: number): Promise<unknown> {
    const text = await response.text();
    if (response.status !== expected)
      throw new Error(`${response.url} answered ${response.status}: ${messageOf(text)}`);
    return JSON.parse(text);
  }
}

/** Returns the message of a platform error, or the first 500 characters of any other text. */
function messageOf(text: string): string {
  try {
    return ErrorBody.parse(JSON.parse(text)).message ?? text.slice(0, 500);
  } catch {
    return text.slice(0, 500);
  }
}

/**
 * Returns a client with the stored key, or with a new key if that is not valid. Creates the partner if
 * needed.
 */
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
    // Usually the partner does not exist yet, because this is the first run.
    await cli.createPartner(partner.name).catch((error: unknown) => {
      throw new AggregateError(
        [cause, error],
        `Could not create a key for the partner ${partner.name}: ${String(cause)}; ${String(error)}`,
      );
    });
    return cli.createPartnerKey(partner.name);
  });
  writePrivately(file, `${key}\n`);
  return new PartnerClient(baseUrl, key);
}
