import { useId } from "react";
import { useTranslation } from "react-i18next";
import { isApiError, describeError } from "../client/apiError.ts";
import { ActionButton } from "../components/ActionButton.tsx";
import { formatTimeAgo } from "../components/format.ts";
import { Icon } from "../components/Icon.tsx";
import { useNow } from "../components/useNow.ts";
import { t } from "../i18n.ts";
import { TestInterrupted, NoWebRtc } from "./runConnectionTest.ts";
import { type TestResult, findUsedPath, type Decoder, type PathFigures } from "./testResult.ts";
import { useConnectionTest, type TestProgress } from "./useConnectionTest.ts";
import { judgeConnection, formatBitrate, formatPercent } from "./verdict.ts";

/**
 * From this share of the test's limit on, the measured bandwidth says more about the test than the
 * connection.
 */
const nearLimit = 0.9;

const codecNames = { h264: "H.264", h265: "H.265", av1: "AV1", vp8: "VP8" } as const;

const minuteMs = 60_000;

/** Tests the connection to the game servers, and tells what will work and what to try. */
export function ConnectionTest() {
  const { t } = useTranslation("connectionTest");
  const { result, progress, error, start, cancel } = useConnectionTest();
  const titleId = useId();
  const isRunning = progress !== undefined;
  return (
    <section className="connection-test" aria-labelledby={titleId}>
      <h2 id={titleId}>{t("title")}</h2>
      <p className="muted">{t("about")}</p>
      {/* Always on the page, because screen readers read out only changes in an existing region. */}
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
          {isRunning ? t("testing") : result === undefined ? t("start") : t("startAgain")}
        </ActionButton>
        {isRunning && (
          <button type="button" className="button" onClick={cancel}>
            {t("cancel")}
          </button>
        )}
      </div>
    </section>
  );
}

function TestVerdict({ result }: { result: TestResult }) {
  const { tone, sentence, advice } = judgeConnection(result);
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

/** Outside the region that is read out, because it changes every minute. */
function TestAge({ result }: { result: TestResult }) {
  const { t } = useTranslation("connectionTest");
  const now = useNow(minuteMs);
  return <p className="muted">{t("testedAt", { time: formatTimeAgo(result.testedAt, now) })}</p>;
}

function progressText({ way, step }: TestProgress): string {
  return t(`connectionTest:progress.${way}.${step}`);
}

function problemText(error: Error): string {
  if (isApiError(error, "unavailable")) return t("connectionTest:problem.unavailable");
  if (isApiError(error, "no_servers")) return t("connectionTest:problem.busy");
  if (error instanceof TestInterrupted) return t("connectionTest:problem.interrupted");
  if (error instanceof NoWebRtc) return t("errors:noWebRtc");
  return describeError(error);
}

/** The measured values of a test. */
function TestFigures({ result }: { result: TestResult }) {
  const { t } = useTranslation("connectionTest");
  const used = findUsedPath(result)?.figures;
  return (
    <dl className="test-figures">
      <div>
        <dt>{t("figures.direct")}</dt>
        <dd>{t(`figures.${result.direct.state}`)}</dd>
      </div>
      <div>
        <dt>{t("figures.relay")}</dt>
        <dd>{t(`figures.${result.relay.state}`)}</dd>
      </div>
      {used !== undefined && (
        <div>
          <dt>{t("figures.roundTrip")}</dt>
          <dd>{roundTripText(used)}</dd>
        </div>
      )}
      {used !== undefined && (
        <div>
          <dt>{t("figures.loss")}</dt>
          <dd>{formatPercent(used.loss)}</dd>
        </div>
      )}
      {used?.bandwidthKbps !== undefined && (
        <div>
          <dt>{t("figures.bandwidth")}</dt>
          <dd>{bandwidthText(used)}</dd>
        </div>
      )}
      <div>
        <dt>{t("figures.decoding")}</dt>
        <dd>{decodersText(result.decoders)}</dd>
      </div>
    </dl>
  );
}

function bandwidthText({ bandwidthKbps = 0, limitKbps = Infinity }: PathFigures): string {
  const bandwidth = formatBitrate(bandwidthKbps);
  return bandwidthKbps >= nearLimit * limitKbps
    ? t("connectionTest:figures.bandwidthOrMore", { bandwidth })
    : bandwidth;
}

function roundTripText({ roundTripMs }: PathFigures): string {
  return `${roundTripMs < 10 ? roundTripMs : Math.round(roundTripMs)} ms`;
}

function decodersText(decoders: readonly Decoder[]): string {
  if (decoders.length === 0) return t("connectionTest:figures.noDecoder");
  return decoders.map(decoderText).join(", ");
}

function decoderText({ codec, isHardware }: Decoder): string {
  const name = codecNames[codec];
  if (isHardware === null) return name;
  return t(`connectionTest:figures.${isHardware ? "hardware" : "software"}`, { codec: name });
}
