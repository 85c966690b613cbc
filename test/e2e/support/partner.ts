import { readFile } from "node:fs/promises";
import { randomBytes } from "node:crypto";
import { SyncResponse } from "#contracts/http/partners.ts";
import { eventually } from "#test/support/eventually.ts";
import type { Platform } from "./platform.ts";

/** A partner of this test run, over the partner interface. */
export class Partner {
  readonly #baseUrl: string;
  readonly #key: string;

  private constructor(baseUrl: string, key: string) {
    this.#baseUrl = `${baseUrl}/api/partners`;
    this.#key = key;
  }

  static async create(platform: Platform): Promise<Partner> {
    const name = `Studio ${randomBytes(5).toString("hex")}`;
    await platform.joypod(["partner", "create", "--name", name]);
    const { key } = await platform.joypod(["partner", "key", "create", "--partner", name]) as { key: string };
    return new Partner(platform.baseUrl, key);
  }

  /** Registers the game under a slug of its own and uploads the archive; resolves when every node holds it. */
  async publish(metadata: Record<string, unknown>, archivePath: string, { timeoutMs = 120_000 } = {}): Promise<void> {
    const slug = String(metadata["slug"]);
    await this.#expect(201, "POST", "/games", JSON.stringify(metadata), "application/json");
    await this.#expect(200, "PUT", `/games/${slug}/upload`, await readFile(archivePath), "application/gzip");
    await eventually(async () => {
      const sync = SyncResponse.parse(await (await this.#expect(200, "GET", `/games/${slug}/sync`)).json());
      return sync.totalServers > 0 && sync.pendingSync === 0;
    }, { timeoutMs, intervalMs: 500, what: `${slug} to be cached on every node` });
  }

  async #expect(status: number, method: string, path: string, body?: string | Buffer<ArrayBuffer>, contentType?: string): Promise<Response> {
    const response = await fetch(this.#baseUrl + path, {
      method,
      headers: { authorization: `Bearer ${this.#key}`, ...(contentType === undefined ? {} : { "content-type": contentType }) },
      ...(body === undefined ? {} : { body }),
      signal: AbortSignal.timeout(120_000),
    });
    if (response.status !== status) throw new Error(`${method} ${path}: ${response.status} ${await response.text()}`);
    return response;
  }
}
