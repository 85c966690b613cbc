import { z } from "zod";
import { gameFaults } from "../crd/gameSessionReasons.ts";
import { limits } from "../limits.ts";
import { pageNumber } from "./catalog.ts";
import { channelName } from "./gameChannels.ts";
import { findingCodes } from "./gameVerifications.ts";
import { isoMoment, line, name, opaqueId } from "./text.ts";

const { webhook } = limits;

const gameVersionId = z.string().meta({ examples: ["0f6b2c1e-8d4a-4c55-9f0e-3f1b7a9c2d10"] });

/** The data of each event, without the names of game and version. */
const eventData = {
  "version.uploaded": z
    .object({
      gameVersionId,
      checksum: z
        .string()
        .meta({ description: "SHA-256 of the archive.", examples: [`sha256:${"0f".repeat(32)}`] }),
      size: z
        .int()
        .min(0)
        .meta({ description: "Bytes of the archive.", examples: [73_400_320] }),
      isCurrent: z.boolean().meta({ description: "Whether it is what players get." }),
    })
    .meta({ description: "An archive was accepted." }),
  "version.activated": z
    .object({ gameVersionId, channel: channelName })
    .meta({ description: "A channel leads to another version; `default` is what players get." }),
  "version.distributed": z
    .object({
      gameVersionId,
      servers: z
        .int()
        .min(1)
        .meta({ description: "Game servers that hold it.", examples: [3] }),
    })
    .meta({ description: "Every selected game server holds the current version." }),
  "version.verified": z
    .object({
      gameVersionId,
      verdict: z.enum(["good", "bad"]).meta({ examples: ["bad"] }),
      findings: z
        .array(z.string())
        .max(findingCodes.length)
        .meta({ description: "Codes of the findings, worst first.", examples: [["library_missing"]] }),
    })
    .meta({ description: "The platform has played the version, and there is a verdict." }),
  "version.failed": z
    .object({
      gameVersionId: gameVersionId.nullable().meta({ description: "Null for an archive that was refused." }),
      stage: z
        .enum(["upload", "distribution"])
        .meta({ description: "Whether the archive was refused, or game servers could not fetch it." }),
      reason: z
        .enum(["invalid_archive", "checksum_mismatch", "nodes_failed"])
        .meta({ examples: ["invalid_archive"] }),
      message: z.string().meta({ examples: ["The archive has no file run.sh at its root."] }),
    })
    .meta({
      description:
        "An archive was refused, or some game servers could not fetch the current version. They retry automatically.",
    }),
  "run.crashed": z
    .object({
      gameVersionId: gameVersionId.nullable(),
      run: z
        .object({
          id: z.string().meta({ description: "The id of the session.", examples: ["gs-7k2m9q4x1v8c"] }),
          startedAt: isoMoment,
          readyAt: isoMoment.nullable().meta({ description: "Null unless the game could be played." }),
          endedAt: isoMoment,
          playSeconds: z
            .number()
            .min(0)
            .meta({ description: "How long the game could be played.", examples: [1834.5] }),
          failure: z.object({
            reason: z.enum(gameFaults).meta({ examples: ["GameCrashed"] }),
            message: z.string().meta({ examples: ["The game exited with code 139 (SIGSEGV)."] }),
          }),
          exit: z
            .object({
              code: z
                .int()
                .min(0)
                .max(255)
                .meta({ description: "128 + N after signal N.", examples: [139] }),
              signal: z
                .string()
                .nullable()
                .meta({ description: "The signal that the code stands for.", examples: ["SIGSEGV"] }),
            })
            .nullable()
            .meta({ description: "How the launcher ended. Null if it is unknown." }),
        })
        .meta({ description: "What the list of runs says of it." }),
    })
    .meta({ description: "A session ended because the game failed. Says nothing about its player." }),
} as const;

/** An event that an endpoint can subscribe to. */
export type WebhookEventType = keyof typeof eventData;
export const webhookEventTypes = Object.keys(eventData) as [WebhookEventType, ...WebhookEventType[]];

/** An event to record. The names of its game and version are added. */
export type WebhookEvent = {
  [Type in WebhookEventType]: { type: Type; data: z.infer<(typeof eventData)[Type]> };
}[WebhookEventType];

/** Sent by `POST …/test` only. */
export const testEventType = "webhook.test";

/** The body of each event, by its type. */
export const webhookPayloads: ReadonlyMap<WebhookEventType, z.ZodObject> = new Map(
  webhookEventTypes.map((type) => [type, ofGame(type)]),
);

function ofGame(type: WebhookEventType): z.ZodObject {
  const data = eventData[type];
  return z
    .object({
      type: z.literal(type),
      timestamp: isoMoment.meta({ description: "When it happened." }),
      data: z.object({
        gameSlug: z.string().meta({ examples: ["moonlight-drift"] }),
        versionLabel: z
          .string()
          .nullable()
          .meta({ description: "The partner's name for the version.", examples: ["1.4.2"] }),
        ...data.shape,
      }),
    })
    .meta({ description: data.meta()?.description ?? "" });
}

const url = line(webhook.urlMaxLength)
  .regex(/^https?:\/\/[^\s\\]+$/i, "must be an https address")
  .meta({
    description:
      "An https address without credentials and fragment, whose host has a public address. Redirects are not followed.",
    format: "uri",
    examples: ["https://hooks.example.org/joypod"],
  });
const description = name(webhook.descriptionMaxLength).meta({
  description: "The partner's note.",
  examples: ["Build server"],
});
const events = z
  .array(z.enum(webhookEventTypes))
  .max(webhookEventTypes.length)
  .meta({ description: "The events to send. Empty for all, including future ones." });
const enabled = z.boolean().meta({ description: "Whether events are sent." });

export const CreateWebhookRequest = z
  .strictObject({
    url,
    description: description.optional(),
    events: events.optional(),
    enabled: enabled.optional(),
  })
  .meta({ id: "CreateWebhookRequest" });
export type CreateWebhookRequest = z.infer<typeof CreateWebhookRequest>;

export const PatchWebhookRequest = z
  .strictObject({
    url: url.optional(),
    description: description.optional(),
    events: events.optional(),
    enabled: enabled.optional(),
  })
  .meta({ id: "PatchWebhookRequest", description: "Omitted fields keep their value." });
export type PatchWebhookRequest = z.infer<typeof PatchWebhookRequest>;

const webhookShape = {
  id: z.string().meta({ examples: ["7c1d2b0e-31a7-4b52-a1c4-5f2f0a8f9e11"] }),
  url,
  description,
  events,
  enabled,
  disabledReason: z
    .enum(["failing", "gone"])
    .nullable()
    .meta({
      description: `Why it was disabled automatically: every attempt of ${webhook.failingDays} days failed, or it answered 410.`,
    }),
  createdAt: isoMoment,
  lastSuccessAt: isoMoment.nullable(),
  failingSince: isoMoment.nullable().meta({ description: "Since when every attempt has failed." }),
  waiting: z.int().min(0).meta({ description: "Deliveries that have not succeeded yet and are retried." }),
  droppedEvents: z
    .int()
    .min(0)
    .meta({
      description: `Events that were not recorded because ${webhook.queue} deliveries were waiting.`,
    }),
  previousSecretUntil: isoMoment
    .nullable()
    .meta({ description: "Until when deliveries are also signed with the secret before the last rotation." }),
};

export const Webhook = z
  .object(webhookShape)
  .meta({ id: "Webhook", description: "An endpoint that receives a partner's events." });
export type Webhook = z.infer<typeof Webhook>;

export const WebhookWithSecret = z
  .object({
    ...webhookShape,
    secret: z.string().meta({
      description: "The signing secret, which is shown only once.",
      examples: ["whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oD"],
    }),
  })
  .meta({ id: "WebhookWithSecret", description: "An endpoint with its new signing secret." });
export type WebhookWithSecret = z.infer<typeof WebhookWithSecret>;

export const WebhooksResponse = z
  .object({ webhooks: z.array(Webhook).max(webhook.endpoints) })
  .meta({ id: "Webhooks", description: "The partner's endpoints, oldest first." });
export type WebhooksResponse = z.infer<typeof WebhooksResponse>;

const DeliveryStatus = z.enum(["pending", "succeeded", "failed"]);
export type DeliveryStatus = z.infer<typeof DeliveryStatus>;

export const WebhookDelivery = z
  .object({
    id: z.string().meta({
      description: "The header `webhook-id`, the same in every attempt.",
      examples: ["msg_0f6b2c1e8d4a4c559f0e3f1b7a9c2d10"],
    }),
    type: z.string().meta({ examples: ["version.uploaded"] }),
    status: DeliveryStatus,
    createdAt: isoMoment,
    attempts: z.int().min(0),
    lastAttemptAt: isoMoment.nullable(),
    nextAttemptAt: isoMoment.nullable().meta({ description: "Only while `pending`." }),
    responseStatus: z
      .int()
      .nullable()
      .meta({ description: "Of the last attempt; null if there was no response.", examples: [500] }),
    response: z
      .string()
      .nullable()
      .meta({ description: `The first ${webhook.responseBytes} bytes of the last response.` }),
    error: z
      .string()
      .nullable()
      .meta({ description: "Why the last attempt failed.", examples: ["The response had the status 500."] }),
    data: z.record(z.string(), z.unknown()).meta({ description: "The event's `data`." }),
  })
  .meta({ id: "WebhookDelivery", description: "An event on its way to an endpoint." });
export type WebhookDelivery = z.infer<typeof WebhookDelivery>;

export const WebhookDeliveriesQuery = z.strictObject({
  status: DeliveryStatus.optional().meta({ description: "Only deliveries with this status." }),
  cursor: z
    .string()
    .regex(/^[1-9]\d{0,17}$/, "must be the nextCursor of a response")
    .optional()
    .meta({
      description: "The `nextCursor` of the page before. Send the same filters.",
      examples: ["4711"],
    }),
  limit: pageNumber
    .transform((size) => Math.min(size, webhook.pageSizeMax))
    .default(webhook.pageSizeDefault)
    .meta({
      description: `Deliveries per page. Larger values are lowered to ${webhook.pageSizeMax}.`,
      override: { default: webhook.pageSizeDefault },
    }),
});
export type WebhookDeliveriesQuery = z.infer<typeof WebhookDeliveriesQuery>;

export const WebhookDeliveriesResponse = z
  .object({
    deliveries: z.array(WebhookDelivery).max(webhook.pageSizeMax),
    nextCursor: z.string().nullable().meta({ description: "Null on the last page." }),
  })
  .meta({
    id: "WebhookDeliveries",
    description: `The deliveries of ${webhook.keptDays} days, newest first.`,
  });
export type WebhookDeliveriesResponse = z.infer<typeof WebhookDeliveriesResponse>;

export const WebhookParams = z.object({ webhookId: opaqueId });
export const WebhookDeliveryParams = z.object({ webhookId: opaqueId, deliveryId: opaqueId });
