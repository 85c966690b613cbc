import { fork } from "node:child_process";
import { once } from "node:events";

/**
 * Runs a program that sends one message and ends when it is disconnected. Returns the message.
 *
 * @throws Error when it ends before sending it.
 */
export async function receiveFromProcess<Message extends object>(
  program: URL,
  ...args: string[]
): Promise<Message> {
  const process = fork(program, args);
  const exited = once(process, "exit");
  try {
    const [message] = (await Promise.race([
      once(process, "message"),
      exited.then(([code]) => {
        throw new Error(`The process exited with ${String(code)} without a message.`);
      }),
    ])) as [Message];
    return message;
  } finally {
    if (process.connected) process.disconnect();
    await exited;
  }
}
