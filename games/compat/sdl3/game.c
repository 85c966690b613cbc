/* A game with SDL 3 as an engine uses it: it prints each input that it takes, plays a tone, and saves the
 * number of its sessions. */
#include <SDL3/SDL.h>
#include <math.h>
#include <stdio.h>

static void SDLCALL tone(void *at, SDL_AudioStream *stream, int more, int total) {
  (void)total;
  for (; more > 0; more -= 2) {
    Sint16 sample = (Sint16)(6000 * sin(440 * 6.2832 * (*(int *)at)++ / 48000));
    SDL_PutAudioStreamData(stream, &sample, sizeof sample);
  }
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
  if (!SDL_Init(SDL_INIT_VIDEO | SDL_INIT_AUDIO | SDL_INIT_GAMEPAD | SDL_INIT_HAPTIC)) {
    printf("SDL_Init: %s\n", SDL_GetError());
    return 1;
  }
  SDL_Window *window;
  SDL_Renderer *renderer;
  SDL_CreateWindowAndRenderer("compat", 1280, 720, SDL_WINDOW_FULLSCREEN, &window, &renderer);
  SDL_SetRenderVSync(renderer, 1);
  int at = 0;
  SDL_AudioSpec spec = {.freq = 48000, .format = SDL_AUDIO_S16, .channels = 1};
  SDL_AudioStream *sound = SDL_OpenAudioDeviceStream(SDL_AUDIO_DEVICE_DEFAULT_PLAYBACK, &spec, tone, &at);
  if (!sound) printf("SDL_OpenAudioDeviceStream: %s\n", SDL_GetError());
  SDL_ResumeAudioStreamDevice(sound);
  SDL_SetWindowRelativeMouseMode(window, true);
  save();
  for (int isRunning = 1, frame = 0; isRunning; frame++) {
    SDL_Event event;
    while (SDL_PollEvent(&event)) {
      if (event.type == SDL_EVENT_QUIT) isRunning = 0;
      if (event.type == SDL_EVENT_KEY_DOWN) printf("key %s\n", SDL_GetKeyName(event.key.key));
      if (event.type == SDL_EVENT_MOUSE_MOTION) printf("look %g %g\n", event.motion.xrel, event.motion.yrel);
      if (event.type == SDL_EVENT_GAMEPAD_ADDED) SDL_OpenGamepad(event.gdevice.which);
      if (event.type == SDL_EVENT_GAMEPAD_BUTTON_DOWN) {
        printf("pad %s\n", SDL_GetGamepadStringForButton(event.gbutton.button));
        SDL_RumbleGamepad(SDL_GetGamepadFromID(event.gbutton.which), 0x8000, 0x4000, 500);
      }
    }
    SDL_SetRenderDrawColor(renderer, 20, 40, 90, 255);
    SDL_RenderClear(renderer);
    SDL_SetRenderDrawColor(renderer, 240, 160, 40, 255);
    SDL_RenderFillRect(renderer, &(SDL_FRect){200 + frame % 300, 200, 300, 300});
    SDL_RenderPresent(renderer);
  }
  puts("bye");
  SDL_Quit();
  return 0;
}
