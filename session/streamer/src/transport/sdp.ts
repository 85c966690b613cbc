import { codecEncodingNames, isSentFormat, VideoCodec } from "#contracts/videoCodec.ts";
import { invalidOffer } from "../errors.ts";
import { audioClockRate, videoClockRate } from "../rtp/rtpPacket.ts";

const maxSections = 16;

/** Header extensions that a browser may offer and the streamer writes. */
export const extensionUris = {
  transportSequence: "http://www.ietf.org/id/draft-holmer-rmcat-transport-wide-cc-extensions-01",
  playoutDelay: "http://www.webrtc.org/experiments/rtp-hdrext/playout-delay",
} as const;

/** A video codec of the offer: its payload type and format parameters. */
export interface OfferedCodec {
  codec: VideoCodec;
  payloadType: number;
  parameters: string;
}

interface OfferedMedia {
  mid: string;
  /** Extension ids; undefined when not offered. */
  extensions: Partial<Record<keyof typeof extensionUris, number>>;
}

/** The parts of an offer that the streamer needs. */
export interface Offer {
  /** The offer for the transport, without its candidates. */
  sdp: string;
  video: OfferedMedia & { codecs: OfferedCodec[] };
  audio:
    | (OfferedMedia & {
        payloadType: number;
        /** Redundant audio (RFC 2198) around Opus; undefined when not offered. */
        redundantPayloadType: number | undefined;
      })
    | undefined;
}

/** Returns the parts of a browser's offer. Throws InvalidOffer, which says what is missing. */
export function parseOffer(text: string): Offer {
  const lines = linesOfOffer(text);
  const sections = splitSections(lines);
  if (sections.length > maxSections)
    throw invalidOffer(`The offer has more than ${maxSections} media sections.`);
  const video = onlySection(sections, "video");
  const audio = onlySection(sections, "audio");
  if (!video) throw invalidOffer("The offer has no video.");
  return {
    sdp: withoutCandidates(lines),
    video: { ...readMedia(video), codecs: readCodecs(video) },
    audio: audio && readAudio(audio),
  };
}

/**
 * Returns the lines of a session description that has what every connection needs. Throws InvalidOffer for
 * what is none, also where parsers would see different lines in it: one drops a carriage return that stands
 * alone, another ends the line there.
 */
export function linesOfOffer(text: string): string[] {
  if (!text.startsWith("v=0") || /[^\t\r\n\x20-\x7e]|\r(?!\n)/.test(text))
    throw invalidOffer("The body is not a session description.");
  const lines = text.split(/\r?\n/).filter((line) => line !== "");
  for (const attribute of ["ice-ufrag", "ice-pwd", "fingerprint"]) {
    if (!lines.some((line) => line.startsWith(`a=${attribute}:`)))
      throw invalidOffer(`The offer has no ${attribute}.`);
  }
  return lines;
}

/**
 * Returns the offer for the transport: a browser's address is learned from its packets, its candidates would
 * only let an offer direct packets at other hosts.
 */
export function withoutCandidates(lines: readonly string[]): string {
  return lines.filter((line) => !line.includes("candidate:")).join("\r\n") + "\r\n";
}

function splitSections(lines: string[]): string[][] {
  const sections: string[][] = [];
  for (const line of lines) {
    if (line.startsWith("m=")) sections.push([]);
    sections.at(-1)?.push(line);
  }
  return sections;
}

function onlySection(sections: string[][], kind: string): string[] | undefined {
  const matching = sections.filter(([first]) => first?.startsWith(`m=${kind} `));
  if (matching.length > 1) throw invalidOffer(`The offer has more than one ${kind} section.`);
  return matching[0];
}

function readMedia(section: string[]): OfferedMedia {
  const mid = valuesOf(section, "mid")[0];
  if (mid === undefined || !/^[A-Za-z0-9_-]{1,32}$/.test(mid))
    throw invalidOffer("A media section has no usable mid.");
  const extensions: OfferedMedia["extensions"] = {};
  for (const value of valuesOf(section, "extmap")) {
    const [, number, uri] = /^(\d{1,2})(?:\/\w+)? (\S+)/.exec(value) ?? [];
    const id = Number(number);
    if (!(id >= 1 && id <= 14)) continue; // The one-byte header form has only these ids.
    if (uri === extensionUris.transportSequence) extensions.transportSequence = id;
    if (uri === extensionUris.playoutDelay) extensions.playoutDelay = id;
  }
  return { mid, extensions };
}

/**
 * Returns each codec that the streamer sends, with the first payload type that offers it in a format the
 * streamer sends.
 */
function readCodecs(section: string[]): OfferedCodec[] {
  return VideoCodec.options.flatMap((codec) => {
    const offered = payloadTypesOf(section, `${codecEncodingNames[codec]}/${videoClockRate}`).map(
      (payloadType) => ({ codec, payloadType, parameters: parametersOf(section, payloadType) }),
    );
    return offered.filter(({ parameters }) => isSentFormat(codec, parameters)).slice(0, 1);
  });
}

function readAudio(section: string[]): Offer["audio"] {
  // Opus has two channels always; GStreamer's WHEP source leaves them out.
  const [payloadType] = [`opus/${audioClockRate}/2`, `opus/${audioClockRate}`].flatMap((encoding) =>
    payloadTypesOf(section, encoding),
  );
  if (payloadType === undefined) throw invalidOffer("The offer's audio has no Opus.");
  const redundantPayloadType = payloadTypesOf(section, `red/${audioClockRate}/2`).find((redundant) =>
    parametersOf(section, redundant)
      .split("/")
      .every((part) => part === String(payloadType)),
  );
  return { ...readMedia(section), payloadType, redundantPayloadType };
}

function payloadTypesOf(section: string[], encoding: string): number[] {
  return valuesOf(section, "rtpmap").flatMap((value) => {
    const [number, name] = value.split(" ");
    const payloadType = Number(number);
    const matches = name?.toLowerCase() === encoding.toLowerCase() && payloadType >= 0 && payloadType <= 127;
    return matches ? [payloadType] : [];
  });
}

function parametersOf(section: string[], payloadType: number): string {
  const prefix = `${payloadType} `;
  return (
    valuesOf(section, "fmtp")
      .find((value) => value.startsWith(prefix))
      ?.slice(prefix.length)
      .trim() ?? ""
  );
}

function valuesOf(section: string[], attribute: string): string[] {
  const prefix = `a=${attribute}:`;
  return section.filter((line) => line.startsWith(prefix)).map((line) => line.slice(prefix.length));
}

/**
 * Priority of the first host candidate, as RFC 8445 computes it; each further address has the next lower
 * local preference.
 */
const hostPriority = 2_122_317_823;
const localPreference = 256;

/**
 * Returns the SDP answer with a candidate for each address, the most likely one first, in place of those
 * gathered. The addresses and the port are those at which the node lets packets into this pod, which the pod
 * itself cannot see.
 */
export function announceAddresses(sdp: string, addresses: readonly string[], port: number): string {
  const lines = linesWithoutCandidates(sdp);
  const firstMedia = lines.findIndex((line) => line.startsWith("m="));
  const secondMedia = lines.findIndex((line, index) => index > firstMedia && line.startsWith("m="));
  const end = secondMedia === -1 ? lines.length : secondMedia; // all media share the first one's transport
  const candidates = addresses.map(
    (address, index) =>
      `a=candidate:${index + 1} 1 UDP ${hostPriority - index * localPreference} ${address} ${port} typ host`,
  );
  return (
    [...lines.slice(0, end), ...candidates, "a=end-of-candidates", ...lines.slice(end)].join("\r\n") + "\r\n"
  );
}

/** Returns the lines of a session description that name no candidates. */
export function linesWithoutCandidates(sdp: string): string[] {
  return sdp.split(/\r?\n/).filter((line) => line !== "" && !/^a=(candidate:|end-of-candidates)/.test(line));
}
