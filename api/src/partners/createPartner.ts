import { limits } from "#contracts/limits.ts";
import { DomainError, invalidRequest } from "../errors.ts";
import type { Audit } from "../audit/audit.ts";
import type { Postgres } from "../stores/postgres.ts";

/** Creates a partner, who has no key yet. Throws conflict with the id of the one of that name. */
export async function createPartner(
  { postgres, audit }: { postgres: Postgres; audit: Audit }, typedName: string,
): Promise<{ id: string; name: string }> {
  const name = typedName.trim();
  if (name === "" || name.length > limits.auth.nameMaxLength || /\p{Cc}/u.test(name)) {
    throw invalidRequest(`The name must have 1 to ${limits.auth.nameMaxLength} characters in one line.`);
  }
  const { rows } = await postgres.pool.query<{ id: string }>(
    "INSERT INTO partners (name) VALUES ($1) ON CONFLICT (name) DO NOTHING RETURNING id", [name],
  );
  const [created] = rows;
  if (created === undefined) {
    const { id } = await postgres.prisma.partner.findUniqueOrThrow({ where: { name }, select: { id: true } });
    throw new DomainError("conflict", { message: `There is a partner ${name} already.`, extra: { id, name } });
  }
  await audit.record({ action: "partner.created", actor: { kind: "operator" }, subject: { kind: "partner", id: created.id } });
  return { id: created.id, name };
}
