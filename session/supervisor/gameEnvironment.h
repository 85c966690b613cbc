#ifndef GAME_ENVIRONMENT_H
#define GAME_ENVIRONMENT_H

/* Sets the variables of the streamer's file game.env in this folder, one NAME=value a line; nothing without
 * the file. Call it when display and sound are there: the file is written before. */
void takeOverEnvironment(const char *folder);

#endif
