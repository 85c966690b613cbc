import { Agent, request } from "node:http";
import { text } from "node:stream/consumers";
import type { Deps } from "#api/deps.ts";
import { aGame } from "#test/factories/catalog.ts";
import { operatorOf } from "#test/support/cluster/fakeOperator.ts";
import { sharedKubeApiServer } from "#test/support/cluster/kubeApiServer.ts";
import { TestApi } from "#test/support/http/api.ts";
import { ApiProcess } from "#test/support/http/apiProcess.ts";
import { countRow, type BenchRow } from "../row.ts";
import { signedInPlayer } from "./players.ts";
import { apiProgram } from "./programs.ts";

const players = 1000;
const launchesEach = 8;
const playersMadeAtOnce = 50;
/** Timeout of a request, longer than a launch may wait for others. */
const timeoutMs = 120_000;

/** The browser tabs of a player, all of which launch. */
interface Launcher {
  cookie: string;
  agent: Agent;
}

/**
 * R4: players who launch several times each, all at the same time, on two replicas of the API. Each player
 * must get exactly one session, and no request may fail with a server error.
 */
export async function measureLaunchStorm(): Promise<BenchRow[]> {
  const api = await TestApi.start({ kube: true, isLed: true });
  const operator = operatorOf(api);
  const replicas: ApiProcess[] = [];
  let launchers: Launcher[] = [];
  try {
    await operator.addNode(players * 2);
    const { slug } = await aGame(api.deps);
    launchers = await makeLaunchers(api.deps);
    const { server } = api.kube ?? { server: await sharedKubeApiServer() };
    const env = { KUBECONFIG: server.kubeconfigPath, POD_NAMESPACE: await server.createNamespace("release") };
    for (let count = 0; count < 2; count++) replicas.push(await ApiProcess.beside(api, env, apiProgram));
    const startedMs = performance.now();
    const outcomes = await Promise.all(
      launchers.map((launcher) =>
        Promise.all(
          Array.from({ length: launchesEach }, (_, count) =>
            launch(launcher, replicas[count % replicas.length]?.url ?? "", slug),
          ),
        ),
      ),
    );
    const statuses = outcomes.map((own) => own.map(({ status }) => status));
    const tally = Object.groupBy(outcomes.flat(), ({ status, error }) => `${status} ${error}`.trim());
    console.log(
      `R4: ${players * launchesEach} launches in ${Math.round((performance.now() - startedMs) / 1000)} s: ${Object.entries(
        tally,
      )
        .map(([status, { length } = { length: 0 }]) => `${length} × ${status}`)
        .join(", ")}`,
    );
    const active = await api.deps.postgres.prisma.gameSession.count({
      where: { status: { in: ["starting", "running", "stopping"] } },
    });
    return [
      countRow(
        `R4 5xx or cut, of ${players} players × ${launchesEach} launches at once`,
        statuses.flat().filter((status) => status === 0 || status >= 500).length,
        0,
      ),
      countRow(
        "R4 players without exactly one 202, the same launches",
        statuses.filter((own) => own.filter((status) => status === 202).length !== 1).length,
        0,
      ),
      countRow("R4 difference of sessions and players, same launches", Math.abs(active - players), 0),
    ];
  } finally {
    for (const { agent } of launchers) agent.destroy();
    await Promise.all(replicas.map((replica) => replica.stop()));
    await operator.removeNodes();
    await api.stop();
  }
}

async function makeLaunchers(deps: Deps): Promise<Launcher[]> {
  const launchers: Launcher[] = [];
  while (launchers.length < players)
    launchers.push(
      ...(await Promise.all(Array.from({ length: playersMadeAtOnce }, () => makeLauncher(deps)))),
    );
  return launchers;
}

async function makeLauncher(deps: Deps): Promise<Launcher> {
  return { cookie: await signedInPlayer(deps), agent: new Agent({ maxSockets: launchesEach }) };
}

/** The outcome of a launch: the response status, or 0 without a response, and the error code. */
interface Outcome {
  status: number;
  error: string;
}

const none: Outcome = { status: 0, error: "" };

function launch({ cookie, agent }: Launcher, origin: string, gameSlug: string): Promise<Outcome> {
  const body = JSON.stringify({ gameSlug });
  const headers = { cookie, "content-type": "application/json", "content-length": Buffer.byteLength(body) };
  return new Promise((resolve) => {
    const outgoing = request(
      `${origin}/api/game/launch`,
      { agent, method: "POST", headers, timeout: timeoutMs },
      (response) => {
        text(response).then(
          (read) =>
            resolve({ status: response.statusCode ?? 0, error: /"error":"(\w+)"/.exec(read)?.[1] ?? "" }),
          () => resolve(none),
        );
      },
    );
    outgoing.once("timeout", () => outgoing.destroy());
    outgoing.once("error", () => resolve(none));
    outgoing.end(body);
  });
}
