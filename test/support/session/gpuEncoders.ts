import { runShell, type SessionImages } from "./containers.ts";

/**
 * Returns the images with a streamer that finds encoders of AV1 and H.265 by VA-API where its profile is
 * `gpu`: they work in software.
 */
export async function withGpuEncoders(images: SessionImages): Promise<SessionImages> {
  const { stdout } = await runShell(
    `JOYPOD_ENGINE=${images.engineName} test/support/session/gpuEncoders/build.sh ${images.streamer}`,
  );
  return { ...images, streamer: stdout.trim() };
}
