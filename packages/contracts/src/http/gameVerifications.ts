import { z } from "zod";
import { limits } from "../limits.ts";
import { RefusalKind } from "../observations.ts";
import { GameVersionParams, VersionVerification } from "./gameVersions.ts";
import { isoMoment } from "./text.ts";

const { pictureSeconds, refusals } = limits.verification;

const { state, verdict } = VersionVerification.shape;

export const findingCodes = [
  "not_started",
  "library_missing",
  "exited",
  "crashed",
  "out_of_memory",
  "launcher_exited",
  "no_window",
  "no_picture",
  "still_picture",
  "low_frame_rate",
  "killed_at_end",
  "optional_library_missing",
  "write_refused",
  "network_refused",
  "call_refused",
  "not_observed",
  "folder_full",
  "save_failed",
  "nothing_saved",
  "silent",
] as const;

export const VerificationFinding = z
  .object({
    code: z.enum(findingCodes).meta({ examples: ["write_refused"] }),
    severity: z
      .enum(["error", "warning", "info"])
      .meta({ description: "Errors make the verdict bad.", examples: ["warning"] }),
    message: z.string().meta({
      examples: ["The game tried to write where it cannot. Only HOME is kept, and /tmp for caches."],
    }),
    details: z
      .array(z.string())
      .max(refusals)
      .meta({ description: "For example paths, libraries or addresses.", examples: [["/game/save.dat"]] }),
    help: z.string().meta({
      description: "The section of docs/games.md that helps.",
      examples: ["docs/games.md#what-a-game-cannot-do"],
    }),
  })
  .meta({
    id: "VerificationFinding",
    description: "Something that a player would notice, or that a partner should know.",
  });
export type VerificationFinding = z.infer<typeof VerificationFinding>;

const seconds = z.number().min(0);

/** What was measured. It is stored as it is sent. */
export const VerificationReport = z
  .object({
    playedSeconds: seconds.meta({ description: "How long the game ran.", examples: [61.2] }),
    firstWindowSeconds: seconds.nullable().meta({ description: "From the game's start.", examples: [1.9] }),
    firstPictureSeconds: seconds
      .nullable()
      .meta({ description: "When the display first showed more than one colour.", examples: [2.3] }),
    framesPerSecond: z
      .number()
      .min(0)
      .nullable()
      .meta({ description: "Changes of the picture per second. Null without a picture.", examples: [59.8] }),
    hasSound: z.boolean(),
    hasOpenedGamepad: z.boolean(),
    exit: z
      .object({
        reason: z.string().meta({ description: "`stopped` after a normal end.", examples: ["stopped"] }),
        code: z
          .int()
          .nullable()
          .meta({ examples: [0] }),
        endedBy: z
          .string()
          .nullable()
          .meta({
            description: "`itself`, `close-request`, `sigterm` or `sigkill`.",
            examples: ["close-request"],
          }),
      })
      .nullable()
      .meta({ description: "Null if the game never started or its end was not seen." }),
    peakMemoryMb: z
      .number()
      .min(0)
      .nullable()
      .meta({ examples: [412.5] }),
    save: z
      .object({
        bytes: z
          .int()
          .min(0)
          .meta({ description: "Size of the stored archive.", examples: [4096] }),
        restores: z.boolean().meta({ description: "Whether the archive passes the check of a restore." }),
      })
      .nullable()
      .meta({ description: "Null if the game saved nothing." }),
    refusals: z
      .array(z.object({ kind: RefusalKind, detail: z.string() }))
      .max(refusals)
      .meta({ description: "What the game was refused, lacked, or got from an emulation." }),
    pictures: z
      .array(z.int())
      .max(pictureSeconds.length)
      .meta({
        description: "Seconds at which pictures were taken. They are kept for a week.",
        examples: [[...pictureSeconds]],
      }),
    log: z.string().meta({ description: "The end of the game's output.", examples: ["loading level 1\n"] }),
  })
  .meta({ id: "VerificationReport", description: "What the platform saw when it played the version." });
export type VerificationReport = z.infer<typeof VerificationReport>;

export const GameVerification = z
  .object({
    state,
    verdict,
    isRequired: z
      .boolean()
      .meta({ description: "Whether the version becomes current after a good verdict." }),
    requestedAt: isoMoment,
    startedAt: isoMoment.nullable(),
    finishedAt: isoMoment.nullable(),
    findings: z.array(VerificationFinding).max(findingCodes.length),
    report: VerificationReport.nullable().meta({ description: "Null until there is a verdict." }),
  })
  .meta({ id: "GameVerification", description: "The last verification of a version." });
export type GameVerification = z.infer<typeof GameVerification>;

/** What the database keeps of a verdict. */
export const StoredVerdict = z.object({
  findings: z.array(VerificationFinding),
  report: VerificationReport,
});
export type StoredVerdict = z.infer<typeof StoredVerdict>;

export const VerificationPictureParams = GameVersionParams.extend({
  seconds: z.enum(pictureSeconds.map(String)).meta({ description: "When the picture was taken." }),
});
