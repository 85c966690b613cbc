import type { Logger } from "#runtime/logger.ts";
import { startServerProcess, waitForSocket, type ServerProcess } from "../processes/serverProcess.ts";
import { removeStale } from "../processes/staleSocket.ts";

const startDeadlineMs = 15_000;

/** The sink games play into; its monitor is what the player hears. */
export const soundSink = "game";

export interface SoundServerOptions {
  socket: string;
  env: Record<string, string>;
  log: Logger;
  onExit: (name: string) => void;
}

/** Starts the sound server on a unix socket; undefined when it does not answer in time. */
export async function startSoundServer({ socket, env, log, onExit }: SoundServerOptions): Promise<ServerProcess | undefined> {
  removeStale(socket, log);
  const server = startServerProcess({
    name: "sound",
    command: "pulseaudio",
    args: [
      "-n", "--daemonize=no", "--use-pid-file=no", "--exit-idle-time=-1", "--disallow-exit=1", "--realtime=no", "--high-priority=no",
      // From when those below are loaded: there are modules that open connections for whoever asks, and games may ask.
      "--disallow-module-loading=1",
      "-L", `module-native-protocol-unix socket=${socket} auth-anonymous=1`,
      "-L", `module-null-sink sink_name=${soundSink} rate=48000 channels=2`,
    ],
    env, log, onExit,
  });
  return await waitForSocket(socket, startDeadlineMs) ? server : undefined;
}
