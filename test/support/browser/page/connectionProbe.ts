// Runs inside the page under test before its scripts, inserted as text: no imports, no exports.

/** Path of the newest connection. */
interface ConnectionPath {
  state: string;
  /** Candidate type of the browser: `host`, `srflx`, `prflx` or `relay`. */
  local: string;
  /** Protocol to the browser's relay; empty without a relay. */
  relayProtocol: string;
  /** Address of the peer. */
  remote: string;
}

const connections: RTCPeerConnection[] = [];
const BrowserConnection = RTCPeerConnection;
globalThis.RTCPeerConnection = class extends BrowserConnection {
  constructor(configuration?: RTCConfiguration) {
    super(configuration);
    connections.push(this);
  }
};

async function connectionPath(): Promise<ConnectionPath | undefined> {
  const connection = connections.findLast(({ connectionState }) => connectionState === "connected");
  if (connection === undefined) return undefined;
  const reports = await connection.getStats();
  for (const report of reports.values() as Iterable<Record<string, unknown>>) {
    if (report["type"] !== "transport" || typeof report["selectedCandidatePairId"] !== "string") continue;
    const pair = reports.get(report["selectedCandidatePairId"]) as Record<string, string> | undefined;
    const [local, remote] = [pair?.["localCandidateId"], pair?.["remoteCandidateId"]].map(
      (id) => reports.get(id ?? "") as Record<string, string> | undefined,
    );
    return {
      state: connection.connectionState,
      local: local?.["candidateType"] ?? "",
      relayProtocol: local?.["relayProtocol"] ?? "",
      remote: remote?.["address"] ?? "",
    };
  }
  return undefined;
}

Object.assign(globalThis, { joypodConnection: { path: connectionPath, count: () => connections.length } });
