#ifndef RUNTIME_FOLDER_H
#define RUNTIME_FOLDER_H

/* Creates XDG_RUNTIME_DIR, which only the player may enter, with the machine id that /etc/machine-id links
 * to, and offers the session bus there. Does nothing if the folder is NULL. The id is random unless
 * `machineId` is 32 hexadecimal digits. */
void prepareRuntimeFolder(const char *folder, const char *machineId);

#endif
