/**
 * Lines of the streamer's log, one JSON object each, that others read: `kubectl joypod session` takes a
 * launch's last moments from them. Sessions of other versions say the same, so none is reworded.
 */
export const streamerMessages = {
  /** A viewer's offer has its SDP answer. */
  viewerAnswered: "A viewer was answered.",
  /** A viewer's connection has come into the state that the line names in `state`. */
  viewerConnectionChanged: "A viewer's connection changed.",
} as const;
