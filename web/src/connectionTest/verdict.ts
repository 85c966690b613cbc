import { softwareCodecs } from "#contracts/videoCodec.ts";
import { t } from "../i18n.ts";
import { findUsedPath, type TestResult } from "./testResult.ts";

/** The meaning of a test for the player: what will work, and one thing to try. */
export interface Verdict {
  tone: "good" | "fair" | "bad";
  sentence: string;
  advice: string;
}

/** Players notice values beyond these. */
export const thresholds = { loss: 0.02, bandwidthKbps: 4_000, roundTripMs: 100 } as const;

/** Returns the verdict on the most serious problem that the test found. */
export function judgeConnection(result: TestResult): Verdict {
  const used = findUsedPath(result);
  if (used === undefined) return blockedVerdict(result);
  const {
    way,
    figures: { loss, bandwidthKbps, roundTripMs },
  } = used;
  if (loss > thresholds.loss) {
    const sentence = t(`connectionTest:verdict.loss.${way}`, { loss: formatPercent(loss) });
    return { tone: "fair", sentence, advice: t("connectionTest:verdict.loss.advice") };
  }
  if (bandwidthKbps !== undefined && bandwidthKbps < thresholds.bandwidthKbps) {
    const bandwidth = formatBitrate(bandwidthKbps);
    const sentence = t(`connectionTest:verdict.bandwidth.${way}`, { bandwidth });
    return { tone: "fair", sentence, advice: t("connectionTest:verdict.bandwidth.advice") };
  }
  if (roundTripMs > thresholds.roundTripMs) {
    const roundTrip = Math.round(roundTripMs);
    const sentence = t(`connectionTest:verdict.roundTrip.${way}`, { roundTrip });
    return { tone: "fair", sentence, advice: t("connectionTest:verdict.roundTrip.advice") };
  }
  return way === "relay" ? plainVerdict("fair", "relay") : decodingVerdict(result);
}

function blockedVerdict({ relay }: TestResult): Verdict {
  return {
    tone: "bad",
    sentence: t(`connectionTest:verdict.blocked.${relay.state === "absent" ? "withoutRelay" : "withRelay"}`),
    advice: t("connectionTest:verdict.blocked.advice"),
  };
}

/**
 * Decides by a codec that every node sends: the codecs of the node that a game gets are not known in advance.
 */
function decodingVerdict({ decoders }: TestResult): Verdict {
  const best = decoders.find(({ codec }) => softwareCodecs.includes(codec)) ?? decoders[0];
  if (best === undefined) return plainVerdict("bad", "noDecoder");
  return best.isHardware === false ? plainVerdict("fair", "softwareDecoder") : plainVerdict("good", "good");
}

function plainVerdict(
  tone: Verdict["tone"],
  key: "relay" | "noDecoder" | "softwareDecoder" | "good",
): Verdict {
  return {
    tone,
    sentence: t(`connectionTest:verdict.${key}.sentence`),
    advice: t(`connectionTest:verdict.${key}.advice`),
  };
}

/** Returns a share as text, such as `0 %`, `0.5 %` or `12 %`. */
export function formatPercent(share: number): string {
  const percent = share * 100;
  return `${percent < 10 ? Number(percent.toFixed(1)) : Math.round(percent)} %`;
}

/** Returns a bitrate as text, such as `1.8 Mbit/s`. */
export function formatBitrate(kbps: number): string {
  return kbps < 1_000 ? `${Math.round(kbps)} kbit/s` : `${Number((kbps / 1_000).toFixed(1))} Mbit/s`;
}
