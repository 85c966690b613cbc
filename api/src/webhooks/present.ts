import {
  webhookEventTypes,
  type Webhook,
  type WebhookDelivery,
  type WebhookEventType,
} from "#contracts/http/webhooks.ts";
import type { DeliveryRow } from "./deliveryQueries.ts";
import type { EndpointRow } from "./endpointQueries.ts";

/** Returns an endpoint as its partner sees it, without secrets. */
export function presentWebhook({
  id,
  url,
  description,
  events,
  disabledAt,
  disabledReason,
  createdAt,
  lastSuccessAt,
  failingSince,
  waiting,
  droppedEvents,
  previousSecretUntil,
}: EndpointRow): Webhook {
  return {
    id,
    url,
    description,
    events: events.filter(isEventType),
    enabled: disabledAt === null,
    disabledReason: disabledReason === "failing" || disabledReason === "gone" ? disabledReason : null,
    createdAt: createdAt.toISOString(),
    lastSuccessAt: isoOf(lastSuccessAt),
    failingSince: isoOf(failingSince),
    waiting,
    droppedEvents,
    previousSecretUntil: isoOf(previousSecretUntil),
  };
}

/** Returns a delivery as its partner sees it. */
export function presentDelivery({
  id,
  type,
  status,
  createdAt,
  attempts,
  lastAttemptAt,
  nextAttemptAt,
  responseStatus,
  response,
  error,
  data,
}: DeliveryRow): WebhookDelivery {
  return {
    id,
    type,
    status,
    createdAt: createdAt.toISOString(),
    attempts,
    lastAttemptAt: isoOf(lastAttemptAt),
    nextAttemptAt: isoOf(nextAttemptAt),
    responseStatus,
    response,
    error,
    data,
  };
}

/** A later release may have stored events that this one does not know. */
function isEventType(text: string): text is WebhookEventType {
  return webhookEventTypes.some((type) => type === text);
}

function isoOf(moment: Date | null): string | null {
  return moment?.toISOString() ?? null;
}
