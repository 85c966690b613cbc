import { containerNames, gameOutputBytes } from "#contracts/nodeLayout.ts";
import { isKubeError } from "#kube/api/errors.ts";
import { printableText } from "#runtime/printableText.ts";
import { apiContainer, findApiPod } from "../cluster/apiPod.ts";
import type { Installation } from "../cluster/installation.ts";
import { readPodLog } from "../cluster/observe.ts";

/** The end of a game's output as printable text, or why it is not available. */
export type GameOutput = { text: string } | { problem: string };

const execMs = 20_000;
const logLines = 5_000;

/**
 * Returns the end of the output of a session's game: from its container while the pod exists, otherwise from
 * the object store, through the command `joypod session log` in a pod of the API. The latter requires the
 * permission `create pods/exec`. The game's text is untrusted, so control characters are shown as escapes.
 */
export async function readGameOutput(installation: Installation, gameSession: string): Promise<GameOutput> {
  const { transport, sessionsNamespace: namespace } = installation;
  const live = await readPodLog(transport, {
    namespace,
    pod: gameSession,
    container: containerNames.game,
    tailLines: logLines,
  });
  if (live.length > 0) return { text: printableText(live.join("\n").slice(-gameOutputBytes)) };
  return readStoredOutput(installation, gameSession);
}

async function readStoredOutput(installation: Installation, gameSession: string): Promise<GameOutput> {
  const pod = await findApiPod(installation);
  if (pod === undefined) return { problem: "No pod of the API is running, which reads the stored output." };
  try {
    const output = await installation.transport.exec({
      namespace: installation.namespace,
      pod,
      container: apiContainer,
      command: ["joypod", "session", "log", gameSession],
      maxOutputBytes: 16 * gameOutputBytes, // A byte becomes up to four characters.
      signal: AbortSignal.timeout(execMs),
    });
    return { text: printableText(output) };
  } catch (error) {
    if (!isKubeError(error) && !(error instanceof DOMException)) throw error;
    return { problem: printableText(error.message) };
  }
}
