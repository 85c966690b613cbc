/**
 * A password hash as it is stored: ours are of a digest under the pepper, imported ones of the plain
 * password.
 */
export interface StoredHash {
  /** In bcrypt's format. */
  hash: string;
  cost: number;
  isImported: boolean;
}

const mark = "imported:";
const shape = /^\$2[aby]\$(\d\d)\$[./A-Za-z0-9]{53}$/;
const plainBytesMax = 72;

/** Returns what is stored of another platform's hash; undefined when it is no bcrypt hash. */
export function importedHash(hash: string): { stored: string; cost: number } | undefined {
  const cost = costOf(hash);
  return Number.isNaN(cost) ? undefined : { stored: mark + hash, cost };
}

/** Parses a stored hash; the cost is NaN when it is no bcrypt hash. */
export function readStoredHash(stored: string): StoredHash {
  const isImported = stored.startsWith(mark);
  const hash = isImported ? stored.slice(mark.length) : stored;
  return { hash, cost: costOf(hash), isImported };
}

function costOf(hash: string): number {
  return Number(shape.exec(hash)?.[1]);
}

/**
 * Whether plain bcrypt distinguishes this password from every other: it reads 72 bytes, and takes `a` and
 * `a\0a` for the same.
 */
export function isReadWhole(password: string): boolean {
  return Buffer.byteLength(password) <= plainBytesMax && !password.includes("\0");
}
