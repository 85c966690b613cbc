import { bitrateText, percentText } from "./verdict.ts";
import { usedPath, type Decoder, type PathFigures, type PathResult, type TestResult } from "./testResult.ts";

/** What a test measured, figure by figure. */
export function TestFigures({ result }: { result: TestResult }) {
  const used = usedPath(result)?.figures;
  return (
    <dl className="test-figures">
      <div>
        <dt>Direct, by UDP</dt>
        <dd>{pathText(result.direct)}</dd>
      </div>
      <div>
        <dt>By relay (TURN)</dt>
        <dd>{pathText(result.relay)}</dd>
      </div>
      {used !== undefined && (
        <div>
          <dt>Round trip</dt>
          <dd>{roundTripText(used)}</dd>
        </div>
      )}
      {used !== undefined && (
        <div>
          <dt>Lost packets</dt>
          <dd>{percentText(used.loss)}</dd>
        </div>
      )}
      {used?.bandwidthKbps !== undefined && (
        <div>
          <dt>Bandwidth</dt>
          <dd>{bandwidthText(used)}</dd>
        </div>
      )}
      <div>
        <dt>Decoding</dt>
        <dd>{decodersText(result.decoders)}</dd>
      </div>
    </dl>
  );
}

/** The test's own limit is no figure of the connection. */
const nearLimit = 0.9;

function bandwidthText({ bandwidthKbps = 0, limitKbps = Infinity }: PathFigures): string {
  return bandwidthKbps >= nearLimit * limitKbps
    ? `${bitrateText(bandwidthKbps)} or more`
    : bitrateText(bandwidthKbps);
}

function roundTripText({ roundTripMs }: PathFigures): string {
  return `${roundTripMs < 10 ? roundTripMs : Math.round(roundTripMs)} ms`;
}

function pathText({ state }: PathResult): string {
  switch (state) {
    case "works":
      return "Works";
    case "blocked":
      return "Blocked";
    case "absent":
      return "Not offered here";
    case "untested":
      return "Not tested";
  }
}

const codecNames = { h264: "H.264", h265: "H.265", av1: "AV1", vp8: "VP8" } as const;
const placeTexts = new Map<Decoder["isHardware"], string>([
  [true, " in hardware"],
  [false, " in software"],
  [null, ""],
]);

function decodersText(decoders: readonly Decoder[]): string {
  if (decoders.length === 0) return "None";
  return decoders
    .map(({ codec, isHardware }) => `${codecNames[codec]}${placeTexts.get(isHardware) ?? ""}`)
    .join(", ");
}
