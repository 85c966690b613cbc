import type { Viewer } from "#test/support/session/viewer.ts";

/**
 * Connects the viewer.
 *
 * @throws If the streamer rejects its offer.
 */
export async function watch(viewer: Viewer, options: Parameters<Viewer["connect"]>[0] = {}): Promise<void> {
  const { status, body } = await viewer.connect(options);
  if (status !== 201) throw new Error(`The offer was refused with ${status}: ${body}`);
}
