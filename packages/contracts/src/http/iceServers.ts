import { z } from "zod";

export const IceServer = z
  .object({
    urls: z
      .array(z.string())
      .min(1)
      .meta({
        examples: [
          ["turn:turn.joypod.example:3478?transport=udp", "turns:turn.joypod.example:443?transport=tcp"],
        ],
      }),
    username: z
      .string()
      .optional()
      .meta({ examples: ["1800000000:cm3qk1x2v0001"] }),
    credential: z.string().optional(),
  })
  .meta({ id: "IceServer", description: "A relay, in the form of an `RTCIceServer`." });
export type IceServer = z.infer<typeof IceServer>;

export const IceServersResponse = z
  .object({
    iceServers: z.array(IceServer).meta({ description: "Empty if there is no relay." }),
    expiresInSeconds: z
      .int()
      .min(1)
      .meta({
        description: "When the credentials expire. Existing connections continue.",
        examples: [3600],
      }),
  })
  .meta({
    id: "IceServers",
    description: "Relays for connections that cannot reach a game server directly.",
  });
export type IceServersResponse = z.infer<typeof IceServersResponse>;
