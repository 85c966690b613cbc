/* Paces frames at the display's refresh rate, for drivers that cannot (see pacing.c). */
#pragma once

#include <stdint.h>

/* Returns the number of refreshes that a swap of this drawable waits for. */
int swapIntervalOf(uint64_t drawable);

/* Sets that number. Negative intervals, which allow a late swap to tear, pace as positive ones. */
void setSwapInterval(uint64_t drawable, int interval);

/* Waits until the drawable's next frame is due. Called after each swap. */
void waitForRefresh(uint64_t drawable);

/* Returns the library's symbol. Both are NULL if the library or the symbol does not exist. */
void *symbolOf(void **library, const char *file, const char *name);
