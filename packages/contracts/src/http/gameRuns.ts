import { z } from "zod";
import { limits } from "../limits.ts";
import { GameFolder } from "../termination.ts";
import { pageNumber } from "./catalog.ts";
import { GameSessionEndReason, PublicGameSessionStatus } from "./gameSessions.ts";
import { isoMoment, opaqueId, slug } from "./text.ts";

const { run } = limits;

const runId = "gs-7k2m9q4x1v8c";
const versionId = "0f6b2c1e-8d4a-4c55-9f0e-3f1b7a9c2d10";

const day = z.iso.date().refine((text) => text >= "2000-01-01", "must be a day since 2000");
const from = day.optional().meta({
  description: "The first day (UTC) on which listed runs started.",
  examples: ["2026-11-01"],
});
const to = day.optional().meta({
  description: "The last day (UTC) on which listed runs started.",
  examples: ["2026-11-30"],
});

/** Query of `GET /api/partners/games/{slug}/runs`, as strings. */
export const GameRunsQuery = z.strictObject({
  limit: pageNumber
    .transform((size) => Math.min(size, run.pageSizeMax))
    .default(run.pageSizeDefault)
    .meta({
      description: `Runs per page. Larger values are lowered to ${run.pageSizeMax}.`,
      override: { default: run.pageSizeDefault },
    }),
  cursor: z
    .string()
    .max(128)
    .regex(/^[A-Za-z0-9_-]+$/, "must be the nextCursor of a response")
    .optional()
    .meta({ description: "The `nextCursor` of the page before. Send the same filters." }),
  gameVersionId: opaqueId
    .optional()
    .meta({ description: "A version, to list only its runs.", examples: [versionId] }),
  from,
  to,
  crashed: z
    .literal("true")
    .optional()
    .meta({ description: "With `true`, only runs that crashed are listed.", examples: ["true"] }),
});
export type GameRunsQuery = z.infer<typeof GameRunsQuery>;

/** Query of `GET …/runs/totals`, as strings. */
export const GameRunTotalsQuery = z.strictObject({
  from: from.meta({ description: `Default: ${run.totalsDaysDefault - 1} days before \`to\`.` }),
  to: to.meta({
    description: `Default: today. The range has at most ${run.totalsDaysMax} days.`,
  }),
});
export type GameRunTotalsQuery = z.infer<typeof GameRunTotalsQuery>;

export const GameRunParams = z.object({ slug, runId: opaqueId });

const seconds = z.number().min(0);
const version = {
  gameVersionId: z.string().meta({ description: "The version that was played.", examples: [versionId] }),
  versionLabel: z
    .string()
    .nullable()
    .meta({ examples: ["1.4.2"] }),
};

const GameRunStream = z
  .object({
    firstPictureSeconds: seconds.nullable().meta({
      description: "Seconds from the launch until the first picture was sent. Null if none was.",
      examples: [7.4],
    }),
    viewedSeconds: seconds.meta({ description: "Seconds with a connected browser.", examples: [1810.2] }),
    averageFps: z
      .number()
      .min(0)
      .meta({ examples: [59.2] }),
    averageKbps: z
      .number()
      .min(0)
      .meta({ description: "Video in kbit/s.", examples: [7_850] }),
    averageLoss: z
      .number()
      .min(0)
      .max(1)
      .meta({ description: "Share of packets that were lost, from 0 to 1.", examples: [0.002] }),
    width: z
      .int()
      .min(1)
      .meta({ description: "Width of the last picture in pixels.", examples: [1920] }),
    height: z
      .int()
      .min(1)
      .meta({ description: "Height of the last picture in pixels.", examples: [1080] }),
  })
  .meta({ id: "GameRunStream", description: "The stream while it was viewed." });

export const GameRun = z
  .object({
    id: z.string().meta({ examples: [runId] }),
    ...version,
    status: PublicGameSessionStatus,
    startedAt: isoMoment,
    readyAt: isoMoment.nullable().meta({ description: "Null unless the game could be played." }),
    endedAt: isoMoment.nullable().meta({ description: "Null until the run has ended." }),
    playSeconds: seconds.nullable().meta({
      description: "How long the game could be played, in seconds. Null until the run has ended.",
      examples: [1834.5],
    }),
    endReason: GameSessionEndReason.nullable().meta({ description: "Null before `stopping`." }),
    failure: z
      .object({
        reason: z.string().meta({
          description:
            "For the game's own failures `GameCrashed`, `OutOfMemory`, `LauncherExited` or `GameEndedEarly`. Others are the platform's.",
          examples: ["GameCrashed"],
        }),
        message: z
          .string()
          .nullable()
          .meta({
            description: "What happened. Null for failures of the platform.",
            examples: ["The game exited with code 139 (SIGSEGV)."],
          }),
      })
      .nullable()
      .meta({ description: "Null if the run did not fail." }),
    crashed: z
      .boolean()
      .meta({ description: "Whether the game itself failed, as `failure` says.", examples: [true] }),
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
      .meta({ description: "How the launcher ended. Null if the game was asked to end, or if unknown." }),
    endedBy: z
      .enum(["itself", "close_request", "sigterm", "sigkill"])
      .nullable()
      .meta({ description: "What ended the game's last process. Null if unknown." }),
    usage: z
      .object({
        cpuSeconds: seconds.meta({ examples: [912.4] }),
        peakMemoryMb: z
          .number()
          .min(0)
          .meta({ description: "In MiB.", examples: [1_204.5] }),
      })
      .nullable()
      .meta({ description: "What the game's container used. Null until the run has ended, or if unknown." }),
    fullFolders: z
      .array(GameFolder)
      .meta({ description: "Folders that had no room left at some time.", examples: [["home"]] }),
    stream: GameRunStream.nullable().meta({
      description:
        "Null until the run has ended, if it was never viewed, and often if the game crashed, because the run is over before the streamer reports.",
    }),
  })
  .meta({ id: "GameRun", description: "One session of a game, without anything about its player." });
export type GameRun = z.infer<typeof GameRun>;

export const GameRunsResponse = z
  .object({
    runs: z.array(GameRun).max(run.pageSizeMax),
    nextCursor: z.string().nullable().meta({ description: "Null on the last page." }),
  })
  .meta({ id: "GameRuns", description: "A page of a game's runs, newest first." });
export type GameRunsResponse = z.infer<typeof GameRunsResponse>;

const totals = {
  plays: z
    .int()
    .min(0)
    .meta({ description: "Runs in which the game could be played or crashed.", examples: [120] }),
  hours: z
    .number()
    .min(0)
    .meta({ description: "Total play time of ended runs.", examples: [48.25] }),
  players: z
    .int()
    .min(0)
    .meta({ description: "Number of different players.", examples: [64] }),
  crashes: z
    .int()
    .min(0)
    .meta({ examples: [3] }),
  crashRate: z
    .number()
    .min(0)
    .max(1)
    .meta({ description: "`crashes` / `plays`, or 0 without plays.", examples: [0.025] }),
};

export const GameRunTotalsResponse = z
  .object({
    from: z.iso.date(),
    to: z.iso.date(),
    total: z.object(totals).meta({ description: "Totals of the whole range." }),
    days: z
      .array(z.object({ day: z.iso.date(), ...version, ...totals }))
      .max(run.totalsRowsMax)
      .meta({ description: "One entry per day (UTC) and version with plays, newest day first." }),
  })
  .meta({ id: "GameRunTotals", description: "Plays of a game per day and version." });
export type GameRunTotalsResponse = z.infer<typeof GameRunTotalsResponse>;
