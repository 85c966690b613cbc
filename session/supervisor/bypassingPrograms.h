#pragma once

/* Logs the programs that the shim has noted since the last call, because it cannot emulate sockets, file
 * watches and gamepads for them. Reads at most 4 KiB, and logs at most 16 lines per session. */
void reportBypassingPrograms(void);
