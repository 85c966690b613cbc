import { limits } from "#contracts/limits.ts";
import { ContentCacheFixture, desired } from "#test/support/fixtures/contentCacheFixture.ts";
import { startMinio } from "#test/support/stores/minio.ts";
import { storeGameArchive } from "./nodeCopy.ts";

/** A node that fetches a large game in the background. */
export interface BackgroundFill {
  /** Lets it go on from now on, as beside a session. */
  begin(): void;
  /** Whether it is at it. */
  isUnderWay(): boolean;
  stop(): Promise<void>;
}

/** At the rate of fills beside a session it takes longer than a measurement. */
const megabytes = 1024;

/** Stores a game for a node to fetch, from an object store on this machine as well. */
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
