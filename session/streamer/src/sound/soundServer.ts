import { renameSync } from "node:fs";
import type { Logger } from "#runtime/logger.ts";
import { startServerProcess, waitForSocket, type ServerProcess, removeStale } from "../processes.ts";

const startDeadlineMs = 15_000;

/** The sink that games play to. Its monitor is streamed to the player. */
export const soundSink = "game";

export interface SoundServerOptions {
  socket: string;
  /** The socket appears only after this, and then the game starts. */
  publishAfter?: Promise<unknown>;
  env: Record<string, string>;
  logger: Logger;
  onExit: (name: string) => void;
}

/**
 * Starts the sound server on a Unix socket. Resolves to undefined when it does not accept connections in
 * time.
 */
export async function startSoundServer({
  socket,
  publishAfter,
  env,
  logger,
  onExit,
}: SoundServerOptions): Promise<ServerProcess | undefined> {
  const ownSocket = publishAfter ? `${socket}.new` : socket;
  for (const stale of [socket, ownSocket]) removeStale(stale, logger);
  const server = startServerProcess({
    name: "sound",
    command: "pulseaudio",
    args: [
      "-n",
      "--daemonize=no",
      "--use-pid-file=no",
      "--exit-idle-time=-1",
      "--disallow-exit=1",
      "--realtime=no",
      "--high-priority=no",
      // Takes effect after the modules below are loaded. Some modules open connections, and a game could load
      // them.
      "--disallow-module-loading=1",
      "-L",
      `module-native-protocol-unix socket=${ownSocket} auth-anonymous=1`,
      "-L",
      `module-null-sink sink_name=${soundSink} rate=48000 channels=2`,
    ],
    env,
    logger,
    onExit,
  });
  if (!(await waitForSocket(ownSocket, startDeadlineMs))) return undefined;
  if (publishAfter) {
    await publishAfter;
    renameSync(ownSocket, socket);
  }
  return server;
}
