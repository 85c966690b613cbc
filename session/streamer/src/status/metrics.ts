type Metric = [name: string, type: "counter" | "gauge", help: string, value: number];

/** The figures that the metrics show. */
export interface MetricsSource {
  viewers: number;
  connections: number;
  videoPackets: number;
  videoBytes: number;
  frames: number;
  keyFrameRequests: number;
  nacks: number;
  mediaRestarts: number;
  inputAccepted: number;
  inputRejected: number;
  targetKbps: number;
  queueMs: number;
  loss: number;
}

/** Returns the streamer's metrics in Prometheus' text format. */
export function renderMetrics(source: MetricsSource): string {
  const metrics: Metric[] = [
    ["viewers", "gauge", "Browsers connected.", source.viewers],
    ["connections_total", "counter", "Offers answered, reloads included.", source.connections],
    ["video_packets_total", "counter", "Video packets encoded.", source.videoPackets],
    ["video_bytes_total", "counter", "Bytes of video packets encoded.", source.videoBytes],
    ["video_frames_total", "counter", "Frames encoded.", source.frames],
    ["key_frame_requests_total", "counter", "Key frames that browsers asked for.", source.keyFrameRequests],
    ["nacks_total", "counter", "Requests to send packets again.", source.nacks],
    [
      "media_restarts_total",
      "counter",
      "Media children that exited and were replaced.",
      source.mediaRestarts,
    ],
    ["input_messages_total", "counter", "Input messages applied.", source.inputAccepted],
    [
      "input_messages_rejected_total",
      "counter",
      "Input messages dropped: malformed, or of who only watches.",
      source.inputRejected,
    ],
    ["target_kbps", "gauge", "Bitrate that the rate controller chose.", source.targetKbps],
    ["queue_delay_seconds", "gauge", "Queueing delay on the way to the browser.", source.queueMs / 1_000],
    ["loss_ratio", "gauge", "Packets lost in the last second, 0 to 1.", source.loss],
  ];
  return metrics
    .map(([name, type, help, value]) => {
      const full = `joypod_streamer_${name}`;
      return `# HELP ${full} ${help}\n# TYPE ${full} ${type}\n${full} ${value}\n`;
    })
    .join("");
}
