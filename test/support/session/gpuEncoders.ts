import { runShell, type SessionImages } from "./containers.ts";

/**
 * Returns images whose streamer finds AV1 and H.265 encoders through VA-API if its profile is `gpu`. They
 * work in software.
 */
export async function withGpuEncoders(images: SessionImages): Promise<SessionImages> {
  const { stdout } = await runShell(
    `JOYPOD_ENGINE=${images.engineName} test/support/session/gpuEncoders/build.sh ${images.streamer}`,
  );
  return { ...images, streamer: stdout.trim() };
}
