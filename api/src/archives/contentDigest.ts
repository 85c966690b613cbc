import { createHash, type Hash, timingSafeEqual } from "node:crypto";

/** Supported algorithms of RFC 9530. Digests of others are ignored, as the RFC requires. */
const algorithms = {
  "sha-256": { name: "sha256", bytes: 32 },
  "sha-512": { name: "sha512", bytes: 64 },
} as const;
type Algorithm = keyof typeof algorithms;

/** Digests that a request announces for its body. */
export type ExpectedDigests = Partial<Record<Algorithm, Buffer>>;

/** A header is not a dictionary of byte sequences, or two headers contradict each other. */
export class MalformedDigest extends Error {
  override readonly name = "MalformedDigest";
}

const memberPattern = /^([a-z*][a-z0-9_.*-]*)=:([A-Za-z0-9+/]*={0,2}):$/;

/**
 * Parses Content-Digest and Repr-Digest, which are equivalent for an upload.
 *
 * @throws MalformedDigest
 */
export function parseDigests(...headers: (string | undefined)[]): ExpectedDigests {
  const expected: ExpectedDigests = {};
  for (const header of headers) {
    if (header === undefined) continue;
    for (const member of header.split(",")) takeMember(expected, member.trim());
  }
  return expected;
}

/** Returns the value of a Repr-Digest header with this SHA-256. */
export function formatSha256Digest(sha256: Buffer): string {
  return `sha-256=:${sha256.toString("base64")}:`;
}

/**
 * Compares a body with its announced digests as it streams through. SHA-256 is always computed, because it
 * names the archive.
 */
export class DigestCheck {
  readonly #expected: ExpectedDigests;
  readonly #sha512: Hash | undefined;

  constructor(expected: ExpectedDigests) {
    this.#expected = expected;
    this.#sha512 = expected["sha-512"] === undefined ? undefined : createHash(algorithms["sha-512"].name);
  }

  update(bytes: Buffer): void {
    this.#sha512?.update(bytes);
  }

  /** Returns the first algorithm whose digest differs from the announced one; undefined when all match. */
  mismatch(sha256: Buffer): Algorithm | undefined {
    if (!matches(this.#expected["sha-256"], sha256)) return "sha-256";
    if (this.#sha512 !== undefined && !matches(this.#expected["sha-512"], this.#sha512.digest()))
      return "sha-512";
    return undefined;
  }
}

function takeMember(expected: ExpectedDigests, member: string): void {
  const [, algorithm, base64] = memberPattern.exec(member) ?? [];
  if (algorithm === undefined || base64 === undefined) {
    throw new MalformedDigest("A digest header must read like sha-256=:<base64>:");
  }
  if (!isAlgorithm(algorithm)) return;
  const digest = Buffer.from(base64, "base64");
  if (digest.length !== algorithms[algorithm].bytes || digest.toString("base64") !== base64) {
    throw new MalformedDigest(
      `The ${algorithm} digest must be ${algorithms[algorithm].bytes} bytes in base64.`,
    );
  }
  const known = expected[algorithm];
  if (known !== undefined && !known.equals(digest))
    throw new MalformedDigest(`Two different ${algorithm} digests were given.`);
  expected[algorithm] = digest;
}

function isAlgorithm(name: string): name is Algorithm {
  return Object.hasOwn(algorithms, name);
}

function matches(expected: Buffer | undefined, actual: Buffer): boolean {
  return expected === undefined || timingSafeEqual(expected, actual);
}
