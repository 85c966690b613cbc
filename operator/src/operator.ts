import type { Registry } from "prom-client";
import { ownershipConflict, type Installation } from "#contracts/crd/installation.ts";
import { eventControllers } from "#contracts/crd/names.ts";
import { leases, nodes, pods } from "#kube/api/builtin.ts";
import type { Clock } from "#runtime/scheduling/clock.ts";
import type { Controller } from "#kube/controllers/controller.ts";
import { EventRecorder } from "#kube/controllers/eventRecorder.ts";
import type { Logger } from "#runtime/logger.ts";
import { KubeMetrics } from "#kube/controllers/metrics.ts";
import { ResourceClient } from "#kube/client/resourceClient.ts";
import type { KubeTransport } from "#kube/client/transport.ts";
import { type Cluster, createCluster, createReflectors, type Reflectors } from "./cluster/cluster.ts";
import { sessionPods } from "./cluster/watchedPods.ts";
import type { Config } from "./config.ts";
import { FillPlan } from "./content/fillPlan.ts";
import { createCacheController } from "./controllers/gameCache/controller.ts";
import { createNodeController } from "./controllers/gameNode/controller.ts";
import { Assignments } from "./controllers/gameSession/assignments.ts";
import { createSessionController, keysThatNeedInternet } from "./controllers/gameSession/controller.ts";
import { Moments } from "./controllers/gameSession/moments.ts";
import { Streams } from "./controllers/gameSession/streams.ts";
import { SavesWaiting, showClusterFigures } from "./figures/clusterFigures.ts";
import { LaunchSteps } from "./figures/launchSteps.ts";
import { createOperatorMetrics } from "./metrics.ts";
import { NetworkProbe } from "./networkProbe/networkProbe.ts";
import { Heartbeats } from "./nodes/nodeHealth.ts";
import { followNodeLoads } from "./nodes/followNodeLoads.ts";
import { NodeLosses } from "./nodes/nodeLosses.ts";
import { OtherRequests } from "./nodes/nodeRoom.ts";
import { isGameNode } from "./nodes/slots.ts";
import { gameCaches } from "#contracts/crd/gameCache.ts";
import { gameNodes } from "#contracts/crd/gameNode.ts";
import { gameSessions } from "#contracts/crd/gameSession.ts";
import { askStreamer, createOperatorTickets } from "./streamers/askStreamer.ts";
import { InputIdleness } from "./streamers/inputIdleness.ts";
import { StreamFigures } from "./streamers/streamFigures.ts";
import { RepeatedJob } from "#runtime/scheduling/backgroundJob.ts";
import { tellRelays } from "./relay/tellRelays.ts";
import { Throttle } from "./throttle.ts";

/**
 * A watch that is silent for longer makes the operator unready. Every watch ends or receives a bookmark
 * within half a minute.
 */
const silentTooLongMs = 90_000;

/** The usual scrape interval of Prometheus. */
const streamFiguresPeriodMs = 15_000;

/** A restarted relay relays nothing until it receives the game nodes. */
const relaysPeriodMs = 5_000;

/**
 * The maximum is short, so that players do not wait for the back-off of failed passes after an API server
 * outage.
 */
const backOff = { baseMs: 20, maxMs: 5000 };

export interface OperatorOptions {
  transport: KubeTransport;
  config: Config;
  clock: Clock;
  logger: Logger;
  registry: Registry;
  /** Set if the transport reports to it as well. Otherwise created in the registry. */
  kubeMetrics?: KubeMetrics | undefined;
}

/**
 * Runs the three controllers over one set of watches. Only the leader may start the controllers; every
 * replica may watch.
 */
export class Operator {
  readonly #installation: Installation;
  readonly #reflectors: Reflectors;
  readonly #heartbeats: Heartbeats;
  readonly #controllers: Controller[];
  readonly #events: EventRecorder;
  readonly #networkProbe: NetworkProbe;
  readonly #streamFigures: RepeatedJob;
  /** Registers the metrics that only the leader shows. */
  readonly #showFigures: () => void;
  #isLeading = false;
  /** Undefined without a relay. */
  readonly #relays: RepeatedJob | undefined;

  constructor({ transport, config, clock, logger, registry, kubeMetrics }: OperatorOptions) {
    this.#installation = config.installation;
    const metrics = kubeMetrics ?? new KubeMetrics(registry);
    const cluster = createCluster();
    const reflectors = (this.#reflectors = createReflectors({
      transport,
      cluster,
      sessionsNamespace: config.sessionsNamespace,
      nodeAgentNamespace: config.nodeAgentNamespace,
      installation: config.installation,
      countsOtherPods: config.countsOtherPods,
      clock,
      logger,
      metrics,
    }));
    const heartbeats = (this.#heartbeats = followHeartbeats(
      cluster,
      new Heartbeats(
        clock,
        config.timing.heartbeatStaleMs,
        (place) => (place === "lease" ? reflectors.leases : reflectors.gameNodes).behindForMs,
      ),
    ));
    this.#events = new EventRecorder({ transport, controller: eventControllers.operator, logger, clock });
    const operatorMetrics = createOperatorMetrics(registry);
    const nodeLosses = new NodeLosses({
      cluster,
      heartbeats,
      brakePercent: config.nodeLossBrakePercent,
      metrics: operatorMetrics,
      logger,
      clock,
      returnMs: config.timing.heartbeatStaleMs,
    });
    this.#networkProbe = new NetworkProbe({
      pods: new ResourceClient(transport, pods),
      namespace: config.sessionsNamespace,
      config: config.networkProbe,
      gameNodes: () => cluster.nodes.list().filter((node) => isGameNode(node, config)),
      waiting: () => keysThatNeedInternet(cluster),
      metrics: operatorMetrics,
      clock,
      logger,
    });
    const tickets = createOperatorTickets(config.ticketSecret, clock);
    const figures = new StreamFigures({ pods: cluster.pods, tickets, askStreamer, registry });
    this.#streamFigures = new RepeatedJob({
      name: "stream figures",
      periodMs: streamFiguresPeriodMs,
      clock,
      logger,
      work: (signal) => figures.refresh(signal),
    });
    const loads = followNodeLoads(cluster, config.podOverhead);
    const launchSteps = new LaunchSteps({
      cluster,
      clock,
      onStep: (step, seconds) => {
        if (this.#isLeading) operatorMetrics.launchStepDone(step, seconds);
      },
    });
    const savesWaiting = new SavesWaiting({ gameSessions: cluster.gameSessions, clock });
    this.#showFigures = () =>
      showClusterFigures({ cluster, nodeLosses, loads, launchSteps, savesWaiting, registry });
    const { relay, announceAddresses } = config;
    this.#relays =
      relay &&
      new RepeatedJob({
        name: "relays",
        periodMs: relaysPeriodMs,
        clock,
        logger,
        work: (signal) =>
          tellRelays({ cluster, clock, announceAddresses, relay, metrics: operatorMetrics }, signal),
      });
    const otherRequests = new OtherRequests(cluster);
    const moments = new Moments();
    const common = { cluster, heartbeats, loads, otherRequests, events: this.#events, clock };
    const optionsOf = (name: string) => ({
      logger,
      clock,
      backOff,
      workers: config.workers,
      metrics: metrics.controller(name),
    });
    this.#controllers = [
      createNodeController(
        {
          ...common,
          nodeLosses,
          fillPlan: new FillPlan(common),
          nodes: new ResourceClient(transport, nodes),
          gameNodes: new ResourceClient(transport, gameNodes),
          leases: new ResourceClient(transport, leases),
          nodeAgentNamespace: config.nodeAgentNamespace,
          gameSessions: new ResourceClient(transport, gameSessions),
          installation: config.installation,
          rules: config,
          podOverhead: config.podOverhead,
          fillDeadlineMs: config.fillDeadlineMs,
          throttle: new Throttle(clock),
        },
        this.#reflectors,
        optionsOf("gamenode"),
      ),
      createCacheController(
        {
          ...common,
          caches: new ResourceClient(transport, gameCaches),
          progressThrottle: new Throttle(clock),
        },
        this.#reflectors,
        optionsOf("gamecache"),
      ),
      createSessionController(
        {
          ...common,
          nodeLosses,
          moments,
          sessions: new ResourceClient(transport, gameSessions),
          pods: new ResourceClient(transport, sessionPods),
          networkProbe: this.#networkProbe,
          tickets,
          streams: new Streams({ pods: cluster.pods, tickets, askStreamer, clock, logger }),
          inputIdleness: new InputIdleness({
            pods: cluster.pods,
            tickets,
            askStreamer,
            maxIdleMs: config.maxInputIdleMs,
            clock,
            logger,
          }),
          assignments: new Assignments({ ...common, moments, config }),
          config,
          metrics: operatorMetrics,
        },
        this.#reflectors,
        optionsOf("gamesession"),
      ),
    ];
  }

  /**
   * Starts watching, and resolves when all caches are filled. A standby watches too, so that it can take over
   * quickly.
   */
  async watch(signal?: AbortSignal): Promise<void> {
    const reflectors = Object.values(this.#reflectors);
    for (const reflector of reflectors) reflector.start();
    await Promise.all(reflectors.map((reflector) => reflector.waitForSync(signal)));
  }

  /**
   * Starts the controllers, and resolves when they run.
   *
   * @throws before anything is written if another installation has GameNodes under this one's name
   */
  async lead(signal?: AbortSignal): Promise<void> {
    for (const gameNode of this.#reflectors.gameNodes.cache.list()) {
      const reason = ownershipConflict(gameNode, this.#installation);
      if (reason !== undefined) throw new Error(reason);
    }
    this.#heartbeats.reset();
    this.#isLeading = true;
    this.#showFigures();
    this.#networkProbe.start();
    this.#streamFigures.start();
    this.#relays?.start();
    await Promise.all(this.#controllers.map((controller) => controller.start(signal)));
  }

  /** Returns why the operator is not ready, or undefined when it is. */
  notReadyReason(): string | undefined {
    for (const [name, { hasSynced, silentForMs }] of Object.entries(this.#reflectors)) {
      if (!hasSynced) return `The list of ${name} has not been loaded yet.`;
      if (silentForMs !== undefined && silentForMs > silentTooLongMs)
        return `The watch of ${name} has been silent for ${Math.round(silentForMs / 1000)} s.`;
    }
    return undefined;
  }

  /** Waits for running passes, writes pending events, and stops watching. */
  async stop(): Promise<void> {
    const parts = [
      ...this.#controllers,
      this.#networkProbe,
      this.#streamFigures,
      ...(this.#relays === undefined ? [] : [this.#relays]),
    ];
    await Promise.all(parts.map((part) => part.stop()));
    await this.#events.stop();
    await Promise.all(Object.values(this.#reflectors).map((reflector) => reflector.stop()));
  }
}

function followHeartbeats({ gameNodes, leases: renewals }: Cluster, heartbeats: Heartbeats): Heartbeats {
  gameNodes.subscribe((change) => {
    if (change.type === "deleted") heartbeats.forget(change.object.metadata.name);
    else heartbeats.observe(change.object);
  });
  renewals.subscribe(({ type, object }) => {
    // A deleted Lease does not mean that the agent is dead. It is created again, and the new one counts once
    // the agent has renewed it.
    if (type !== "deleted") heartbeats.observeLease(object);
  });
  return heartbeats;
}
