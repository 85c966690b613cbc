const opusFormat = /^a=rtpmap:(\d+) opus\/48000\/2$/im;

/**
 * Returns the offer with Opus in stereo. Chromium's and Safari's decoder has as many channels as the page's
 * own offer says, which is one unless it says `stereo=1`: it mixes left and right together, whatever the
 * streamer answers and sends.
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
