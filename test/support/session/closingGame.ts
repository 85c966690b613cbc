/**
 * A game with a window that supports the close request. It prints `open`, and `close` and `SIGTERM` with the
 * milliseconds since the start of the system when it receives them. The arguments say what ends it: `close`,
 * `SIGTERM`, both or neither.
 */
import { connectDisplay, promised } from "#streamer/display/xConnection.ts";
import { words, type HeardEvent } from "./gameClient.ts";

const [replaceProperty, atomType] = [0, 4];
const ends = new Set(process.argv.slice(2));

function tell(what: "close" | "SIGTERM"): void {
  process.stdout.write(`${what} ${Math.round(Number(process.hrtime.bigint() / 1_000_000n))}\n`);
  if (ends.has(what)) process.exit(0);
}

process.on("SIGTERM", () => tell("SIGTERM"));
const { client: game, root } = await connectDisplay(process.env.DISPLAY ?? "", () => process.exit(1));
const atom = (name: string) => promised<number>((done) => game.InternAtom(false, name, done));
const [protocols, deleteWindow] = [await atom("WM_PROTOCOLS"), await atom("WM_DELETE_WINDOW")];
game.on("event", (event: HeardEvent) => {
  if (event.message_type === protocols && event.data?.[0] === deleteWindow) tell("close");
});
const window = game.AllocID();
game.CreateWindow(window, root, 0, 0, 10, 10, 0, 0, 1, 0, {});
game.ChangeProperty(replaceProperty, window, protocols, atomType, 32, words(deleteWindow));
game.MapWindow(window);
await promised<{ width: number }>((done) => game.GetGeometry(window, done));
process.stdout.write("open\n");
