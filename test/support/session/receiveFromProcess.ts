import { once } from "node:events";
import { forkProgram } from "./forkedProgram.ts";

/**
 * Runs a program that sends one message and ends when it is disconnected. Returns the message.
 *
 * @throws Error when it ends before sending it, with the end of its standard error.
 */
export async function receiveFromProcess<Message extends object>(
  program: URL,
  ...args: string[]
): Promise<Message> {
  const { process, ended } = forkProgram(program, args);
  try {
    const [message] = (await Promise.race([
      once(process, "message"),
      ended.then((how) => {
        throw new Error(`The process sent no message and ${how}`);
      }),
    ])) as [Message];
    return message;
  } finally {
    if (process.connected) process.disconnect();
    await ended;
  }
}
