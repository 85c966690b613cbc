import { z } from "zod";
import { SaveSlotHistory } from "./saves.ts";
import { isoMoment } from "./text.ts";

/** Length of a token: 32 random bytes in base64url. */
const tokenLength = 43;

export const SaveLinkResponse = z
  .object({
    url: z.string().meta({
      description: "Give it to one player. The token is behind the `#`, so that it is in no log.",
      examples: ["https://joypod.example/save-link#q0r6Yd3kJx0b5v8m1c2n4w7z9a3e6t8u0i2o4p6s8d0"],
    }),
    expiresAt: isoMoment,
  })
  .meta({ id: "SaveLink", description: "A link that gives one other player a copy of a save, once." });
export type SaveLinkResponse = z.infer<typeof SaveLinkResponse>;

export const SaveLinkRequest = z
  .strictObject({
    token: z
      .string()
      .regex(new RegExp(`^[A-Za-z0-9_-]{${tokenLength}}$`), "must be the token of a link")
      .meta({ description: "The part of the link behind the `#`." }),
  })
  .meta({ id: "SaveLinkRequest" });
export type SaveLinkRequest = z.infer<typeof SaveLinkRequest>;

export const SharedSave = z
  .object({
    sender: z.object({ name: z.string().meta({ examples: ["Ada"] }) }),
    isOwn: z.boolean().meta({ description: "Whether the player has made this link." }),
    game: z.object({
      slug: z.string().meta({ examples: ["moonlight-drift"] }),
      title: z.string().meta({ examples: ["Moonlight Drift"] }),
      thumbnail: z.string().meta({ description: "Address of a picture, or empty." }),
    }),
    savedAt: isoMoment,
    playSeconds: z
      .number()
      .min(0)
      .meta({ description: "How long the sender had played by then, in seconds.", examples: [5_430] }),
    picture: z.string().optional().meta({
      description: "If a picture of that moment was stored: a `data:` URL of a small JPEG.",
    }),
    expiresAt: isoMoment,
  })
  .meta({ id: "SharedSave", description: "What a link offers." });
export type SharedSave = z.infer<typeof SharedSave>;

export const ReceivedSave = z
  .object({ gameSlug: z.string().meta({ examples: ["moonlight-drift"] }), slot: SaveSlotHistory })
  .meta({ id: "ReceivedSave", description: "The new slot with the copy." });
export type ReceivedSave = z.infer<typeof ReceivedSave>;
