#ifndef GAME_ENVIRONMENT_H
#define GAME_ENVIRONMENT_H

/* Sets the variables of the file game.env in this folder, one NAME=value per line. Does nothing without
 * the file. Call it when display and sound exist: the streamer writes the file before. */
void loadGameEnvironment(const char *folder);

/* Removes the variables that the kubelet and the container runtime add for the cluster: KUBERNETES_* and
 * HOSTNAME. */
void removeClusterVariables(void);

#endif
