import type { z } from "zod";
import type { AuthorityFile } from "#runtime/network/authorityFile.ts";

/** Values of sslmode that enable TLS. pg verifies the server's certificate and name in each of them. */
const checkedModes: readonly (string | null)[] = [null, "prefer", "require", "verify-ca", "verify-full"];

/**
 * Adds an issue when the database's CA is set but its URL disables verification, which would otherwise go
 * unnoticed.
 */
export function checkDatabaseAuthority(
  env: { DATABASE_URL: string; DATABASE_CA_FILE: AuthorityFile | undefined },
  context: z.core.$RefinementCtx,
): void {
  if (env.DATABASE_CA_FILE === undefined) return;
  const { searchParams } = new URL(env.DATABASE_URL);
  if (
    checkedModes.includes(searchParams.get("sslmode")) &&
    !/^(?:0|false|no-verify)$/.test(searchParams.get("ssl") ?? "")
  )
    return;
  context.addIssue({
    code: "custom",
    path: ["DATABASE_CA_FILE"],
    message:
      "is set, but DATABASE_URL disables verification: remove ssl and sslmode from the URL, or use sslmode=verify-full",
  });
}

/** Adds an issue when the CA of Redis is set but REDIS_URL does not use TLS. */
export function checkRedisAuthority(
  env: { REDIS_URL?: string | undefined; REDIS_CA_FILE: AuthorityFile | undefined },
  context: z.core.$RefinementCtx,
): void {
  if (env.REDIS_CA_FILE === undefined || env.REDIS_URL?.startsWith("redis:") !== true) return;
  context.addIssue({
    code: "custom",
    path: ["REDIS_CA_FILE"],
    message: "is set, but REDIS_URL does not use TLS: it must begin with rediss://",
  });
}

/** Returns the URL with the CA of the server's certificate, or the URL unchanged without a CA. */
export function databaseAddress(url: string, authority: AuthorityFile | undefined): string {
  if (authority === undefined) return url;
  const address = new URL(url);
  for (const name of ["ssl", "uselibpqcompat"]) address.searchParams.delete(name);
  address.searchParams.set("sslmode", "verify-full");
  address.searchParams.set("sslrootcert", authority.file);
  return address.href;
}
