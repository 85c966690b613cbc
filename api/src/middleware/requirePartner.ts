import { forbidden, unauthorized } from "../errors.ts";
import { isSameSecretHash, parsePartnerKey } from "../partners/keys.ts";
import type { AppContext, PartnerPrincipal } from "../routing/appContext.ts";

interface KeyRow {
  secret_hash: string;
  partner_id: string;
  name: string;
  is_suspended: boolean;
}

/** The partner whose API key the request bears; throws 401 for any other credential and 403 for a suspended partner. */
export async function requirePartner(ctx: AppContext): Promise<PartnerPrincipal> {
  const [, text] = /^Bearer +([^\s,]+)$/i.exec(ctx.get("authorization")) ?? [];
  const presented = text === undefined ? undefined : parsePartnerKey(text);
  const row = presented === undefined ? undefined : await findLiveKey(ctx, presented.keyId);
  if (presented === undefined || row === undefined || !isSameSecretHash(presented.secretHash, row.secret_hash)) {
    throw unauthorized({
      message: "A valid API key is required: Authorization: Bearer <key>.",
      headers: { "WWW-Authenticate": 'Bearer realm="joypod partners"' },
    });
  }
  if (row.is_suspended) throw forbidden("This partner account is suspended.");
  const partner = { id: row.partner_id, name: row.name, keyId: presented.keyId };
  ctx.state.partner = partner;
  return partner;
}

async function findLiveKey(ctx: AppContext, keyId: string): Promise<KeyRow | undefined> {
  const { rows } = await ctx.deps.postgres.pool.query<KeyRow>({
    name: "partnerKey.find",
    text: `SELECT k.secret_hash, k.partner_id, p.name, p.suspended_at IS NOT NULL AS is_suspended
           FROM partner_keys k JOIN partners p ON p.id = k.partner_id
           WHERE k.id = $1 AND k.revoked_at IS NULL AND (k.expires_at IS NULL OR k.expires_at > now())`,
    values: [keyId],
  });
  return rows[0];
}
