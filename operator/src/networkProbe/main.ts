// What a probe pod runs, as `networkProbe.js HOST PORT`: its exit code says whether a connection opens.
import { exitCodes, lastTry } from "./tryConnection.ts";

const [, , host = "", port = ""] = process.argv;
process.exitCode = (await lastTry({ host, port: Number(port) })) ? exitCodes.connected : exitCodes.refused;
