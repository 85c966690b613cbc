import { createHash } from "node:crypto";
import { signV4 } from "minio/dist/esm/signing.mjs";
import { encryptedBody } from "./encryptedBody.ts";

/** A key of the object store. */
export interface StoreKey {
  accessKey: string;
  secretKey: string;
}

/** Where MinIO is, and its administrator's key. */
export interface MinioAdminOptions extends StoreKey {
  endpoint: string;
  region: string;
}

/** MinIO did what it was asked not, and said why. */
export class MinioRefused extends Error {
  readonly status: number;

  constructor(what: string, status: number, text: string) {
    super(`MinIO answered ${status} when asked to ${what}: ${text.slice(0, 300)}`);
    this.name = "MinioRefused";
    this.status = status;
  }
}

const timeoutMs = 10_000;

/**
 * What a MinIO server lets its administrator do with users and policies. Each call may be repeated; errors
 * are MinioRefused, or those of `fetch`.
 */
export class MinioAdmin {
  readonly #options: MinioAdminOptions;

  constructor(options: MinioAdminOptions) {
    this.#options = options;
  }

  /** Makes the user, or gives it this secret key. */
  async putUser({ accessKey, secretKey }: StoreKey): Promise<void> {
    const body = encryptedBody(this.#options.secretKey, JSON.stringify({ secretKey, status: "enabled" }));
    await this.#put("make a user", "add-user", { accessKey }, body);
  }

  /** Makes or replaces the policy. */
  async putPolicy(name: string, policy: string): Promise<void> {
    await this.#put("make a policy", "add-canned-policy", { name }, Buffer.from(policy));
  }

  /** Lets the user do what the policy says and nothing else. */
  async setPolicy(user: string, policyName: string): Promise<void> {
    await this.#put(
      "give a user a policy",
      "set-user-or-group-policy",
      { policyName, userOrGroup: user, isGroup: "false" },
      Buffer.alloc(0),
    );
  }

  async #put(what: string, operation: string, query: Record<string, string>, body: Buffer): Promise<void> {
    const { endpoint, region, accessKey, secretKey } = this.#options;
    const url = new URL(`/minio/admin/v3/${operation}?${new URLSearchParams(query).toString()}`, endpoint);
    const at = new Date();
    const sha256 = createHash("sha256").update(body).digest("hex");
    const headers: Record<string, string> = {
      host: url.host,
      "x-amz-date": at.toISOString().replace(/[-:]|\.\d{3}/g, ""),
      "x-amz-content-sha256": sha256,
    };
    const path = `${url.pathname}${url.search}`;
    headers["authorization"] = signV4(
      { method: "PUT", path, protocol: url.protocol, headers },
      accessKey,
      secretKey,
      region,
      at,
      sha256,
    );
    const response = await fetch(url, {
      method: "PUT",
      headers,
      body,
      signal: AbortSignal.timeout(timeoutMs),
    });
    const text = await response.text();
    if (!response.ok) throw new MinioRefused(what, response.status, text);
  }
}
