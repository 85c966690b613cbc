import { z } from "zod";
import { isoMoment } from "./text.ts";

/** `GET /api/status`. */
export const ServiceStatusResponse = z
  .object({
    maintenance: z
      .object({
        since: isoMoment.meta({ description: "When it began." }),
        message: z
          .string()
          .nullable()
          .meta({
            description: "The admin's message, or null.",
            examples: ["We are back at 14:00."],
          }),
      })
      .nullable()
      .meta({
        description: "Set during maintenance. No game can be launched then, but running sessions continue.",
      }),
  })
  .meta({ id: "ServiceStatus", description: "The status of the service for players." });
export type ServiceStatusResponse = z.infer<typeof ServiceStatusResponse>;

/**
 * Date of the latest change of the HTTP interface, in every response and in the OpenAPI document. Nothing is
 * removed without notice.
 */
export const apiVersion = "2026-11-29";
