import { createHash, createCipheriv, pbkdf2Sync, randomBytes } from "node:crypto";
import { signV4 } from "minio/dist/esm/signing.mjs";
import { backOffMs } from "#runtime/scheduling/backOff.ts";
import { systemClock, type Clock } from "#runtime/scheduling/clock.ts";

/** A key of the object store. */
export interface StoreKey {
  accessKey: string;
  secretKey: string;
}

/** Address of MinIO and its administrator's key. */
export interface MinioAdminOptions extends StoreKey {
  endpoint: string;
  region: string;
}

/** MinIO refused a request. */
export class MinioRefused extends Error {
  readonly status: number;

  constructor(what: string, status: number, text: string) {
    super(`MinIO responded with ${status} to the request to ${what}: ${text.slice(0, 300)}`);
    this.name = "MinioRefused";
    this.status = status;
  }
}

const timeoutMs = 10_000;

/**
 * Client for users and policies of a MinIO server. Calls are idempotent. Errors are MinioRefused, or those of
 * `fetch`.
 */
export class MinioAdmin {
  readonly #options: MinioAdminOptions;

  constructor(options: MinioAdminOptions) {
    this.#options = options;
  }

  /** Creates the user, or updates its secret key. */
  async putUser({ accessKey, secretKey }: StoreKey): Promise<void> {
    const body = encryptedBody(this.#options.secretKey, JSON.stringify({ secretKey, status: "enabled" }));
    await this.#put("make a user", "add-user", { accessKey }, body);
  }

  /** Removes the user if it exists. */
  async removeUser(accessKey: string): Promise<void> {
    try {
      await this.#send("DELETE", "remove a user", "remove-user", { accessKey }, Buffer.alloc(0));
    } catch (error) {
      if (!(error instanceof MinioRefused && error.status === 404)) throw error;
    }
  }

  /** Creates or replaces the policy. */
  async putPolicy(name: string, policy: string): Promise<void> {
    await this.#put("make a policy", "add-canned-policy", { name }, Buffer.from(policy));
  }

  /** Replaces the user's policies with this one. */
  async setPolicy(user: string, policyName: string): Promise<void> {
    await this.#put(
      "give a user a policy",
      "set-user-or-group-policy",
      { policyName, userOrGroup: user, isGroup: "false" },
      Buffer.alloc(0),
    );
  }

  #put(what: string, operation: string, query: Record<string, string>, body: Buffer): Promise<void> {
    return this.#send("PUT", what, operation, query, body);
  }

  async #send(
    method: string,
    what: string,
    operation: string,
    query: Record<string, string>,
    body: Buffer,
  ): Promise<void> {
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
      { method, path, protocol: url.protocol, headers },
      accessKey,
      secretKey,
      region,
      at,
      sha256,
    );
    const response = await fetch(url, {
      method,
      headers,
      body,
      signal: AbortSignal.timeout(timeoutMs),
    });
    const text = await response.text();
    if (!response.ok) throw new MinioRefused(what, response.status, text);
  }
}

/** A program's key and permissions. */
export interface StoreUser extends StoreKey {
  /** Also the policy's name. */
  program: string;
  /** An S3 policy as JSON. */
  policy: string;
}

/** Names of the users that earlier releases created, the same in every installation. */
const formerUsers = ["joypod-api", "joypod-node-agent"];

/**
 * Creates or updates each program's user with its policy in MinIO. Removes users with well-known names that
 * no program uses any more.
 */
export async function createStoreUsers(admin: MinioAdmin, users: readonly StoreUser[]): Promise<void> {
  for (const { program, policy, accessKey, secretKey } of users) {
    await admin.putPolicy(program, policy);
    await admin.putUser({ accessKey, secretKey });
    await admin.setPolicy(accessKey, program);
  }
  for (const former of formerUsers)
    if (users.every(({ accessKey }) => accessKey !== former)) await admin.removeUser(former);
}

/** MinIO's identifier of the algorithm: PBKDF2 with SHA-256, then AES-256-GCM. */
const algorithm = Buffer.of(2);
const iterations = 8192;
const lastFragment = Buffer.of(0x80);
/** Longer bodies would need several fragments. */
const bodyBytesMax = 16 * 1024;

/**
 * Encrypts a body for MinIO's administration interface with a key derived from the administrator's secret, in
 * the format of `EncryptData` in github.com/minio/madmin-go.
 *
 * @throws Error for a body above 16 KiB
 */
function encryptedBody(password: string, body: string): Buffer {
  const plain = Buffer.from(body);
  if (plain.length > bodyBytesMax)
    throw new Error(
      `A body for MinIO's administration interface can have ${bodyBytesMax} bytes, not ${plain.length}.`,
    );
  const salt = randomBytes(32);
  const nonce = randomBytes(8);
  const key = pbkdf2Sync(password, salt, iterations, 32, "sha256");
  // Each fragment authenticates the stream's first, empty one, so that fragments of two streams cannot be
  // mixed.
  const stream = seal(key, fragmentNonce(nonce, 0), Buffer.alloc(0));
  const fragment = seal(key, fragmentNonce(nonce, 1), plain, Buffer.concat([lastFragment, stream]));
  return Buffer.concat([salt, algorithm, nonce, fragment]);
}

function fragmentNonce(nonce: Buffer, index: number): Buffer {
  const number = Buffer.alloc(4);
  number.writeUInt32LE(index);
  return Buffer.concat([nonce, number]);
}

function seal(key: Buffer, nonce: Buffer, plain: Buffer, associated = Buffer.alloc(0)): Buffer {
  const cipher = createCipheriv("aes-256-gcm", key, nonce);
  cipher.setAAD(associated);
  return Buffer.concat([cipher.update(plain), cipher.final(), cipher.getAuthTag()]);
}

const backOff = { baseMs: 250, maxMs: 5_000 };

/**
 * Retries the work for up to `waitMs` while MinIO is unreachable or not ready.
 *
 * @throws the last error, and permanent errors immediately
 */
export async function whenAvailable(
  work: () => Promise<void>,
  waitMs: number,
  clock: Clock = systemClock,
  random: () => number = Math.random,
): Promise<void> {
  const deadlineMs = clock.monotonicMs() + waitMs;
  for (let failures = 1; ; failures++) {
    try {
      await work();
      return;
    } catch (error) {
      const pauseMs = backOffMs(backOff, failures, random);
      if ((error instanceof MinioRefused && error.status < 500) || clock.monotonicMs() + pauseMs > deadlineMs)
        throw error;
      await clock.sleep(pauseMs);
    }
  }
}
