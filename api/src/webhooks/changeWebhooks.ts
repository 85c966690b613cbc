import { randomUUID } from "node:crypto";
import {
  testEventType,
  type CreateWebhookRequest,
  type PatchWebhookRequest,
} from "#contracts/http/webhooks.ts";
import { limits } from "#contracts/limits.ts";
import type { Audit, AuditEvent } from "../audit/audit.ts";
import { DomainError, notFound } from "../errors.ts";
import type { PartnerPrincipal } from "../partners/requirePartner.ts";
import type { Postgres } from "../stores/postgres.ts";
import type { Queryable } from "../stores/queryable.ts";
import { insertDelivery, updateDeliveryReplayed, type DeliveryRow } from "./deliveryQueries.ts";
import type { WebhookDestinations } from "./destinations.ts";
import {
  deleteEndpoint,
  findEndpoint,
  insertEndpoint,
  lockAndCountEndpoints,
  updateEndpoint,
  updateEndpointSecret,
  type EndpointRow,
} from "./endpointQueries.ts";
import { createWebhookSecret, type WebhookSecrets } from "./webhookSecrets.ts";

const { webhook } = limits;

/** Dependencies of changing webhooks. */
export interface ChangeWebhooksDeps {
  postgres: Postgres;
  audit: Audit;
  webhookSecrets: WebhookSecrets;
  webhookDestinations: WebhookDestinations;
}

/** An endpoint with its secret, which is shown once. */
interface NewSecret {
  endpoint: EndpointRow;
  secret: string;
}

/**
 * Stores an endpoint with a new secret.
 *
 * @throws invalid_request for an address that webhooks must not reach, conflict for too many endpoints
 */
export async function createWebhook(
  { postgres, audit, webhookSecrets, webhookDestinations }: ChangeWebhooksDeps,
  partner: PartnerPrincipal,
  { url, description = "", events = [], enabled: isEnabled = true }: CreateWebhookRequest,
): Promise<NewSecret> {
  await webhookDestinations.check(url);
  const id = randomUUID();
  const secret = createWebhookSecret();
  const endpoint = await postgres.transaction(async (transaction) => {
    if ((await lockAndCountEndpoints(transaction, partner.id)) >= webhook.endpoints)
      throw new DomainError("conflict", {
        message: `A partner has at most ${webhook.endpoints} webhooks. Remove one first.`,
      });
    await insertEndpoint(transaction, {
      id,
      partnerId: partner.id,
      url,
      description,
      events: [...new Set(events)],
      isEnabled,
      secret: webhookSecrets.seal(id, secret),
    });
    return await requireWebhook(transaction, partner, id);
  });
  await audit.record(auditEventOf("webhook.created", partner, id, { host: new URL(url).host }));
  return { endpoint, secret };
}

/**
 * Changes an endpoint. Deliveries that wait go to the new address, or fail when it is disabled.
 *
 * @throws not_found, invalid_request for an address that webhooks must not reach
 */
export async function updateWebhook(
  { postgres, audit, webhookDestinations }: ChangeWebhooksDeps,
  partner: PartnerPrincipal,
  id: string,
  { enabled: isEnabled, events, ...change }: PatchWebhookRequest,
): Promise<EndpointRow> {
  await requireWebhook(postgres.pool, partner, id);
  if (change.url !== undefined) await webhookDestinations.check(change.url);
  const changed = { ...change, isEnabled, events: events && [...new Set(events)] };
  if (!(await updateEndpoint(postgres.pool, partner.id, id, changed))) throw noSuchWebhook();
  const details = {
    ...(change.url !== undefined && { host: new URL(change.url).host }),
    ...(isEnabled !== undefined && { enabled: isEnabled }),
  };
  await audit.record(auditEventOf("webhook.updated", partner, id, details));
  return await requireWebhook(postgres.pool, partner, id);
}

/**
 * Replaces the secret of an endpoint. For a day, deliveries are signed with the one before as well.
 *
 * @throws not_found
 */
export async function rotateWebhookSecret(
  { postgres, audit, webhookSecrets }: ChangeWebhooksDeps,
  partner: PartnerPrincipal,
  id: string,
): Promise<NewSecret> {
  const secret = createWebhookSecret();
  const isRotated = await updateEndpointSecret(postgres.pool, partner.id, id, {
    secret: webhookSecrets.seal(id, secret),
    previousSeconds: webhook.rotationSeconds,
  });
  if (!isRotated) throw noSuchWebhook();
  await audit.record(auditEventOf("webhook.secretRotated", partner, id));
  return { endpoint: await requireWebhook(postgres.pool, partner, id), secret };
}

/** Removes an endpoint with its deliveries. @throws not_found */
export async function removeWebhook(
  { postgres, audit }: ChangeWebhooksDeps,
  partner: PartnerPrincipal,
  id: string,
): Promise<void> {
  if (!(await deleteEndpoint(postgres.pool, partner.id, id))) throw noSuchWebhook();
  await audit.record(auditEventOf("webhook.deleted", partner, id));
}

/** Sends a test event, whatever events the endpoint wants. @throws not_found, conflict if it is disabled */
export async function testWebhook(
  { postgres }: Pick<ChangeWebhooksDeps, "postgres">,
  partner: PartnerPrincipal,
  id: string,
): Promise<DeliveryRow> {
  return await postgres.transaction(async (transaction) => {
    requireRoom(await requireWebhook(transaction, partner, id));
    return await insertDelivery(transaction, id, { type: testEventType, data: { webhookId: id } });
  });
}

/**
 * Sends a delivery again under the same id, whether it has succeeded or not.
 *
 * @throws not_found, conflict if the endpoint is disabled
 */
export async function replayDelivery(
  { postgres }: Pick<ChangeWebhooksDeps, "postgres">,
  partner: PartnerPrincipal,
  id: string,
  deliveryId: string,
): Promise<DeliveryRow> {
  return await postgres.transaction(async (transaction) => {
    requireRoom(await requireWebhook(transaction, partner, id));
    const delivery = await updateDeliveryReplayed(transaction, id, deliveryId);
    if (delivery === undefined) throw notFound("The webhook has no such delivery.");
    return delivery;
  });
}

/** Returns the partner's endpoint. @throws not_found */
export async function requireWebhook(
  db: Queryable,
  partner: PartnerPrincipal,
  id: string,
): Promise<EndpointRow> {
  const endpoint = await findEndpoint(db, partner.id, id);
  if (endpoint === undefined) throw noSuchWebhook();
  return endpoint;
}

function requireRoom({ disabledAt, waiting }: EndpointRow): void {
  if (disabledAt !== null)
    throw new DomainError("conflict", { message: "The webhook is disabled. Enable it first." });
  if (waiting >= webhook.queue)
    throw new DomainError("conflict", {
      message: `${waiting} deliveries of the webhook are waiting. Try again when its endpoint accepts them.`,
    });
}

function noSuchWebhook(): DomainError {
  return notFound("There is no such webhook.");
}

/** The trail has only the host of an address, because some services put secrets into the path. */
function auditEventOf(
  action: string,
  { id, request }: PartnerPrincipal,
  webhookId: string,
  details: NonNullable<AuditEvent["details"]> = {},
): AuditEvent {
  return {
    action,
    actor: { kind: "partner", id },
    subject: { kind: "partner", id },
    ...request,
    details: { webhook: webhookId, ...details },
  };
}
