import { useId } from "react";
import { isApiError, sentenceFor } from "../client/apiError.ts";
import { ActionButton } from "../components/ActionButton.tsx";
import { Icon } from "../components/Icon.tsx";
import { timeAgo } from "../components/timeText.ts";
import { useNow } from "../components/useNow.ts";
import { TestBrokeOff } from "./measurePath.ts";
import { NoWebRtc } from "./runConnectionTest.ts";
import { TestFigures } from "./TestFigures.tsx";
import { useConnectionTest, type TestProgress } from "./useConnectionTest.ts";
import type { TestResult } from "./testResult.ts";
import { verdictOf } from "./verdict.ts";

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
