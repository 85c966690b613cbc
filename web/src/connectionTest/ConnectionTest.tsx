import { useId } from "react";
import { isApiError, sentenceFor } from "../client/apiError.ts";
import { ActionButton } from "../components/ActionButton.tsx";
import { Icon } from "../components/Icon.tsx";
import { timeAgo } from "../components/format.ts";
import { useNow } from "../components/useNow.ts";
import { TestBrokeOff, NoWebRtc } from "./runConnectionTest.ts";
import { useConnectionTest, type TestProgress } from "./useConnectionTest.ts";
import { type TestResult, usedPath, type Decoder, type PathFigures, type PathResult } from "./testResult.ts";
import { verdictOf, bitrateText, percentText } from "./verdict.ts";

/** The test's own limit is no figure of the connection. */
const nearLimit = 0.9;

const codecNames = { h264: "H.264", h265: "H.265", av1: "AV1", vp8: "VP8" } as const;

const placeTexts = new Map<Decoder["isHardware"], string>([
  [true, " in hardware"],
  [false, " in software"],
  [null, ""],
]);

const minuteMs = 60_000;

/** Tests the way to the game servers, and says in a sentence what will work and what to try. */
export function ConnectionTest() {
  const { result, progress, error, start, cancel } = useConnectionTest();
  const titleId = useId();
  const isRunning = progress !== undefined;
  return (
    <section className="connection-test" aria-labelledby={titleId}>
      <h2 id={titleId}>Your connection</h2>
      <p className="muted">
        The test takes up to half a minute and sends about 5 MB. Your next game starts with what it finds.
      </p>
      {/* There from the beginning: what changes in it is read out. */}
      <div role="status">
        {isRunning && <p className="message">{progressText(progress)}</p>}
        {!isRunning && error !== null && <p className="message message-problem">{problemText(error)}</p>}
        {!isRunning && error === null && result !== undefined && <TestVerdict result={result} />}
      </div>
      {!isRunning && error === null && result !== undefined && (
        <>
          <TestFigures result={result} />
          <TestAge result={result} />
        </>
      )}
      <div className="actions">
        <ActionButton className="button" isBusy={isRunning} onClick={start}>
          <Icon name="chart" />
          {isRunning ? "Testing…" : startText(result)}
        </ActionButton>
        {isRunning && (
          <button type="button" className="button" onClick={cancel}>
            Cancel the test
          </button>
        )}
      </div>
    </section>
  );
}

function TestVerdict({ result }: { result: TestResult }) {
  const { tone, sentence, advice } = verdictOf(result);
  return (
    <div className={`verdict verdict-${tone}`}>
      <Icon name={tone === "good" ? "check" : "warning"} />
      <div>
        <p className="verdict-sentence">{sentence}</p>
        <p>{advice}</p>
      </div>
    </div>
  );
}

/** Outside of what is read out, because it changes with every minute. */
function TestAge({ result }: { result: TestResult }) {
  const now = useNow(minuteMs);
  return <p className="muted">Tested {timeAgo(result.testedAt, now)}</p>;
}

function startText(result: TestResult | undefined): string {
  return result === undefined ? "Test my connection" : "Test my connection again";
}

function progressText({ way, step }: TestProgress): string {
  const name = way === "direct" ? "the direct way" : "the way by relay";
  switch (step) {
    case "connecting":
      return `Trying ${name} to a game server…`;
    case "loss":
      return `Counting lost packets on ${name}…`;
    case "bandwidth":
      return `Measuring how much ${name} carries…`;
  }
}

function problemText(error: Error): string {
  if (isApiError(error, "unavailable"))
    return "This Joypod has no game server that tests connections just now. You can play all the same.";
  if (isApiError(error, "no_servers"))
    return "Other players test their connection just now. Try again in a few seconds.";
  if (error instanceof TestBrokeOff)
    return "The test broke off: the network was gone for a moment, or you started another test. Try again.";
  if (error instanceof NoWebRtc) return error.message;
  return sentenceFor(error);
}

/** What a test measured, figure by figure. */
function TestFigures({ result }: { result: TestResult }) {
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

function decodersText(decoders: readonly Decoder[]): string {
  if (decoders.length === 0) return "None";
  return decoders
    .map(({ codec, isHardware }) => `${codecNames[codec]}${placeTexts.get(isHardware) ?? ""}`)
    .join(", ");
}
