import { limits } from "#contracts/limits.ts";
import { ContentCacheFixture, desired } from "#test/support/fixtures/contentCacheFixture.ts";
import { startMinio } from "#test/support/stores/minio.ts";
import { storeGameArchive } from "./nodeCopy.ts";

/** A node agent that fetches a large game in the background. */
export interface BackgroundFill {
  /** Starts the fill at the rate of fills next to a session. */
  begin(): void;
  isUnderWay(): boolean;
  stop(): Promise<void>;
}

/** Large enough to take longer than a measurement at the rate of fills next to a session. */
const megabytes = 1024;

/** Stores a game in an object store on this machine, for a node agent to fetch. */
export async function prepareBackgroundFill(): Promise<BackgroundFill> {
  const minio = await startMinio();
  const node = new ContentCacheFixture(minio, {
    endpoint: minio.endpoint,
    requests: [],
    fault: undefined,
    close: () => Promise.resolve(),
  });
  node.isPlayed = true;
  const source = await storeGameArchive(minio, node.root, megabytes);
  const cache = await node.aCache({
    budgetBytes: 2 ** 40,
    fillBytesPerSecond: limits.node.fillBytesPerSecond,
  });
  return {
    begin: () => cache.setDesired([desired(source)]),
    isUnderWay: () => cache.stateOf(source.sha256)?.state === "Downloading",
    async stop() {
      await node.clear();
      await minio.remove();
    },
  };
}
