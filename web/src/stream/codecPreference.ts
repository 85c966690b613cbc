import { codecEncodingNames, isSentFormat, VideoCodec } from "#contracts/videoCodec.ts";

/** The fields of RTCRtpCodec that decide the order. */
export interface CodecChoice {
  mimeType: string;
  sdpFmtpLine?: string;
}

/** Repair formats are offered with every codec. */
const repairFormat = /^video\/(rtx|red|ulpfec|flexfec-03)$/i;

/**
 * Returns the video codecs to offer: those that streamers send, in the order of VideoCodec, each first in the
 * format that streamers send. Other codecs are omitted. If the list is empty, the preference should not be
 * set.
 */
export function preferredCodecs<Codec extends CodecChoice>(available: readonly Codec[]): Codec[] {
  const ranked = available
    .map((codec) => ({ codec, rank: rankOf(codec) }))
    .filter(({ rank }) => rank < unwanted)
    .sort((first, second) => first.rank - second.rank);
  if (ranked.length === 0) return [];
  return [
    ...ranked.map(({ codec }) => codec),
    ...available.filter(({ mimeType }) => repairFormat.test(mimeType)),
  ];
}

const unwanted = 2 * VideoCodec.options.length;

function rankOf({ mimeType, sdpFmtpLine = "" }: CodecChoice): number {
  const codec = VideoCodec.options.find(
    (name) => mimeType.toLowerCase() === `video/${codecEncodingNames[name].toLowerCase()}`,
  );
  if (codec === undefined) return unwanted;
  return 2 * VideoCodec.options.indexOf(codec) + (isSentFormat(codec, sdpFmtpLine) ? 0 : 1);
}
