const opusFormat = /^a=rtpmap:(\d+) opus\/48000\/2$/im;

/**
 * Returns the offer with Opus in stereo. The decoders of Chromium and Safari have as many channels as the
 * page's offer declares, which is one without `stereo=1`: they mix left and right, whatever the streamer
 * sends.
 */
export function withStereo(sdp: string): string {
  return sdp
    .split(/^(?=m=)/m)
    .map(withStereoOpus)
    .join("");
}

function withStereoOpus(section: string): string {
  const [, payloadType] = opusFormat.exec(section) ?? [];
  if (payloadType === undefined) return section;
  const parameters = new RegExp(`^a=fmtp:${payloadType} .*$`, "m");
  if (!parameters.test(section)) return section.replace(opusFormat, `$&\r\na=fmtp:${payloadType} stereo=1`);
  return section.replace(parameters, (line) => (/[ ;]stereo=/.test(line) ? line : `${line};stereo=1`));
}
