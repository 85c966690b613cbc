import { z } from "zod";

/** A CEL rule of the API server; `oldSelf` makes it a transition rule. */
export interface CelRule {
  rule: string;
  message: string;
}

/** Adds validation rules for the API server. zod ignores them; repeat non-transition rules with `refine`. */
export function withRules<T extends z.ZodType>(schema: T, rules: readonly CelRule[]): T {
  return schema.meta({ ...schema.meta(), "x-kubernetes-validations": rules });
}

/** Makes a field immutable. */
export function immutable<T extends z.ZodType>(schema: T): T {
  return withRules(schema, [{ rule: "self == oldSelf", message: "is immutable" }]);
}

/** Marks a list as a map keyed by `key`, which server-side apply merges by entry. */
export function listMap<T extends z.ZodType>(schema: T, key: string): T {
  return schema.meta({
    ...schema.meta(),
    "x-kubernetes-list-type": "map",
    "x-kubernetes-list-map-keys": [key],
  });
}

/** Marks a list as a set. */
export function listSet<T extends z.ZodType>(schema: T): T {
  return schema.meta({ ...schema.meta(), "x-kubernetes-list-type": "set" });
}

export const objectName = z
  .string()
  .min(1)
  .max(63)
  .regex(/^[a-z0-9]([a-z0-9-]*[a-z0-9])?$/);
export const nodeName = z
  .string()
  .min(1)
  .max(253)
  .regex(/^[a-z0-9]([a-z0-9.-]*[a-z0-9])?$/);
/** SHA-256 of the archive as uploaded, in lower-case hex. */
export const sha256Hex = z
  .string()
  .length(64)
  .regex(/^[0-9a-f]{64}$/);
/** Ed25519 public key: the `x` of its JWK, 32 bytes in base64url. */
export const ed25519PublicKey = z
  .string()
  .length(43)
  .regex(/^[A-Za-z0-9_-]{42}[AEIMQUYcgkosw048]$/);
/** A name directly under the archive's root: no separators, no leading dot or dash. */
export const rootEntryName = z
  .string()
  .min(1)
  .max(128)
  .regex(/^[A-Za-z0-9_][A-Za-z0-9._-]*$/);
export const objectKey = z
  .string()
  .min(1)
  .max(512)
  .regex(/^[A-Za-z0-9][A-Za-z0-9._/-]*$/);
export const timestamp = z.iso.datetime({ offset: true }).meta({ format: "date-time" });
export const observedGeneration = z
  .int()
  .min(0)
  .describe("Generation of the object that this status describes.");
export const byteCount = z.int().min(0).max(Number.MAX_SAFE_INTEGER);
export const reasonName = z
  .string()
  .min(1)
  .max(128)
  .regex(/^[A-Za-z][A-Za-z0-9]*$/);
export const message = z.string().max(1024);
