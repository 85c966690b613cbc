// What a probe pod runs, as `networkProbe.js HOST PORT`: its exit code says whether a connection opens.
import { exitCodes } from "./exitCodes.ts";
import { lastTry } from "./lastTry.ts";

const [, , host = "", port = ""] = process.argv;
process.exitCode = (await lastTry({ host, port: Number(port) })) ? exitCodes.connected : exitCodes.refused;
