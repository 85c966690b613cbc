import { z } from "zod";

/**
 * Video codecs by their names in the streamer's CODECS list, in the order in which browsers offer them. Only
 * GPUs encode H.265 and AV1.
 */
export const VideoCodec = z.enum(["h264", "h265", "av1", "vp8"]);
export type VideoCodec = z.infer<typeof VideoCodec>;

/** The codecs that every node can encode, with or without a GPU. */
export const softwareCodecs: readonly VideoCodec[] = ["h264", "vp8"];

/** Names of the codecs in SDP (`a=rtpmap`) and in MIME types, which ignore case. */
export const codecEncodingNames = {
  h264: "H264",
  h265: "H265",
  av1: "AV1",
  vp8: "VP8",
} as const satisfies Record<VideoCodec, string>;

/**
 * Returns whether streamers send a codec with these format parameters (`a=fmtp`, `sdpFmtpLine`). H.264 must
 * be constrained baseline in single or fragmented packets, which every browser with H.264 decodes. H.265 and
 * AV1 must have the main profile, which is the default if the parameters name none.
 */
export function isSentFormat(codec: VideoCodec, parameters: string): boolean {
  const valueOf = (name: string): string | undefined =>
    new RegExp(`(?:^|;)\\s*${name}=([^;\\s]*)`, "i").exec(parameters)?.[1];
  switch (codec) {
    case "h264":
      return valueOf("packetization-mode") === "1" && /^42e0/i.test(valueOf("profile-level-id") ?? "");
    case "h265":
      return (
        (valueOf("profile-id") ?? "1") === "1" && (valueOf("tx-mode") ?? "SRST").toUpperCase() === "SRST"
      );
    case "av1":
      return (valueOf("profile") ?? "0") === "0";
    case "vp8":
      return true;
  }
}
