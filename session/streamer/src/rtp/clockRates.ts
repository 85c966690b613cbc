/** RTP timestamps a second of every video codec. */
export const videoClockRate = 90_000;

/** RTP timestamps a second of Opus, whatever it was sampled at. */
export const audioClockRate = 48_000;
