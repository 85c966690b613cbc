import { codecEncodingNames, isSentFormat, VideoCodec } from "#contracts/videoCodec.ts";
import { invalidOffer } from "../errors.ts";
import { audioClockRate, videoClockRate } from "../rtp/rtpPacket.ts";

const maxSections = 16;

/** Header extensions that a browser may offer and the streamer writes. */
export const extensionUris = {
  transportSequence: "http://www.ietf.org/id/draft-holmer-rmcat-transport-wide-cc-extensions-01",
  playoutDelay: "http://www.webrtc.org/experiments/rtp-hdrext/playout-delay",
} as const;

/** An offered video codec: its payload type and format parameters. */
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
  /** The offer for the transport, without candidates. */
  sdp: string;
  video: OfferedMedia & { codecs: OfferedCodec[] };
  audio:
    | (OfferedMedia & {
        payloadType: number;
        /** Payload type of redundant Opus (RFC 2198); undefined when not offered. */
        redundantPayloadType: number | undefined;
      })
    | undefined;
}

/**
 * Parses a browser's offer.
 *
 * @throws DomainError invalid_offer, which says what is missing.
 */
export function parseOffer(text: string): Offer {
  const lines = readLines(text);
  const sections = splitSections(lines);
  if (sections.length > maxSections)
    throw invalidOffer(`The offer has more than ${maxSections} media sections.`);
  const video = findOnlySection(sections, "video");
  const audio = findOnlySection(sections, "audio");
  if (!video) throw invalidOffer("The offer has no video.");
  return {
    sdp: buildTransportOffer(lines),
    video: { ...readMedia(video), codecs: readCodecs(video) },
    audio: audio && readAudio(audio),
  };
}

/**
 * Returns the lines of a session description that has everything a connection needs.
 *
 * @throws DomainError invalid_offer, also when parsers would disagree about its lines: some drop a lone
 *   carriage return, others end the line there.
 */
export function readLines(text: string): string[] {
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
 * Returns the offer for the transport. Candidates are removed: the browser's address is learned from its
 * packets, and candidates could direct packets at other hosts.
 */
export function buildTransportOffer(lines: readonly string[]): string {
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

function findOnlySection(sections: string[][], kind: string): string[] | undefined {
  const matching = sections.filter(([first]) => first?.startsWith(`m=${kind} `));
  if (matching.length > 1) throw invalidOffer(`The offer has more than one ${kind} section.`);
  return matching[0];
}

function readMedia(section: string[]): OfferedMedia {
  const mid = readAttributes(section, "mid")[0];
  if (mid === undefined || !/^[A-Za-z0-9_-]{1,32}$/.test(mid))
    throw invalidOffer("A media section has no usable mid.");
  const extensions: OfferedMedia["extensions"] = {};
  for (const value of readAttributes(section, "extmap")) {
    const [, number, uri] = /^(\d{1,2})(?:\/\w+)? (\S+)/.exec(value) ?? [];
    const id = Number(number);
    if (!(id >= 1 && id <= 14)) continue; // The one-byte header form allows only these ids.
    if (uri === extensionUris.transportSequence) extensions.transportSequence = id;
    if (uri === extensionUris.playoutDelay) extensions.playoutDelay = id;
  }
  return { mid, extensions };
}

/** Returns each codec that the streamer sends, with the first payload type whose format it supports. */
function readCodecs(section: string[]): OfferedCodec[] {
  return VideoCodec.options.flatMap((codec) => {
    const offered = findPayloadTypes(section, `${codecEncodingNames[codec]}/${videoClockRate}`).map(
      (payloadType) => ({ codec, payloadType, parameters: readParameters(section, payloadType) }),
    );
    return offered.filter(({ parameters }) => isSentFormat(codec, parameters)).slice(0, 1);
  });
}

function readAudio(section: string[]): Offer["audio"] {
  // Opus always has two channels, but GStreamer's WHEP source omits them.
  const [payloadType] = [`opus/${audioClockRate}/2`, `opus/${audioClockRate}`].flatMap((encoding) =>
    findPayloadTypes(section, encoding),
  );
  if (payloadType === undefined) throw invalidOffer("The offer's audio does not include Opus.");
  const redundantPayloadType = findPayloadTypes(section, `red/${audioClockRate}/2`).find((redundant) =>
    readParameters(section, redundant)
      .split("/")
      .every((part) => part === String(payloadType)),
  );
  return { ...readMedia(section), payloadType, redundantPayloadType };
}

function findPayloadTypes(section: string[], encoding: string): number[] {
  return readAttributes(section, "rtpmap").flatMap((value) => {
    const [number, name] = value.split(" ");
    const payloadType = Number(number);
    const matches = name?.toLowerCase() === encoding.toLowerCase() && payloadType >= 0 && payloadType <= 127;
    return matches ? [payloadType] : [];
  });
}

function readParameters(section: string[], payloadType: number): string {
  const prefix = `${payloadType} `;
  return (
    readAttributes(section, "fmtp")
      .find((value) => value.startsWith(prefix))
      ?.slice(prefix.length)
      .trim() ?? ""
  );
}

function readAttributes(section: string[], attribute: string): string[] {
  const prefix = `a=${attribute}:`;
  return section.filter((line) => line.startsWith(prefix)).map((line) => line.slice(prefix.length));
}

/**
 * Priority of the first host candidate (RFC 8445). Each further address has the next lower local preference.
 */
const hostPriority = 2_122_317_823;
const localPreference = 256;

/**
 * Replaces the gathered candidates of an SDP answer with one per address, most likely first. These are the
 * addresses and the port on which the node forwards packets to this pod, which the pod cannot see.
 */
export function announceAddresses(sdp: string, addresses: readonly string[], port: number): string {
  const lines = removeCandidates(sdp);
  const firstMedia = lines.findIndex((line) => line.startsWith("m="));
  const secondMedia = lines.findIndex((line, index) => index > firstMedia && line.startsWith("m="));
  const end = secondMedia === -1 ? lines.length : secondMedia; // All media share the first one's transport.
  const candidates = addresses.map(
    (address, index) =>
      `a=candidate:${index + 1} 1 UDP ${hostPriority - index * localPreference} ${address} ${port} typ host`,
  );
  return (
    [...lines.slice(0, end), ...candidates, "a=end-of-candidates", ...lines.slice(end)].join("\r\n") + "\r\n"
  );
}

/** Returns the lines of a session description without candidates. */
export function removeCandidates(sdp: string): string[] {
  return sdp.split(/\r?\n/).filter((line) => line !== "" && !/^a=(candidate:|end-of-candidates)/.test(line));
}
