// Program of a probe pod, run as `networkProbe.js HOST PORT`. The exit code reports whether a connection
// opens.
import { exitCodes, canReach } from "./tryConnection.ts";

const [, , host = "", port = ""] = process.argv;
process.exitCode = (await canReach({ host, port: Number(port) })) ? exitCodes.connected : exitCodes.refused;
