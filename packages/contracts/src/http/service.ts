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
            description: "What the admin says of it; null when nothing.",
            examples: ["We are back at 14:00."],
          }),
      })
      .nullable()
      .meta({
        description:
          "Set while no game can be launched because an admin works on the service; sessions that run go on.",
      }),
  })
  .meta({ id: "ServiceStatus", description: "What players should know of the service." });
export type ServiceStatusResponse = z.infer<typeof ServiceStatusResponse>;

/**
 * Day of the interface's newest change, told by every response and by the OpenAPI document. Nothing is ever
 * taken away without notice.
 */
export const apiVersion = "2026-11-28";
