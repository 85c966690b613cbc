/** Two short tones, a fifth apart, in Hz. */
const tones = [660, 990];
const toneSeconds = 0.18;
const volume = 0.15;

/**
 * Plays a short signal, also while the tab is hidden. Silent if the browser allows no sound yet, because
 * nobody has touched the page.
 */
export function playWarningSound(): void {
  const context = new AudioContext();
  const end = context.currentTime + tones.length * toneSeconds;
  tones.forEach((frequency, place) => {
    const from = context.currentTime + place * toneSeconds;
    const oscillator = new OscillatorNode(context, { frequency });
    const gain = new GainNode(context, { gain: volume });
    gain.gain.setValueAtTime(volume, from);
    gain.gain.exponentialRampToValueAtTime(0.001, from + toneSeconds);
    oscillator.connect(gain).connect(context.destination);
    oscillator.start(from);
    oscillator.stop(end);
    if (place === tones.length - 1) oscillator.addEventListener("ended", () => void context.close());
  });
}
