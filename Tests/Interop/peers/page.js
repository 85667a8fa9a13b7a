// A browser as a peer: evaluated once in an empty page, gives what browser_peer.py calls.
(() => {
  const connections = {};
  // A peak of 0.1: the same tone as the other peers'.
  const FREQUENCY = 600, PEAK = 0.1, RATE = 30;

  function picture() {
    const canvas = document.createElement('canvas');
    canvas.width = 640;
    canvas.height = 480;
    const context = canvas.getContext('2d');
    const slope = context.createLinearGradient(0, 0, 640, 0);
    slope.addColorStop(0, '#282828');
    slope.addColorStop(1, '#c8c8c8');
    let index = 0;
    const draw = () => {
      context.fillStyle = slope;
      context.fillRect(0, 0, 640, 480);
      context.fillStyle = '#ebebeb';
      context.fillRect((index++ % RATE) * (640 - 64) / RATE, 0, 64, 480);
    };
    draw();
    const timer = setInterval(draw, 1000 / RATE);
    return { track: canvas.captureStream().getVideoTracks()[0], stop: () => clearInterval(timer) };
  }

  function tone() {
    const context = new AudioContext({ sampleRate: 48000 });
    const oscillator = new OscillatorNode(context, { frequency: FREQUENCY });
    const gain = new GainNode(context, { gain: PEAK });
    const destination = new MediaStreamAudioDestinationNode(context, { channelCount: 1 });
    oscillator.connect(gain).connect(destination);
    oscillator.start();
    return { track: destination.stream.getAudioTracks()[0], stop: () => context.close() };
  }

  // Root mean square of one channel after the other.
  function sides(context, source) {
    const splitter = new ChannelSplitterNode(context, { numberOfOutputs: 2 });
    source.connect(splitter);
    const analysers = [0, 1].map((channel) => {
      const analyser = new AnalyserNode(context, { fftSize: 8192 });
      splitter.connect(analyser, channel);
      return analyser;
    });
    return () => analysers.map((analyser) => {
      const samples = new Float32Array(analyser.fftSize);
      analyser.getFloatTimeDomainData(samples);
      return Math.sqrt(samples.reduce((sum, sample) => sum + sample * sample, 0) / samples.length);
    });
  }

  // Level and pitch of the last half second or so.
  function listen(track) {
    const context = new AudioContext({ sampleRate: 48000 });
    const analyser = new AnalyserNode(context, { fftSize: 32768, smoothingTimeConstant: 0 });
    const stream = new MediaStream([track]);
    // Chromium decodes a remote track only where an element plays it.
    const element = new Audio();
    element.muted = true;
    element.srcObject = stream;
    element.play();
    const source = context.createMediaStreamSource(stream);
    source.connect(analyser);
    const channelLevels = sides(context, source);
    return {
      track,
      stop: () => { element.srcObject = null; context.close(); },
      figures() {
        const samples = new Float32Array(analyser.fftSize);
        analyser.getFloatTimeDomainData(samples);
        const levels = [];
        for (let first = 0; first + 960 <= samples.length; first += 960) {
          let sum = 0;
          for (let i = first; i < first + 960; i++) sum += samples[i] * samples[i];
          levels.push(Math.sqrt(sum / 960));
        }
        levels.sort((a, b) => a - b);
        const spectrum = new Float32Array(analyser.frequencyBinCount);
        analyser.getFloatFrequencyData(spectrum);
        let loudest = 0;
        for (let i = 1; i < spectrum.length; i++) if (spectrum[i] > spectrum[loudest]) loudest = i;
        return { channelRMS: channelLevels(), audioRMS: levels[levels.length >> 1], audioFrequency: loudest * 48000 / analyser.fftSize };
      },
    };
  }

  // When the first decoded picture was there, and the longest time between two.
  function look(track) {
    const video = document.createElement('video');
    video.muted = true;
    video.autoplay = true;
    video.srcObject = new MediaStream([track]);
    document.body.append(video);
    const meter = { count: 0, firstAt: null, lastAt: null, longest: 0 };
    const seen = () => {
      const now = performance.now();
      meter.count += 1;
      if (meter.lastAt === null) meter.firstAt = now; else meter.longest = Math.max(meter.longest, now - meter.lastAt);
      meter.lastAt = now;
      video.requestVideoFrameCallback(seen);
    };
    video.requestVideoFrameCallback(seen);
    video.play();
    return {
      track,
      stop: () => video.remove(),
      restartGaps: () => { meter.longest = 0; },
      figures() {
        const open = meter.lastAt === null ? 0 : performance.now() - meter.lastAt;
        return { framesShown: meter.count, firstFrameAt: meter.firstAt, videoWidth: video.videoWidth,
          videoHeight: video.videoHeight,
          longestFrameGap: Math.max(meter.longest, open) / 1000 };
      },
    };
  }

  async function gathered(peer) {
    while (peer.iceGatheringState !== 'complete') {
      await new Promise((done) => peer.addEventListener('icegatheringstatechange', done, { once: true }));
    }
    return peer.localDescription.sdp;
  }

  return {
    open(id, sends, configuration, sendEncodings) {
      const mine = connections[id] = { peer: new RTCPeerConnection(configuration), sends, parts: [] };
      if (sends) {
        for (const source of [tone(), picture()]) {
          if (sendEncodings && source.track.kind === 'video') mine.peer.addTransceiver(source.track, { sendEncodings });
          else mine.peer.addTrack(source.track);
          mine.parts.push(source);
        }
      } else {
        mine.peer.ontrack = (event) => {
          // Told again where it was held: what plays it goes on.
          if (mine.parts.some((part) => part.track === event.track)) return;
          try { event.receiver.jitterBufferTarget = 0; } catch { /* a hint; older browsers lack it */ }
          if (event.track.kind === 'audio') mine.parts.push(mine.sound = listen(event.track));
          else mine.parts.push(mine.pictures = look(event.track));
        };
      }
    },
    // `changes`: pairs of a pattern and what takes its place, before the page itself takes the offer.
    async offer(id, changes = [], kinds = ['audio', 'video']) {
      const { peer, sends } = connections[id];
      if (!sends) for (const kind of kinds) peer.addTransceiver(kind, { direction: 'recvonly' });
      let { sdp } = await peer.createOffer();
      for (const [pattern, text] of changes) sdp = sdp.replaceAll(new RegExp(pattern, 'g'), text);
      await peer.setLocalDescription({ type: 'offer', sdp });
      return gathered(peer);
    },
    // Changes what all its media do, such as `inactive`, and adds others.
    async reoffer(id, direction, kinds) {
      const { peer } = connections[id];
      for (const kind of kinds) peer.addTransceiver(kind);
      for (const transceiver of peer.getTransceivers()) transceiver.direction = direction;
      await peer.setLocalDescription(await peer.createOffer());
      return gathered(peer);
    },
    async answer(id, sdp) {
      const { peer } = connections[id];
      await peer.setRemoteDescription({ type: 'offer', sdp });
      await peer.setLocalDescription(await peer.createAnswer());
      return gathered(peer);
    },
    accept: (id, sdp) => connections[id].peer.setRemoteDescription({ type: 'answer', sdp }),
    addCandidate: (id, candidate) => connections[id].peer.addIceCandidate(candidate),
    descriptions: (id) => [connections[id].peer.localDescription.sdp, connections[id].peer.remoteDescription.sdp],
    async figures(id) {
      const { peer, sends, sound, pictures } = connections[id];
      const figures = { state: peer.connectionState, ...(sound ? sound.figures() : {}),
        ...(pictures ? pictures.figures() : {}), now: performance.now() };
      for (const report of (await peer.getStats()).values()) {
        // Of all paths: more than one may be nominated, and only one of them carries the media.
        if (report.type === 'candidate-pair') figures.pathBytesReceived = (figures.pathBytesReceived || 0) + (report.bytesReceived || 0);
        if (report.type !== (sends ? 'outbound-rtp' : 'inbound-rtp')) continue;
        if (report.kind === 'video') Object.assign(figures, report);
        else figures.audio = { ...report };
      }
      return figures;
    },
    restartGaps: (id) => { if (connections[id].pictures) connections[id].pictures.restartGaps(); },
    close(id) {
      const mine = connections[id];
      mine.parts.forEach((part) => part.stop());
      mine.peer.close();
      delete connections[id];
    },
  };
})()
