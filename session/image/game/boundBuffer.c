/*
 * Limits the buffer that ALSA's PulseAudio plugin offers.
 *
 * A program that sets no buffer size gets the largest, which is 4 MiB in Debian's plugin: sound would be
 * heard up to 22 seconds late. The image's plugin calls this function instead of the one in libasound.
 */
#include <alsa/asoundlib.h>
#include <alsa/pcm_external.h>

/* 0.34 s of CD sound. Two periods of 4096 stereo samples, the largest that engines ask for, still fit. */
enum { MAX_BUFFER_BYTES = 65536, MAX_PERIOD_BYTES = MAX_BUFFER_BYTES / 2 };

int joy_pcm_ioplug_set_param_minmax(snd_pcm_ioplug_t *plugin, int type, unsigned min, unsigned max);

int joy_pcm_ioplug_set_param_minmax(snd_pcm_ioplug_t *plugin, int type, unsigned min, unsigned max) {
  if (type == SND_PCM_IOPLUG_HW_BUFFER_BYTES) max = MAX_BUFFER_BYTES;
  if (type == SND_PCM_IOPLUG_HW_PERIOD_BYTES) max = MAX_PERIOD_BYTES;
  return snd_pcm_ioplug_set_param_minmax(plugin, type, min, max);
}
