import { InvalidArgumentError, type Command } from "commander";
import { createPartner, resumePartner, suspendPartner } from "../partners/partners.ts";
import {
  issuePartnerKey,
  listPartnerKeys,
  type ListedKey,
  revokePartnerKey,
} from "../partners/partnerKeys.ts";
import { hidePartnerGames, unhidePartnerGames } from "../games/hideGames.ts";
import { findPartnerDetails, listPartners } from "../partners/partnerListQueries.ts";
import { notFound } from "../errors.ts";
import { listEndpoints, type EndpointRow } from "../webhooks/endpointQueries.ts";
import type { AddCommand, CliEnvironment, Json } from "./environment.ts";
import { type ListOptions, printDetails, printList, timeOf, toPage, withPaging } from "./paging.ts";

interface ListPartnersOptions extends ListOptions {
  search?: string;
  suspended?: true;
}

/** Adds `joypod partner …`. */
export function addPartnerCommands(command: AddCommand, program: Command, environment: CliEnvironment): void {
  const partner = program.command("partner").description("partners, who publish games");
  addViewCommands(command, partner, environment);
  command(partner, "create", "create a partner; exit code 3 if the name exists")
    .requiredOption("--name <name>")
    .action(async ({ name, ...options }: Json & { name: string }) => {
      const created = await createPartner(environment.stores(), name);
      environment.print(created, `Created the partner ${created.name}.`, options.json === true);
    });
  addSuspendCommands(command, partner, environment);
  addKeyCommands(command, partner, environment);
}

interface SuspendOptions extends Json {
  partner: string;
  hideGames?: true;
  reason?: string;
}

function addSuspendCommands(command: AddCommand, partner: Command, environment: CliEnvironment): void {
  command(
    partner,
    "suspend",
    "refuse all requests of a partner; their games stay available unless they are hidden",
  )
    .requiredOption("--partner <name or id>")
    .option("--hide-games", "also hide the partner's games from players; running sessions continue")
    .option(
      "--reason <text>",
      "with --hide-games: the reason, which the partner reads after they are resumed",
    )
    .action(async ({ partner: nameOrId, hideGames, reason, ...options }: SuspendOptions) => {
      const suspended = await suspendPartner(environment.stores(), nameOrId);
      const hidden =
        hideGames === true ? await hidePartnerGames(environment.stores(), suspended.id, reason) : [];
      environment.print(
        { ...suspended, hidden },
        `The partner ${suspended.name} is suspended.${hideGames === true ? ` Games hidden: ${hidden.length}.` : ""}`,
        options.json === true,
      );
    });
  command(partner, "resume", "resume a suspended partner")
    .requiredOption("--partner <name or id>")
    .option("--unhide-games", "also show the games again that `suspend --hide-games` has hidden")
    .action(
      async ({
        partner: nameOrId,
        unhideGames,
        ...options
      }: Json & { partner: string; unhideGames?: true }) => {
        const resumed = await resumePartner(environment.stores(), nameOrId);
        const shown = unhideGames === true ? await unhidePartnerGames(environment.stores(), resumed.id) : [];
        environment.print(
          { ...resumed, shown },
          `The partner ${resumed.name} is active again.${unhideGames === true ? ` Games shown again: ${shown.length}.` : ""}`,
          options.json === true,
        );
      },
    );
}

function addViewCommands(command: AddCommand, partner: Command, environment: CliEnvironment): void {
  withPaging(command(partner, "list", "list partners by name"), "name")
    .option("--search <text>", "only partners with this text in their name")
    .option("--suspended", "only suspended partners")
    .action(async ({ search, suspended, after, limit, ...options }: ListPartnersOptions) => {
      const { pool } = environment.stores().postgres;
      const filter = { search, isSuspended: suspended, after, limit: limit + 1 };
      printList(
        environment,
        {
          name: "partners",
          page: toPage(await listPartners(pool, filter), limit, ({ name }) => name),
          headings: ["NAME", "STATE", "GAMES", "KEYS", "KEY USED", "CREATED", "ID"],
          cellsOf: ({ id, name, suspendedAt, games, keys, lastUsedAt, createdAt }) => [
            name,
            suspendedAt === null ? "active" : "suspended",
            games,
            keys,
            lastUsedAt,
            createdAt,
            id,
          ],
        },
        options,
      );
    });
  command(partner, "show", "show a partner: state, games, sessions, keys and webhooks")
    .argument("<name or id>")
    .action(async (nameOrId: string, options: Json) => {
      const stores = environment.stores();
      const found = await findPartnerDetails(stores.postgres.pool, nameOrId);
      if (found === undefined) throw notFound(`There is no partner ${nameOrId}.`);
      const keys = await listPartnerKeys(stores, found.id);
      const webhooks = (await listEndpoints(stores.postgres.pool, found.id)).map(toListedWebhook);
      printDetails(
        environment,
        { ...found, keys, webhooks },
        [
          ["Name", found.name],
          ["Id", found.id],
          ["State", found.suspendedAt === null ? "active" : `suspended since ${timeOf(found.suspendedAt)}`],
          ["Created", found.createdAt],
          [
            "Games",
            `${found.games}; available to players: ${found.listedGames}; hidden: ${found.hiddenGames}`,
          ],
          ["Sessions", `${found.activeSessions} active`],
          ...keys.map((key) => ["Key", describeKey(key)] as const),
          ...webhooks.map((webhook) => ["Webhook", describeWebhook(webhook)] as const),
        ],
        options,
      );
    });
}

function addKeyCommands(command: AddCommand, partner: Command, environment: CliEnvironment): void {
  const key = partner.command("key").description("partners' API keys");
  command(key, "create", "create a key and show it once; a partner can have two")
    .requiredOption("--partner <name or id>")
    .option("--expires-in-days <days>", "expire the key after this many days", toDays)
    .action(
      async ({
        partner: nameOrId,
        expiresInDays,
        ...options
      }: Json & { partner: string; expiresInDays?: number }) => {
        const { partner: owner, ...issued } = await issuePartnerKey(
          environment.stores(),
          nameOrId,
          expiresInDays,
        );
        environment.print(
          { partnerId: owner.id, partner: owner.name, ...issued },
          `${issued.key}\nStore it safely: it cannot be shown again. Its id is ${issued.keyId}.`,
          options.json === true,
        );
      },
    );
  command(key, "list", "list a partner's keys without their secrets")
    .requiredOption("--partner <name or id>")
    .action(async ({ partner: nameOrId, ...options }: Json & { partner: string }) => {
      const keys = await listPartnerKeys(environment.stores(), nameOrId);
      environment.print(
        { keys },
        keys.length === 0 ? "No keys." : keys.map(describeKey).join("\n"),
        options.json === true,
      );
    });
  command(key, "revoke", "revoke a key immediately")
    .requiredOption("--key <id>", "the key's id")
    .action(async ({ key: keyId, ...options }: Json & { key: string }) => {
      const revoked = await revokePartnerKey(environment.stores(), keyId);
      environment.print(revoked, `The key ${keyId} is revoked.`, options.json === true);
    });
}

function describeKey({ keyId, createdAt, expiresAt, revokedAt, lastUsedAt }: ListedKey): string {
  const end =
    revokedAt !== null
      ? `revoked ${revokedAt}`
      : expiresAt !== null
        ? `expires ${expiresAt}`
        : "does not expire";
  return `${keyId}: created ${createdAt}, last used ${lastUsedAt ?? "never"}, ${end}.`;
}

/** A webhook in an admin's view. Some services put secrets into the path, so only the host is shown. */
function toListedWebhook({ url, partnerId: _, ...webhook }: EndpointRow) {
  return { host: new URL(url).host, ...webhook };
}

function describeWebhook({
  id,
  host,
  disabledAt,
  disabledReason,
  failingSince,
  lastSuccessAt,
  waiting,
}: ReturnType<typeof toListedWebhook>): string {
  const state =
    disabledAt !== null
      ? `disabled since ${timeOf(disabledAt)}${disabledReason === null ? "" : ` (${disabledReason})`}`
      : failingSince !== null
        ? `failing since ${timeOf(failingSince)}`
        : `last success ${lastSuccessAt === null ? "never" : timeOf(lastSuccessAt)}`;
  return `${id}: ${host}, ${state}, waiting: ${waiting}`;
}

function toDays(text: string): number {
  if (!/^[1-9]\d{0,3}$/.test(text)) throw new InvalidArgumentError("Must be whole days from 1 to 9999.");
  return Number(text);
}
