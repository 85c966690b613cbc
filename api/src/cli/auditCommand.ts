import { InvalidArgumentError, Option, type Command } from "commander";
import { findUserIdOf } from "../accounts/accountQueries.ts";
import { readAudit, type ListedAuditEvent } from "../audit/audit.ts";
import type { AuditPrincipal } from "../audit/auditQueries.ts";
import { accountHashOf } from "../auth/tokens.ts";
import { isEmail, normalizeEmail } from "../auth/email.ts";
import { notFound } from "../errors.ts";
import { findPartnerIdOf } from "../partners/partnerQueries.ts";
import { table } from "#runtime/textTable.ts";
import type { AddCommand, CliEnvironment, Json } from "./environment.ts";
import { toLimit } from "./paging.ts";

interface AuditOptions extends Json {
  since?: Date;
  user?: string;
  partner?: string;
  limit: number;
  before?: string;
}

/** Adds `joypod audit`. */
export function addAuditCommand(command: AddCommand, program: Command, environment: CliEnvironment): void {
  command(program, "audit", "list audit events, newest first")
    .option(
      "--since <time>",
      "only events since this time: 2026-11-22, 2026-11-22T18:00Z, or an age: 90m, 24h, 7d",
      toTime,
    )
    .option("--user <address or id>", "only events of this player or about their account")
    .addOption(new Option("--partner <name or id>", "only events of this partner").conflicts("user"))
    .option("--limit <events>", "number of events, up to 1000", toLimit, 100)
    .option("--before <event>", "only events older than this event id", toEventId)
    .action(async ({ since, user, partner, limit, before, ...options }: AuditOptions) => {
      const principals =
        user !== undefined
          ? await userPrincipals(environment, user)
          : partner !== undefined
            ? await partnerPrincipals(environment, partner)
            : undefined;
      const page = await readAudit(environment.stores(), { since, principals, before, limit });
      const rest = page.before === null ? "" : `\nFor older events: --before ${page.before}`;
      environment.print(
        { ...page },
        page.events.length === 0 ? "No events found." : tableOf(page.events) + rest,
        options.json === true,
      );
    });
}

/**
 * Returns the player, and the hash under which their failed sign-ins are recorded. For a deleted player, the
 * argument is used as the id and, if it is one, as the address.
 */
async function userPrincipals(environment: CliEnvironment, addressOrId: string): Promise<AuditPrincipal[]> {
  const email = normalizeEmail(addressOrId);
  const user = await findUserIdOf(environment.stores().postgres.prisma, { id: addressOrId, email });
  const address = user?.email ?? (isEmail(email) ? email : undefined);
  return [
    { kind: "user", id: user?.id ?? addressOrId },
    ...(address === undefined ? [] : [{ kind: "account", id: accountHashOf(environment.pepper(), address) }]),
  ];
}

async function partnerPrincipals(environment: CliEnvironment, nameOrId: string): Promise<AuditPrincipal[]> {
  const id = await findPartnerIdOf(environment.stores().postgres.prisma, nameOrId);
  if (id === undefined) throw notFound(`There is no partner ${nameOrId}.`);
  return [{ kind: "partner", id }];
}

function tableOf(events: readonly ListedAuditEvent[]): string {
  const rows = events.map(({ id, at, action, actor, subject, network, requestId, details }) => [
    id,
    at,
    action,
    nameOf(actor),
    subject === null ? undefined : nameOf(subject),
    network ?? undefined,
    requestId ?? undefined,
    JSON.stringify(details),
  ]);
  return table(["ID", "TIME", "ACTION", "ACTOR", "SUBJECT", "NETWORK", "REQUEST", "DETAILS"], rows);
}

function nameOf({ kind, id }: { kind: string; id: string | null }): string {
  return id === null ? kind : `${kind} ${id}`;
}

const unitMs = { m: 60_000, h: 3_600_000, d: 86_400_000 } as const;

function toTime(text: string): Date {
  const { count, unit } = /^(?<count>\d{1,6})(?<unit>[mhd])$/.exec(text)?.groups ?? {};
  if (count !== undefined && (unit === "m" || unit === "h" || unit === "d"))
    return new Date(Date.now() - Number(count) * unitMs[unit]);
  const time = /^\d{4}-\d\d-\d\d(?:T\d\d:\d\d(?::\d\d(?:\.\d{1,3})?)?(?:Z|[+-]\d\d:\d\d))?$/.test(text)
    ? new Date(text)
    : undefined;
  if (time === undefined || Number.isNaN(time.getTime())) {
    throw new InvalidArgumentError(
      "Must be a date (2026-11-22), a time with a zone (2026-11-22T18:00Z), or an age in minutes, hours or days (90m, 24h, 7d).",
    );
  }
  return time;
}

function toEventId(text: string): string {
  if (!/^[1-9]\d{0,17}$/.test(text))
    throw new InvalidArgumentError("Must be an event id (the first column).");
  return text;
}
