/* A game for SDL 1.2: it prints each input that it takes, plays a tone, and saves the number of its
 * sessions. */
#include <SDL/SDL.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

static void tone(void *at, Uint8 *bytes, int length) {
  Sint16 *samples = (Sint16 *)bytes;
  for (int i = 0; i < length / 2; i++)
    samples[i] = (Sint16)(6000 * sin(440 * 6.2832 * (*(int *)at)++ / 44100));
}

static void save(void) {
  char path[1024];
  snprintf(path, sizeof path, "%s/.compatrc", getenv("HOME"));
  FILE *file = fopen(path, "r");
  int before = 0;
  if (file && fscanf(file, "%d", &before) != 1) before = 0;
  if (file) fclose(file);
  printf("sessions %d\n", before);
  file = fopen(path, "w");
  if (file) fprintf(file, "%d\n", before + 1);
  if (file) fclose(file);
}

int main(void) {
  setvbuf(stdout, NULL, _IOLBF, 0);
  if (SDL_Init(SDL_INIT_VIDEO | SDL_INIT_AUDIO | SDL_INIT_JOYSTICK) != 0) {
    printf("SDL_Init: %s\n", SDL_GetError());
    return 1;
  }
  SDL_Surface *screen = SDL_SetVideoMode(1280, 720, 32, SDL_FULLSCREEN);
  int at = 0;
  SDL_AudioSpec spec = {.freq = 44100, .format = AUDIO_S16SYS, .channels = 1, .samples = 1024};
  spec.callback = tone;
  spec.userdata = &at;
  if (SDL_OpenAudio(&spec, NULL) != 0) printf("SDL_OpenAudio: %s\n", SDL_GetError());
  SDL_PauseAudio(0);
  SDL_ShowCursor(SDL_DISABLE);
  SDL_WM_GrabInput(SDL_GRAB_ON);
  if (SDL_NumJoysticks() > 0) SDL_JoystickOpen(0);
  save();
  for (int isRunning = 1, frame = 0; isRunning; frame++) {
    SDL_Event event;
    while (SDL_PollEvent(&event)) {
      if (event.type == SDL_QUIT) isRunning = 0;
      if (event.type == SDL_KEYDOWN) printf("key %s\n", SDL_GetKeyName(event.key.keysym.sym));
      if (event.type == SDL_MOUSEMOTION) printf("look %d %d\n", event.motion.xrel, event.motion.yrel);
      if (event.type == SDL_JOYBUTTONDOWN) printf("pad %d\n", event.jbutton.button);
    }
    SDL_FillRect(screen, NULL, SDL_MapRGB(screen->format, 20, 40, 90));
    SDL_FillRect(screen, &(SDL_Rect){200 + frame % 300, 200, 300, 300},
                 SDL_MapRGB(screen->format, 240, 160, 40));
    SDL_Flip(screen);
    SDL_Delay(16);
  }
  puts("bye");
  SDL_Quit();
  return 0;
}
