/* A game with SDL 2 as an engine uses it: it prints each input that it takes, plays a tone, and saves the
 * number of its sessions. */
#include <SDL2/SDL.h>
#include <math.h>
#include <stdio.h>

static void tone(void *at, Uint8 *bytes, int length) {
  Sint16 *samples = (Sint16 *)bytes;
  for (int i = 0; i < length / 2; i++)
    samples[i] = (Sint16)(6000 * sin(440 * 6.2832 * (*(int *)at)++ / 48000));
}

static void save(void) {
  char *folder = SDL_GetPrefPath("joypod", "compat"), path[1024];
  SDL_snprintf(path, sizeof path, "%ssave.txt", folder);
  FILE *file = fopen(path, "r");
  int before = 0;
  if (file) {
    if (fscanf(file, "%d", &before) != 1) before = 0;
    fclose(file);
  }
  printf("sessions %d\n", before);
  file = fopen(path, "w");
  if (file) {
    fprintf(file, "%d\n", before + 1);
    fclose(file);
  }
  SDL_free(folder);
}

int main(void) {
  setvbuf(stdout, NULL, _IOLBF, 0);
  if (SDL_Init(SDL_INIT_EVERYTHING) != 0) {
    printf("SDL_Init: %s\n", SDL_GetError());
    return 1;
  }
  SDL_Window *window = SDL_CreateWindow("compat", SDL_WINDOWPOS_CENTERED, SDL_WINDOWPOS_CENTERED, 1280, 720,
                                        SDL_WINDOW_FULLSCREEN_DESKTOP);
  SDL_Renderer *renderer = SDL_CreateRenderer(window, -1, SDL_RENDERER_PRESENTVSYNC);
  int at = 0;
  SDL_AudioSpec spec = {.freq = 48000, .format = AUDIO_S16SYS, .channels = 1, .samples = 1024};
  spec.callback = tone;
  spec.userdata = &at;
  SDL_AudioDeviceID sound = SDL_OpenAudioDevice(NULL, 0, &spec, NULL, 0);
  if (sound == 0) printf("SDL_OpenAudioDevice: %s\n", SDL_GetError());
  SDL_PauseAudioDevice(sound, 0);
  SDL_SetRelativeMouseMode(SDL_TRUE);
  save();
  for (int isRunning = 1, frame = 0; isRunning; frame++) {
    SDL_Event event;
    while (SDL_PollEvent(&event)) {
      if (event.type == SDL_QUIT) isRunning = 0;
      if (event.type == SDL_KEYDOWN) printf("key %s\n", SDL_GetKeyName(event.key.keysym.sym));
      if (event.type == SDL_MOUSEMOTION) printf("look %d %d\n", event.motion.xrel, event.motion.yrel);
      if (event.type == SDL_CONTROLLERDEVICEADDED) SDL_GameControllerOpen(event.cdevice.which);
      if (event.type == SDL_CONTROLLERBUTTONDOWN) {
        printf("pad %s\n", SDL_GameControllerGetStringForButton(event.cbutton.button));
        SDL_GameControllerRumble(SDL_GameControllerFromInstanceID(event.cbutton.which), 0x8000, 0x4000, 500);
      }
    }
    SDL_SetRenderDrawColor(renderer, 20, 40, 90, 255);
    SDL_RenderClear(renderer);
    SDL_SetRenderDrawColor(renderer, 240, 160, 40, 255);
    SDL_RenderFillRect(renderer, &(SDL_Rect){200 + frame % 300, 200, 300, 300});
    SDL_RenderPresent(renderer);
  }
  puts("bye");
  SDL_Quit();
  return 0;
}
