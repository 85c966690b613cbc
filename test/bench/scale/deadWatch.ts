import { readFileSync, writeFileSync } from "node:fs";
import { eventually } from "#test/support/clocks/eventually.ts";
import { sharedKubeApiServer } from "#test/support/cluster/kubeApiServer.ts";
import { OperatorFixture } from "#test/support/fixtures/operatorFixture.ts";
import { OperatorProcess } from "#test/support/processes/operatorProcess.ts";
import { TcpRelay } from "#test/support/stores/tcpRelay.ts";
import { belowRow, type BenchRow } from "../row.ts";
import { operatorProgram } from "./programs.ts";

const noticedMsMax = 30_000;

/**
 * O4: all connections of the operator silently die right after its watch of sessions received an event, which
 * is the worst case. Measures how long it takes until a new session is placed.
 */
export async function measureDeadWatch(): Promise<BenchRow> {
  const server = await sharedKubeApiServer();
  const fixture = await OperatorFixture.start();
  const relay = await TcpRelay.start(server.url);
  const kubeconfig = `${fixture.kubeconfigPath}.relay`;
  writeFileSync(
    kubeconfig,
    readFileSync(fixture.kubeconfigPath, "utf8").replaceAll(server.url, `https://${relay.host}`),
    { mode: 0o600 },
  );
  let operator: OperatorProcess | undefined;
  try {
    operator = await OperatorProcess.start({
      env: { ...fixture.environment, KUBECONFIG: kubeconfig },
      identity: "operator",
      program: operatorProgram,
    });
    await fixture.reportNodes();
    await placed(fixture);
    relay.stall();
    const stalledMs = performance.now();
    await placed(fixture);
    return belowRow(
      "O4 watch dies without a word → what it hid is acted on",
      performance.now() - stalledMs,
      noticedMsMax,
    );
  } finally {
    await operator?.stop();
    await relay.stop();
    await fixture.clear();
  }
}

/** Creates a session and waits until the operator has placed it. */
async function placed(fixture: OperatorFixture): Promise<void> {
  const {
    metadata: { name, namespace },
  } = await fixture.launch();
  await eventually(
    async () => (await fixture.sessions.get({ name, namespace })).status?.nodeName !== undefined,
    { timeoutMs: 90_000, intervalMs: 10, what: "the session to be placed" },
  );
}
