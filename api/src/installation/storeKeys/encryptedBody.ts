import { createCipheriv, pbkdf2Sync, randomBytes } from "node:crypto";

/**
 * MinIO tells by this byte how the key was derived and the body encrypted: PBKDF2 with SHA-256, then
 * AES-256-GCM.
 */
const algorithm = Buffer.of(2);
const iterations = 8192;
const lastFragment = Buffer.of(0x80);
/** Longer bodies would be several fragments. */
const bodyBytesMax = 16 * 1024;

/**
 * Returns a body as MinIO's administration interface wants those that hold secrets: encrypted with a key made
 * of the administrator's own. The format is that of `EncryptData` in github.com/minio/madmin-go. Throws for a
 * body above 16 KiB.
 */
export function encryptedBody(password: string, body: string): Buffer {
  const plain = Buffer.from(body);
  if (plain.length > bodyBytesMax)
    throw new Error(
      `A body of MinIO's administration interface may have ${bodyBytesMax} bytes, not ${plain.length}.`,
    );
  const salt = randomBytes(32);
  const nonce = randomBytes(8);
  const key = pbkdf2Sync(password, salt, iterations, 32, "sha256");
  // Each fragment vouches for the stream's first, empty one, so that fragments of two streams cannot be
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
