import {
  CreateWebhookRequest,
  PatchWebhookRequest,
  Webhook,
  WebhookDeliveriesQuery,
  WebhookDeliveriesResponse,
  WebhookDelivery,
  WebhookDeliveryParams,
  WebhookParams,
  WebhooksResponse,
  WebhookWithSecret,
} from "#contracts/http/webhooks.ts";
import { limits as allLimits } from "#contracts/limits.ts";
import { applyRateLimits } from "../http/applyRateLimits.ts";
import { respondCacheable } from "../http/respondCacheable.ts";
import { cacheable, empty, json } from "../http/responses.ts";
import type { Route } from "../http/route.ts";
import { partnerRouteFor, type PartnerDeps } from "../partners/requirePartner.ts";
import {
  createWebhook,
  removeWebhook,
  replayDelivery,
  requireWebhook,
  rotateWebhookSecret,
  testWebhook,
  updateWebhook,
  type ChangeWebhooksDeps,
} from "./changeWebhooks.ts";
import { listDeliveries } from "./deliveryQueries.ts";
import { listEndpoints } from "./endpointQueries.ts";
import { presentDelivery, presentWebhook } from "./present.ts";

/** Dependencies of these routes. */
type WebhookDeps = PartnerDeps & ChangeWebhooksDeps;

const route = partnerRouteFor<WebhookDeps>();
const webhooksPath = "/api/partners/webhooks";
const webhookPath = `${webhooksPath}/:webhookId`;
const deliveriesPath = `${webhookPath}/deliveries`;
const limits = ["partner"] as const;
/** Limits of tests and replays, counted per partner. */
const innerLimits = ["webhookTest"] as const;
const params = WebhookParams;

const list = route({
  method: "GET",
  path: webhooksPath,
  name: "listWebhooks",
  summary: "List webhooks",
  limits,
  headers: ["If-None-Match"],
  responses: cacheable(WebhooksResponse),
  errors: [],
  handle: async ({ ctx, deps, partner }) => {
    const endpoints = await listEndpoints(deps.postgres.pool, partner.id);
    respondCacheable(ctx, { webhooks: endpoints.map(presentWebhook) } satisfies WebhooksResponse);
  },
});

const create = route({
  method: "POST",
  path: webhooksPath,
  name: "createWebhook",
  summary: "Create a webhook",
  limits,
  body: CreateWebhookRequest,
  description:
    "Events of the partner's games are sent to the address by [Standard Webhooks](https://www.standardwebhooks.com), at least once. " +
    `The response has the signing secret, which is shown only once. A partner has at most ${allLimits.webhook.endpoints} webhooks.`,
  responses: { 201: json(WebhookWithSecret) },
  errors: ["conflict"],
  handle: async ({ ctx, deps, partner, body }) => {
    const { endpoint, secret } = await createWebhook(deps, partner, body);
    ctx.status = 201;
    ctx.body = { ...presentWebhook(endpoint), secret } satisfies WebhookWithSecret;
  },
});

const detail = route({
  method: "GET",
  path: webhookPath,
  name: "getWebhook",
  summary: "Get a webhook",
  limits,
  params,
  headers: ["If-None-Match"],
  responses: cacheable(Webhook),
  errors: [],
  handle: async ({ ctx, deps, partner, params: { webhookId } }) => {
    respondCacheable(ctx, presentWebhook(await requireWebhook(deps.postgres.pool, partner, webhookId)));
  },
});

const update = route({
  method: "PATCH",
  path: webhookPath,
  name: "updateWebhook",
  summary: "Change a webhook",
  limits,
  params,
  body: PatchWebhookRequest,
  description: "Deliveries that wait go to a new address, and fail when the webhook is disabled.",
  responses: { 200: json(Webhook) },
  errors: [],
  handle: async ({ ctx, deps, partner, params: { webhookId }, body }) => {
    ctx.body = presentWebhook(await updateWebhook(deps, partner, webhookId, body));
  },
});

const remove = route({
  method: "DELETE",
  path: webhookPath,
  name: "deleteWebhook",
  summary: "Remove a webhook with its deliveries",
  limits,
  params,
  responses: { 204: empty("There is no such webhook any longer.") },
  errors: [],
  handle: async ({ ctx, deps, partner, params: { webhookId } }) => {
    await removeWebhook(deps, partner, webhookId);
    ctx.status = 204;
  },
});

const rotate = route({
  method: "POST",
  path: `${webhookPath}/rotate-secret`,
  name: "rotateWebhookSecret",
  summary: "Replace the signing secret",
  limits,
  params,
  description: "For 24 hours, deliveries are also signed with the previous secret.",
  responses: { 200: json(WebhookWithSecret) },
  errors: [],
  handle: async ({ ctx, deps, partner, params: { webhookId } }) => {
    const { endpoint, secret } = await rotateWebhookSecret(deps, partner, webhookId);
    ctx.body = { ...presentWebhook(endpoint), secret } satisfies WebhookWithSecret;
  },
});

const test = route({
  method: "POST",
  path: `${webhookPath}/test`,
  name: "testWebhook",
  summary: "Send a test event",
  limits,
  innerLimits,
  params,
  description: "Sends an event of the type `webhook.test`, whatever events the webhook wants.",
  responses: { 202: json(WebhookDelivery) },
  errors: ["conflict"],
  handle: async ({ ctx, deps, partner, params: { webhookId } }) => {
    await applyRateLimits(ctx, innerLimits, partner.id);
    ctx.status = 202;
    ctx.body = presentDelivery(await testWebhook(deps, partner, webhookId));
  },
});

const deliveries = route({
  method: "GET",
  path: deliveriesPath,
  name: "listWebhookDeliveries",
  summary: "List the deliveries of a webhook",
  limits,
  params,
  query: WebhookDeliveriesQuery,
  headers: ["If-None-Match"],
  responses: cacheable(WebhookDeliveriesResponse),
  errors: [],
  handle: async ({ ctx, deps, partner, params: { webhookId }, query: { status, cursor, limit } }) => {
    const { id } = await requireWebhook(deps.postgres.pool, partner, webhookId);
    const rows = await listDeliveries(deps.postgres.pool, id, { status, before: cursor, limit: limit + 1 });
    const shown = rows.slice(0, limit);
    respondCacheable(ctx, {
      deliveries: shown.map(presentDelivery),
      nextCursor: rows.length > limit ? (shown.at(-1)?.number ?? null) : null,
    } satisfies WebhookDeliveriesResponse);
  },
});

const replay = route({
  method: "POST",
  path: `${deliveriesPath}/:deliveryId/replay`,
  name: "replayWebhookDelivery",
  summary: "Send a delivery again",
  limits,
  innerLimits,
  params: WebhookDeliveryParams,
  description: "With the same `webhook-id`, whether it has succeeded or not. It is retried for another day.",
  responses: { 202: json(WebhookDelivery) },
  errors: ["conflict"],
  handle: async ({ ctx, deps, partner, params: { webhookId, deliveryId } }) => {
    await applyRateLimits(ctx, innerLimits, partner.id);
    ctx.status = 202;
    ctx.body = presentDelivery(await replayDelivery(deps, partner, webhookId, deliveryId));
  },
});

/** Routes for a partner's webhooks. */
export const webhookRoutes: readonly Route<WebhookDeps>[] = [
  list,
  create,
  detail,
  update,
  rotate,
  test,
  deliveries,
  replay,
  remove,
];
