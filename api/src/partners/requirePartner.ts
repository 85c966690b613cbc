import type { Audit } from "../audit/audit.ts";
import { forbidden } from "../errors.ts";
import { enforceRateLimits, applyRateLimits } from "../http/applyRateLimits.ts";
import { isSameSecretHash, parsePartnerKey, type PresentedPartnerKey } from "./keyFormat.ts";
import type { AppContext, HttpDeps } from "../http/appContext.ts";
import { HttpError } from "../http/httpError.ts";
import type { Queryable } from "../stores/queryable.ts";
import {
  findLivePartnerKey,
  lockLivePartnerKey,
  updatePartnerKeyUsed,
  type LivePartnerKey,
} from "./partnerQueries.ts";
import { type Access, toRoute, type Definition, type Route } from "../http/route.ts";

/** Dependencies of partner routes. */
export interface PartnerDeps extends HttpDeps {
  audit: Audit;
  knownPartnerKeys: KnownPartnerKeys;
}

/** The authenticated partner of a request. */
export interface PartnerPrincipal {
  id: string;
  name: string;
  /** Public part of the key; the rate limit counts by it. */
  keyId: string;
  /** Request data for the audit trail. */
  request: { address: string; requestId: string };
}

/** The audit trail records which networks use a key, not how often. */
const useAuditMs = 3_600_000;

/**
 * Returns the partner whose API key the request carries.
 *
 * @throws unauthorized for any other credential, forbidden for a suspended partner, RateLimitError after too
 *   many unknown keys from the address
 */
async function requirePartner(ctx: AppContext<PartnerDeps>): Promise<PartnerPrincipal> {
  // Node passes on only one of two such headers, and it is ambiguous which one counts, so a request with two
  // is refused.
  const { authorization = [] } = ctx.req.headersDistinct;
  const [, text] =
    authorization.length === 1 ? (/^Bearer +([^\s,]+)$/i.exec(authorization[0] ?? "") ?? []) : [];
  const presented = text === undefined ? undefined : parsePartnerKey(text);
  const key = presented === undefined ? undefined : await findKey(ctx, presented);
  if (presented === undefined || key === undefined) throw invalidKey();
  requireActive(key);
  const request = { address: ctx.ip, requestId: ctx.state.requestId };
  const partner = { id: key.partnerId, name: key.partnerName, keyId: presented.keyId, request };
  ctx.state.principal = { kind: "partner", id: partner.id };
  if (key.isUseDue) await noteUse(ctx, partner.keyId);
  ctx.deps.audit.recordRarely(
    `partnerKey.used ${partner.keyId}`,
    {
      action: "partnerKey.used",
      actor: { kind: "partner", id: partner.id },
      details: { keyId: partner.keyId },
      ...request,
    },
    useAuditMs,
  );
  return partner;
}

/**
 * Returns the key if it is valid. An address that has sent too many invalid keys is refused without a
 * database query.
 */
async function findKey(
  ctx: AppContext<PartnerDeps>,
  presented: PresentedPartnerKey,
): Promise<LivePartnerKey | undefined> {
  const { knownPartnerKeys } = ctx.deps;
  if (knownPartnerKeys.has(presented)) return findRightKey(ctx, presented);
  const found = await knownPartnerKeys.check(presented, () => findUnknownKey(ctx, presented));
  if (found !== "checked") return found;
  return knownPartnerKeys.has(presented) ? findRightKey(ctx, presented) : findUnknownKey(ctx, presented);
}

async function findUnknownKey(
  ctx: AppContext<PartnerDeps>,
  presented: PresentedPartnerKey,
): Promise<LivePartnerKey | undefined> {
  const { rateLimits } = ctx.deps;
  const place = rateLimits.addressKey(ctx.ip);
  const outcome = await rateLimits.consume("unknownKeys", place);
  if (!outcome.isAllowed) enforceRateLimits(ctx, [outcome]);
  const key = await findRightKey(ctx, presented);
  if (key !== undefined) await rateLimits.refund("unknownKeys", place);
  return key;
}

/** Looks up the key in the database and remembers a valid one. */
async function findRightKey(
  { deps: { knownPartnerKeys, postgres } }: AppContext<PartnerDeps>,
  presented: PresentedPartnerKey,
): Promise<LivePartnerKey | undefined> {
  const key = await findLivePartnerKey(postgres.pool, presented.keyId);
  if (key === undefined || !isSameSecretHash(presented.secretHash, key.secretHash)) {
    knownPartnerKeys.forget(presented);
    return undefined;
  }
  knownPartnerKeys.keep(presented);
  return key;
}

/**
 * Checks the partner again during a long request.
 *
 * @throws unauthorized or forbidden when the key was revoked or expired, or the partner was suspended
 */
export async function recheckPartner(db: Queryable, { keyId }: PartnerPrincipal): Promise<void> {
  requireActive(await findLivePartnerKey(db, keyId));
}

/**
 * Checks the partner within a transaction. A revocation waits for the transaction, so nothing happens after
 * it.
 */
export async function lockPartnerAccess(transaction: Queryable, { keyId }: PartnerPrincipal): Promise<void> {
  requireActive(await lockLivePartnerKey(transaction, keyId));
}

function requireActive(key: { isSuspended: boolean } | undefined): void {
  if (key === undefined) throw invalidKey();
  if (key.isSuspended) throw forbidden("This partner account is suspended.");
}

function invalidKey(): HttpError {
  return new HttpError("unauthorized", {
    message: "A valid API key is required: Authorization: Bearer <key>.",
    headers: { "WWW-Authenticate": 'Bearer realm="joypod partners"' },
  });
}

/** Records the use of the key, which lets partners recognize unused or stolen keys. Best effort. */
async function noteUse(
  { deps: { postgres, logger } }: AppContext<PartnerDeps>,
  keyId: string,
): Promise<void> {
  try {
    await updatePartnerKeyUsed(postgres.pool, keyId);
  } catch (error) {
    logger.warn({ err: error, partnerKey: keyId }, "The API could not record the use of a partner's key.");
  }
}

/** What handlers get of the partner. */
interface PartnerCaller {
  partner: PartnerPrincipal;
}

/** Access with a partner's API key. Requests are counted by key. */
const partnerAccess: Access<PartnerDeps, PartnerCaller> = {
  name: "partner",
  refusesStrayQuery: true,
  admit: async (ctx, limits) => {
    const partner = await requirePartner(ctx);
    await applyRateLimits(ctx, limits, partner.keyId);
    return { partner };
  },
};

/** Returns a function that makes routes for partners, and whose handlers use `D`. */
export function partnerRouteFor<D>() {
  return <Params, Query, Body>(
    definition: Definition<D & PartnerDeps, PartnerCaller, Params, Query, Body>,
  ): Route<D & PartnerDeps> => toRoute(partnerAccess, definition);
}

const keysMax = 10_000;

/**
 * Keys that this process has recently found valid. Requests with them do not count as guesses, no matter what
 * else the address sends. The database still decides each time whether the key is valid.
 */
export class KnownPartnerKeys {
  /** Hash of the secret by key id, oldest first. */
  readonly #hashes = new Map<string, string>();
  /** First checks in flight, by key. */
  readonly #checks = new Map<string, Promise<unknown>>();

  has({ keyId, secretHash }: PresentedPartnerKey): boolean {
    return this.#hashes.get(keyId) === secretHash;
  }

  keep({ keyId, secretHash }: PresentedPartnerKey): void {
    this.#hashes.set(keyId, secretHash);
    if (this.#hashes.size <= keysMax) return;
    const oldest = this.#hashes.keys().next();
    if (oldest.done !== true) this.#hashes.delete(oldest.value);
  }

  /**
   * Runs the first check of a key. Concurrent requests with the same key wait for it, so that hundreds of
   * first uses do not count as guesses.
   */
  async check<T>(presented: PresentedPartnerKey, first: () => Promise<T>): Promise<T | "checked"> {
    const name = `${presented.keyId} ${presented.secretHash}`;
    const inFlight = this.#checks.get(name);
    if (inFlight !== undefined) {
      await inFlight.catch(() => undefined);
      return "checked";
    }
    const check = first();
    this.#checks.set(name, check);
    return check.finally(() => this.#checks.delete(name));
  }

  forget({ keyId, secretHash }: PresentedPartnerKey): void {
    if (this.#hashes.get(keyId) === secretHash) this.#hashes.delete(keyId);
  }
}
