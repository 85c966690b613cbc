import { X509Certificate } from "node:crypto";
import { readFileSync } from "node:fs";
import { z } from "zod";
import { messageOf } from "../errors.ts";

/** CA certificates, and the file that they were read from. */
export interface AuthorityFile {
  file: string;
  /** In PEM. Only these authorities are trusted. */
  certificates: string[];
}

/**
 * A variable with the path of a CA file; undefined if it is empty or not set. A file that cannot be read or
 * has no certificate is invalid.
 */
export const authorityFile = z
  .string()
  .trim()
  .default("")
  .transform((file, context): AuthorityFile | undefined => {
    if (file === "") return undefined;
    try {
      return { file, certificates: readCertificates(file) };
    } catch (error) {
      context.addIssue(messageOf(error));
      return z.NEVER;
    }
  });

function readCertificates(file: string): string[] {
  const text = readOrExplain(file);
  const certificates = text.match(/-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g) ?? [];
  if (certificates.length === 0 || !certificates.every(isCertificate)) {
    throw new Error(
      `must be a file with PEM certificates ("-----BEGIN CERTIFICATE-----"), but ${file} is not`,
    );
  }
  return certificates;
}

function readOrExplain(file: string): string {
  try {
    return readFileSync(file, "utf8");
  } catch (cause) {
    const reason = cause instanceof Error && "code" in cause ? String(cause.code) : "for an unknown reason";
    throw new Error(`is ${file}, which cannot be read: ${reason}`, { cause });
  }
}

function isCertificate(pem: string): boolean {
  try {
    return new X509Certificate(pem).raw.length > 0;
  } catch {
    return false;
  }
}
