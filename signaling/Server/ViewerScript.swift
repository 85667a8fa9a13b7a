/// The viewer page's program. Every text that came over the network reaches the page as `textContent`.
enum ViewerScript {
    static let javaScript = #"""
        'use strict';
        // Joins the room, offers to receive, shows what comes. The server's PROTOCOL.md describes the messages.

        const room = location.pathname.slice(1);
        // ?relay: by TURN servers only, to find out whether they work.
        const iceTransportPolicy = new URLSearchParams(location.search).has('relay') ? 'relay' : 'all';
        // #token=…: what lets us in. No server is ever told of what stands behind the #.
        const token = new URLSearchParams(location.hash.slice(1)).get('token') || undefined;
        const byId = (id) => document.getElementById(id);
        const video = byId('video');

        // What automated tests read.
        const page = window.emisora = { state: 'connecting', firstFrameMs: null, audioLevel: 0, stats: null, offers: 0,
          stream: null, muted: null };

        let socket = null;
        let retryDelay = 250;
        let joined = false;
        let refused = false;       // the server wants another token, or another page has this session
        let session = null;        // {id, secret} of the last welcome: who we are to a server that we come back to
        let streams = [];          // [{stream, publisher}] of the room
        let wanted = null;         // the stream the person chose, or null for the first
        let iceServers = [];       // those that the server hands out
        let call = null;           // the one subscription, see subscribe()

        document.title = room + ' · Emisora';
        byId('room').textContent = room;

        function show(state, message) {
          page.state = state;
          const pill = byId('state');
          pill.textContent = state;
          pill.className = 'pill' + (state === 'live' ? ' live' : ['server lost', 'stalled'].includes(state) ? ' lost' : '');
          byId('message').textContent = message || '';
          byId('message').hidden = !message;
        }

        // --- signaling ---------------------------------------------------------------------------------------------

        function connect() {
          const scheme = location.protocol === 'https:' ? 'wss://' : 'ws://';
          socket = new WebSocket(scheme + location.host + '/' + room, 'emisora.v1');
          socket.onopen = () => send({ type: 'join', version: 1, room, token, resume: resumption() });
          socket.onmessage = (event) => receive(JSON.parse(event.data));
          socket.onclose = () => {
            joined = false;
            // The stream does not need the server: leave it alone while it flows.
            if (call) call.orphan = true;
            if (refused) return;
            if (!flowing()) show('server lost', 'The server is gone. Trying again …');
            // Any part of the delay, so that the viewers of a server that was restarted do not come all at once.
            setTimeout(connect, retryDelay * Math.random());
            retryDelay = Math.min(retryDelay * 2, 2000);
          };
        }

        function resumption() {
          return session && { ...session, holdings: { receiving: call ? { [call.stream]: [call.id] } : {} } } || undefined;
        }

        // Back in the room: as who we were, or as somebody whom the server does not know.
        function welcomed(message) {
          const resumed = session !== null && session.id === message.id;
          session = message.resume ? { id: message.id, secret: message.resume.secret } : null;
          if (!call) return;
          if (!resumed) call.unknown = true;
          else if (!call.peer.remoteDescription) hangUp('bye');  // the answer may be lost
          else if (call.peer.connectionState === 'disconnected') restartIce(call);
        }

        function send(message) {
          if (socket && socket.readyState === WebSocket.OPEN) socket.send(JSON.stringify(message));
        }

        function receive(message) {
          switch (message.type) {
            case 'welcome':
              joined = true;
              retryDelay = 250;
              streams = message.streams;
              iceServers = message.iceServers || [];
              welcomed(message);
              choose();
              break;
            case 'streamPublished':
              streams = streams.filter((s) => s.stream !== message.stream);
              streams.push(message);
              choose();
              break;
            case 'streamPropertyChanged':
              streams = streams.map((s) => (s.stream === message.stream ? message : s));
              describe();
              break;
            case 'forceDisconnected':
              refused = true;
              hangUp(null);
              show('refused', message.reason ? 'A moderator has ended this: ' + message.reason
                : 'A moderator has ended this.');
              break;
            case 'streamUnpublished':
              streams = streams.filter((s) => s.stream !== message.stream);
              choose();
              break;
            case 'answer':
              if (isCurrent(message)) accept(call, message.sdp);
              break;
            case 'offer':
              if (isCurrent(message)) reaccept(call, message.sdp);
              break;
            case 'candidate':
              if (isCurrent(message)) addCandidate(call, message);
              break;
            case 'subscriptionEnded':
              if (isCurrent(message)) ended(message.reason);
              break;
            case 'error':
              if (message.code === 'takenOver') {
                refused = true;
                show('server lost', message.message);
              } else if (message.inReplyTo === 'join') {
                refused = message.code === 'unauthorized';
                // Pictures that flow need no server.
                if (!flowing()) show('refused', message.message);
              }
              else if (message.inReplyTo === 'subscribe' && isCurrent(message)) ended(message.code);
              break;
          }
        }

        // What the publisher says that its stream has in it: a muted one is live, though nothing moves.
        function describe() {
          const current = call && streams.find((s) => s.stream === call.stream);
          const has = current && current.properties;
          page.stream = call ? call.stream : null;
          page.muted = has ? { video: !has.hasVideo, audio: !has.hasAudio } : null;
          byId('name').textContent = call ? call.stream : '';
          const off = has ? [has.hasVideo ? '' : 'no video', has.hasAudio ? '' : 'no sound'].filter(Boolean) : [];
          byId('muted').textContent = off.join(', ');
          byId('muted').hidden = off.length === 0;
          byId('stage').classList.toggle('dark', !!has && !has.hasVideo);
        }

        // Whether this browser plays something of a stream; one that does not say gets its try.
        function canPlay(target) {
          const names = (target.properties && target.properties.codecs) || [];
          const known = ['audio', 'video'].flatMap((kind) => (RTCRtpReceiver.getCapabilities(kind) || { codecs: [] }).codecs)
            .map((codec) => codec.mimeType.split('/')[1].toLowerCase());
          return names.length === 0 || names.some((name) => known.includes(name.toLowerCase()));
        }

        function isCurrent(message) {
          return call !== null && call.id === message.subscription;
        }

        function newId() {
          const bytes = crypto.getRandomValues(new Uint8Array(16));
          return Array.from(bytes, (b) => b.toString(16).padStart(2, '0')).join('');
        }

        // --- which stream ------------------------------------------------------------------------------------------

        // Brings what is watched into line with what is there.
        function choose() {
          const list = byId('streams');
          list.replaceChildren();
          const target = streams.find((s) => s.stream === wanted) || (wanted === null || !call ? streams[0] : undefined);
          if (streams.length > 1) {
            for (const { stream } of streams) {
              const button = document.createElement('button');
              button.type = 'button';
              button.textContent = stream;
              button.setAttribute('aria-pressed', String(!!target && stream === target.stream));
              button.onclick = () => { wanted = stream; hangUp('bye'); choose(); };
              list.append(button);
            }
          }
          if (call && target && call.stream === target.stream) {
            // The publisher that came back under another id may still send: an orphan that flows is kept.
            if (call.orphan && flowing()) call.publisher = target.publisher;
            if (call.publisher === target.publisher) {
              if (!call.unknown) call.orphan = false;
              return;
            }
          }
          // After a restart of the server the publisher may come back later than we; who does not is told.
          if (call && call.orphan && (flowing() || !call.unknown) && (!target || wanted === null)) return;
          if (call) hangUp('bye');
          describe();
          if (target && joined && !canPlay(target)) {
            show('waiting', target.stream + ' is sent as ' + target.properties.codecs.join(', ')
              + ', which this browser does not play.');
          }
          else if (target && joined) subscribe(target);
          else show('waiting', 'Waiting for a publisher …');
        }

        // --- the connection ----------------------------------------------------------------------------------------

        async function subscribe(target) {
          const peer = new RTCPeerConnection({ iceServers, iceTransportPolicy });
          const mine = call = { id: newId(), stream: target.stream, publisher: target.publisher, peer, orphan: false,
            unknown: false, started: performance.now(), early: [], held: [], bytes: -1, moved: 0, previous: null };
          page.firstFrameMs = null;
          describe();
          show('starting', 'Starting ' + target.stream + ' …');
          const media = new MediaStream();
          video.srcObject = media;
          peer.ontrack = (event) => {
            media.addTrack(event.track);
            try { event.receiver.jitterBufferTarget = 0; } catch { /* a hint; older browsers lack it */ }
            play();
          };
          peer.onicecandidate = (event) => {
            const c = event.candidate;
            const message = { type: 'candidate', subscription: mine.id, candidate: c ? c.candidate : '' };
            if (c) Object.assign(message, { sdpMid: c.sdpMid, sdpMLineIndex: c.sdpMLineIndex,
              usernameFragment: c.usernameFragment });
            if (mine.offered) send(message); else mine.held.push(message);
          };
          peer.onconnectionstatechange = () => {
            if (mine !== call) return;
            if (peer.connectionState === 'failed') ended('connectionFailed');
            // The path broke, as when a phone leaves the house: look for another one before this is given up.
            if (peer.connectionState === 'disconnected') restartIce(mine);
          };
          watchFirstFrame(mine);
          peer.addTransceiver('audio', { direction: 'recvonly' });
          peer.addTransceiver('video', { direction: 'recvonly' });
          const offer = await peer.createOffer();
          await peer.setLocalDescription(offer);
          if (mine !== call) return;
          mine.started = performance.now();
          page.offers += 1;
          send({ type: 'subscribe', subscription: mine.id, stream: mine.stream, sdp: offer.sdp });
          mine.offered = true;
          mine.held.forEach(send);
          mine.held = [];
        }

        // RFC 8445 section 9: pictures go on over the old path until a new one works.
        async function restartIce(mine) {
          // Without the server nobody would answer; it is made up for in welcomed().
          if (!joined || !mine.peer.remoteDescription || mine.peer.signalingState !== 'stable') return;
          await mine.peer.setLocalDescription(await mine.peer.createOffer({ iceRestart: true }));
          if (mine === call) send({ type: 'offer', subscription: mine.id, sdp: mine.peer.localDescription.sdp });
        }

        async function accept(mine, sdp) {
          try {
            await mine.peer.setRemoteDescription({ type: 'answer', sdp });
            for (const c of mine.early) await mine.peer.addIceCandidate(c);
            mine.early = [];
          } catch (error) {
            if (mine === call) ended('The answer could not be used: ' + error.message);
          }
        }

        // The publisher's network has changed. An open offer of ours gives way to its.
        async function reaccept(mine, sdp) {
          try {
            await mine.peer.setRemoteDescription({ type: 'offer', sdp });
            await mine.peer.setLocalDescription();
            if (mine === call) send({ type: 'answer', subscription: mine.id, sdp: mine.peer.localDescription.sdp });
          } catch (error) {
            if (mine === call) ended('The offer could not be used: ' + error.message);
          }
        }

        function addCandidate(mine, message) {
          const c = { candidate: message.candidate, sdpMid: message.sdpMid, sdpMLineIndex: message.sdpMLineIndex,
            usernameFragment: message.usernameFragment };
          if (c.sdpMid === undefined && c.sdpMLineIndex === undefined) c.sdpMLineIndex = 0;
          if (mine.peer.remoteDescription) mine.peer.addIceCandidate(c).catch(() => {});
          else mine.early.push(c);
        }

        function watchFirstFrame(mine) {
          const seen = () => {
            if (mine !== call) return;
            if (page.firstFrameMs === null) {
              page.firstFrameMs = Math.round(performance.now() - mine.started);
              byId('first').textContent = page.firstFrameMs + ' ms';
              byId('stage').style.aspectRatio = video.videoWidth + ' / ' + video.videoHeight;
            }
            mine.moved = performance.now();
            if (page.state !== 'live') show('live', '');
            if (video.requestVideoFrameCallback) video.requestVideoFrameCallback(seen);
          };
          if (video.requestVideoFrameCallback) video.requestVideoFrameCallback(seen);
          else video.addEventListener('loadeddata', seen, { once: true });
        }

        // Whether media came in lately; `moved` is set by every picture on show and by the figures' timer, which alone
        // runs on a hidden page and without video.
        function flowing() {
          const stands = document.hidden || !video.videoWidth || (page.muted && page.muted.video);
          const patience = stands ? 2500 : 600;
          return call !== null && call.moved > 0 && performance.now() - call.moved < patience;
        }

        function ended(reason) {
          const mine = call;
          if (reason === 'signalingLost' && flowing()) {
            // Only the publisher's line to the server broke; see in a moment whether pictures still come.
            mine.orphan = mine.unknown = true;
            return;
          }
          hangUp(null);
          const why = {
            noCommonCodec: 'The publisher has no codec that this browser plays.',
            tooManySubscribers: 'The publisher takes no more viewers.',
            invalidOffer: 'The publisher could not use this browser’s offer.',
          }[reason];
          show('waiting', why || 'Waiting for a publisher …');
          // A stream that is still published gets another try, with a pause.
          if (!mine.retry) mine.retry = setTimeout(() => { if (!call && joined) choose(); }, why ? 5000 : 500);
        }

        function hangUp(reason) {
          if (!call) return;
          if (reason) send({ type: 'bye', subscription: call.id, reason });
          call.peer.close();
          call = null;
          video.srcObject = null;
          describe();
          clearFigures();
        }

        // --- sound -------------------------------------------------------------------------------------------------

        let soundAsked = false;

        async function play() {
          if (!soundAsked) {
            soundAsked = true;
            video.muted = false;
          }
          try {
            await video.play();
          } catch {
            // Browsers that want a click first play silent pictures.
            video.muted = true;
            video.play().catch(() => {});
          }
          byId('sound').hidden = !video.muted;
        }

        byId('sound').onclick = () => {
          video.muted = false;
          byId('sound').hidden = true;
          video.play().catch(() => {});
        };

        // --- figures -----------------------------------------------------------------------------------------------

        const history = [];

        async function measure() {
          const mine = call;
          if (!mine) return note(0, 0);
          const now = { time: performance.now(), bytes: 0, frames: 0, lost: 0, width: 0, height: 0, jitter: null,
            rtt: null, level: 0, video: false };
          (await mine.peer.getStats()).forEach((s) => {
            if (s.type === 'inbound-rtp') {
              now.bytes += s.bytesReceived || 0;
              now.lost += s.packetsLost || 0;
              if (s.kind === 'video') {
                now.video = true;
                now.frames = s.framesDecoded || 0;
                now.width = s.frameWidth || video.videoWidth;
                now.height = s.frameHeight || video.videoHeight;
                now.jitter = s.jitter;
              } else {
                now.level = s.audioLevel || 0;
              }
            } else if (s.type === 'candidate-pair' && s.state === 'succeeded' && (s.nominated || s.selected)) {
              if (s.currentRoundTripTime !== undefined) now.rtt = s.currentRoundTripTime;
            }
          });
          if (mine !== call) return;
          const silent = page.muted && page.muted.video;
          if (now.bytes > mine.bytes && mine.bytes >= 0 && (page.firstFrameMs !== null || silent)) {
            mine.moved = now.time;
            // Where pictures on show are not told of.
            if (page.state === 'stalled' && (silent || !video.requestVideoFrameCallback)) show('live', '');
          }
          // Without pictures to wait for it is the sound that begins.
          if (page.state === 'starting' && silent && now.bytes > 0) {
            mine.moved = now.time;
            show('live', '');
          }
          mine.bytes = now.bytes;
          const before = mine.previous;
          mine.previous = now;
          if (!before) return;
          const seconds = (now.time - before.time) / 1000;
          const fps = (now.frames - before.frames) / seconds;
          const bitrate = (now.bytes - before.bytes) * 8 / seconds;
          page.audioLevel = now.level;
          page.stats = { fps, bitrate, width: now.width, height: now.height, packetsLost: now.lost, jitter: now.jitter,
            roundTripTime: now.rtt, framesDecoded: now.frames, bytesReceived: now.bytes, audioLevel: now.level };
          byId('fps').textContent = fps.toFixed(1);
          byId('size').textContent = now.width ? now.width + ' × ' + now.height : '–';
          byId('bitrate').textContent = bitrate >= 1e6 ? (bitrate / 1e6).toFixed(2) + ' Mbit/s'
            : (bitrate / 1e3).toFixed(0) + ' kbit/s';
          byId('lost').textContent = String(now.lost);
          byId('jitter').textContent = now.jitter === null || now.jitter === undefined ? '–'
            : (now.jitter * 1000).toFixed(1) + ' ms';
          byId('rtt').textContent = now.rtt === null ? '–' : (now.rtt * 1000).toFixed(1) + ' ms';
          byId('level').value = Math.min(1, Math.sqrt(now.level));
          note(fps, bitrate);
        }

        function note(fps, bitrate) {
          history.push({ fps, bitrate });
          while (history.length > 60) history.shift();
          draw();
        }

        function clearFigures() {
          for (const id of ['fps', 'size', 'bitrate', 'lost', 'jitter', 'rtt', 'first']) byId(id).textContent = '–';
          byId('level').value = 0;
          page.audioLevel = 0;
          page.stats = null;
        }

        function draw() {
          const canvas = byId('graph');
          const context = canvas.getContext('2d');
          context.clearRect(0, 0, canvas.width, canvas.height);
          context.strokeStyle = '#262c36';
          context.lineWidth = 1;
          for (const y of [0.25, 0.5, 0.75]) {
            context.beginPath();
            context.moveTo(0, y * canvas.height);
            context.lineTo(canvas.width, y * canvas.height);
            context.stroke();
          }
          for (const [key, colour, least] of [['bitrate', '#4cc2a0', 500e3], ['fps', '#e2b55a', 30]]) {
            const top = Math.max(least, ...history.map((h) => h[key])) * 1.1;
            context.strokeStyle = colour;
            context.lineWidth = 3;
            context.beginPath();
            history.forEach((h, i) => {
              const x = canvas.width * (i + 60 - history.length) / 59;
              const y = canvas.height - 3 - (canvas.height - 6) * h[key] / top;
              if (i) context.lineTo(x, y); else context.moveTo(x, y);
            });
            context.stroke();
          }
        }

        window.addEventListener('pagehide', () => { hangUp('bye'); send({ type: 'leave' }); });
        setInterval(measure, 1000);
        // An orphan has nobody to say that it ended: its silence does.
        setInterval(() => { if (call && call.orphan && call.moved > 0 && !flowing()) ended('signalingLost'); }, 200);
        // A publisher that is cut off is waited for; what is on show meanwhile is not live.
        setInterval(() => {
          if (call && page.state === 'live' && !document.hidden && performance.now() - call.moved > 3000)
            show('stalled', 'No pictures are coming …');
        }, 500);
        // Another token in the address bar is no new page by itself.
        window.addEventListener('hashchange', () => location.reload());
        connect();

        """#
}
