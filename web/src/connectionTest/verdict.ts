import { softwareCodecs } from "#contracts/videoCodec.ts";
import { usedPath, type TestResult } from "./testResult.ts";

/** What a test means to the player: what will work, and one thing to try. */
export interface Verdict {
  tone: "good" | "fair" | "bad";
  sentence: string;
  advice: string;
}

/** From where on a figure is felt while playing. */
export const thresholds = { loss: 0.02, bandwidthKbps: 4_000, roundTripMs: 100 } as const;

/** Returns the verdict on a test: of the most serious thing that it found. */
export function verdictOf(result: TestResult): Verdict {
  const used = usedPath(result);
  if (used === undefined) return blocked(result);
  const {
    way,
    figures: { loss, bandwidthKbps, roundTripMs },
  } = used;
  const by = way === "relay" ? " through a relay" : "";
  if (loss > thresholds.loss) {
    return {
      tone: "fair",
      sentence: `Games will play${by}, but ${percentText(loss)} of the packets get lost on the way: picture and sound may stutter.`,
      advice: "Connect by cable, or go closer to your Wi-Fi router.",
    };
  }
  if (bandwidthKbps !== undefined && bandwidthKbps < thresholds.bandwidthKbps) {
    return {
      tone: "fair",
      sentence: `Games will play${by}, with a less sharp picture: your connection carries ${bitrateText(bandwidthKbps)}.`,
      advice: "Pause downloads and other streams on your network.",
    };
  }
  if (roundTripMs > thresholds.roundTripMs) {
    return {
      tone: "fair",
      sentence: `Games will play${by}, but they answer late: a round trip to the game server takes ${Math.round(roundTripMs)} ms.`,
      advice: "Switch off a VPN if you use one, for it makes the way longer.",
    };
  }
  if (way === "relay") {
    return {
      tone: "fair",
      sentence:
        "Games will play through a relay, because this network blocks the direct way by UDP: they may answer a little later.",
      advice: "Allow UDP in your firewall or VPN, or use another network, to play directly.",
    };
  }
  return decoding(result);
}

function blocked({ relay }: TestResult): Verdict {
  const advice =
    "Use another network, such as your phone's, or ask who runs this one to allow UDP to the game servers.";
  return relay.state === "absent"
    ? {
        tone: "bad",
        sentence:
          "Games will not play here: this network blocks UDP to the game servers, and this Joypod has no relay around that.",
        advice,
      }
    : {
        tone: "bad",
        sentence:
          "Games will not play here: this network blocks the way to the game servers, directly and through the relay.",
        advice,
      };
}

/** Decided by a codec that every node sends: whether one sends another is not known before. */
function decoding({ decoders }: TestResult): Verdict {
  const best = decoders.find(({ codec }) => softwareCodecs.includes(codec)) ?? decoders[0];
  if (best === undefined) {
    return {
      tone: "bad",
      sentence:
        "Games will not show here: the connection is good, but this browser decodes none of the pictures' formats.",
      advice: "Use a current Chrome, Edge, Firefox or Safari.",
    };
  }
  if (best.isHardware === false) {
    return {
      tone: "fair",
      sentence:
        "Games will play, but this browser decodes the picture in software, which needs much processor time and battery.",
      advice: "Turn on hardware acceleration in the browser's settings.",
    };
  }
  return {
    tone: "good",
    sentence: "Games will play well here.",
    advice: "There is nothing to change. Test again when you use another network.",
  };
}

/** Returns a share as people write it, such as `0 %`, `0.5 %` or `12 %`. */
export function percentText(share: number): string {
  const percent = share * 100;
  return `${percent < 10 ? Number(percent.toFixed(1)) : Math.round(percent)} %`;
}

/** Returns a bitrate as people write it, such as `1.8 Mbit/s`. */
export function bitrateText(kbps: number): string {
  return kbps < 1_000 ? `${Math.round(kbps)} kbit/s` : `${Number((kbps / 1_000).toFixed(1))} Mbit/s`;
}
