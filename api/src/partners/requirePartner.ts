import type { Audit } from "../audit/audit.ts";
import { forbidden } from "../errors.ts";
import { isSameSecretHash, parsePartnerKey } from "./keys.ts";
import type { AppContext, HttpDeps } from "../http/appContext.ts";
import { HttpError } from "../http/httpError.ts";

/** What partners' routes need to check a key. */
export interface PartnerDeps extends HttpDeps {
  audit: Audit;
}

/** Who a request with a valid API key comes from. */
export interface PartnerPrincipal {
  id: string;
  name: string;
  /** Public part of the key: what the request rate is counted by. */
  keyId: string;
  /** Of this request, for the audit trail. */
  request: { address: string; requestId: string };
}

interface KeyRow {
  secret_hash: string;
  partner_id: string;
  name: string;
  is_suspended: boolean;
  is_use_due: boolean;
}

/** How exactly it is known when a key was used last: not every request shall write. */
const useSeconds = 60;
/** The trail tells from which networks a key is used, not how often. */
const useAuditMs = 3_600_000;

/** The partner whose API key the request bears; throws 401 for any other credential and 403 for a suspended partner. */
export async function requirePartner(ctx: AppContext<PartnerDeps>): Promise<PartnerPrincipal> {
  // Of two headers Node passes one on; which of them counts would be anybody's guess.
  const { authorization = [] } = ctx.req.headersDistinct;
  const [, text] = authorization.length === 1 ? /^Bearer +([^\s,]+)$/i.exec(authorization[0] ?? "") ?? [] : [];
  const presented = text === undefined ? undefined : parsePartnerKey(text);
  const row = presented === undefined ? undefined : await findLiveKey(ctx, presented.keyId);
  if (presented === undefined || row === undefined || !isSameSecretHash(presented.secretHash, row.secret_hash)) {
    throw new HttpError("unauthorized", {
      message: "A valid API key is required: Authorization: Bearer <key>.",
      headers: { "WWW-Authenticate": 'Bearer realm="joypod partners"' },
    });
  }
  if (row.is_suspended) throw forbidden("This partner account is suspended.");
  const request = { address: ctx.ip, requestId: ctx.state.requestId };
  const partner = { id: row.partner_id, name: row.name, keyId: presented.keyId, request };
  ctx.state.principal = { kind: "partner", id: partner.id };
  if (row.is_use_due) await noteUse(ctx, partner.keyId);
  ctx.deps.audit.recordRarely(`partnerKey.used ${partner.keyId}`, {
    action: "partnerKey.used", actor: { kind: "partner", id: partner.id }, details: { keyId: partner.keyId }, ...request,
  }, useAuditMs);
  return partner;
}

async function findLiveKey(ctx: AppContext<PartnerDeps>, keyId: string): Promise<KeyRow | undefined> {
  const { rows } = await ctx.deps.postgres.pool.query<KeyRow>({
    name: "partnerKey.find",
    text: `SELECT k.secret_hash, k.partner_id, p.name, p.suspended_at IS NOT NULL AS is_suspended,
             coalesce(k.last_used_at < now() - make_interval(secs => ${useSeconds}), true) AS is_use_due
           FROM partner_keys k JOIN partners p ON p.id = k.partner_id
           WHERE k.id = $1 AND k.revoked_at IS NULL AND (k.expires_at IS NULL OR k.expires_at > now())`,
    values: [keyId],
  });
  return rows[0];
}

/** For the partner's own look at a key that may be forgotten or stolen; a request is not refused for it. */
async function noteUse({ deps: { postgres, logger } }: AppContext<PartnerDeps>, keyId: string): Promise<void> {
  try {
    await postgres.pool.query({ name: "partnerKey.noteUse", text: "UPDATE partner_keys SET last_used_at = now() WHERE id = $1", values: [keyId] });
  } catch (error) {
    logger.warn({ err: error, partnerKey: keyId }, "The use of a partner's key could not be noted.");
  }
}
