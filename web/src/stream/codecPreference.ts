/** The fields of RTCRtpCodec that decide the order. */
export interface CodecChoice {
  mimeType: string;
  sdpFmtpLine?: string;
}

/** Repair formats are offered with every codec. */
const repairFormat = /^video\/(rtx|red|ulpfec|flexfec-03)$/i;

/**
 * Returns the video codecs to offer, best first: H.264 in the form that streamers send (constrained baseline, packetization
 * mode 1), other H.264, VP8. Returns no codecs when the browser has none of these; then no preference must be set.
 */
export function preferredCodecs<Codec extends CodecChoice>(available: readonly Codec[]): Codec[] {
  const ranked = available
    .map((codec) => ({ codec, rank: rankOf(codec) }))
    .filter(({ rank }) => rank < unwanted)
    .sort((first, second) => first.rank - second.rank);
  if (ranked.length === 0) return [];
  return [...ranked.map(({ codec }) => codec), ...available.filter(({ mimeType }) => repairFormat.test(mimeType))];
}

const unwanted = 3;

function rankOf({ mimeType, sdpFmtpLine = "" }: CodecChoice): number {
  if (/^video\/h264$/i.test(mimeType)) {
    return sdpFmtpLine.includes("packetization-mode=1") && /profile-level-id=42e0/i.test(sdpFmtpLine) ? 0 : 1;
  }
  return /^video\/vp8$/i.test(mimeType) ? 2 : unwanted;
}
