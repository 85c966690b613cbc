import { z } from "zod";
import { StreamCodec } from "#contracts/crd/gameSessionSpec.ts";
import { codecEncodingNames, softwareCodecs } from "#contracts/videoCodec.ts";
import { listed } from "#runtime/program/readEnvironment.ts";

/**
 * The list of a site's codecs, in order of preference, as a variable has it. Those that GPUs alone encode go
 * with one that every node does.
 */
export const streamCodecs = z
  .string()
  .default("H264,VP8")
  .transform(listed)
  .pipe(z.array(StreamCodec))
  .refine((codecs) => new Set(codecs).size === codecs.length, "must name no codec twice")
  .refine(
    (codecs) => softwareCodecs.some((codec) => codecs.includes(codecEncodingNames[codec])),
    "must name H264 or VP8 too, which every node encodes and every browser decodes",
  );
