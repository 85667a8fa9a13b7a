"""WHEP in a browser, with what a player does beyond the first answer: candidates, an ICE restart, the end."""
PLAY = """(async () => {
    const peer = window.peer = new RTCPeerConnection();
    for (const kind of ['audio', 'video']) peer.addTransceiver(kind, {direction: 'recvonly'});
    const video = window.player = document.createElement('video');
    video.autoplay = true; video.muted = true;
    peer.ontrack = (e) => { if (e.track.kind === 'video') video.srcObject = new MediaStream([e.track]); };
    await peer.setLocalDescription(await peer.createOffer());
    const response = await fetch('/whep/demo', {method: 'POST', headers: {'Content-Type': 'application/sdp'},
                                                body: peer.localDescription.sdp});
    const sdp = await response.text();
    if (response.status !== 201) return {status: response.status, sdp};
    await peer.setRemoteDescription({type: 'answer', sdp});
    window.resource = response.headers.get('Location');
    window.patch = (body, tag) => fetch(resource, {method: 'PATCH', body,
        headers: {'Content-Type': 'application/trickle-ice-sdpfrag', ...(tag ? {'If-Match': tag} : {})}});
    // What of a description belongs into a fragment.
    window.fragment = (sdp) => sdp.split('\\r\\n').filter((line) =>
        /^(m=|a=(group|mid|ice-ufrag|ice-pwd|candidate|end-of-candidates))/.test(line)).join('\\r\\n') + '\\r\\n';
    return {status: response.status, etag: response.headers.get('ETag'), sdp};
})()"""

RESTART = """(async () => {
    await peer.setLocalDescription(await peer.createOffer({iceRestart: true}));
    const response = await patch(fragment(peer.localDescription.sdp), '*');
    const text = await response.text();
    if (response.status !== 200) return {status: response.status, text};
    const value = (name) => text.match(new RegExp('^a=' + name + ':(.*)$', 'm'))[1].trim();
    const candidates = text.split('\\r\\n').filter((line) => line.startsWith('a=candidate:'));
    let placed = false;
    const answer = peer.remoteDescription.sdp.split('\\r\\n')
        .filter((line) => !/^a=(candidate|end-of-candidates)/.test(line))
        .map((line) => line.replace(/^a=ice-ufrag:.*/, 'a=ice-ufrag:' + value('ice-ufrag'))
                           .replace(/^a=ice-pwd:.*/, 'a=ice-pwd:' + value('ice-pwd')))
        .flatMap((line) => { if (placed || !line.startsWith('a=mid:')) return [line];
                             placed = true; return [line, ...candidates]; });
    await peer.setRemoteDescription({type: 'answer', sdp: answer.join('\\r\\n')});
    return {status: response.status, etag: response.headers.get('ETag'), type: response.headers.get('Content-Type'),
            ufrag: value('ice-ufrag'), candidates: candidates.length};
})()"""

DECODED = """(async () => { for (const s of (await peer.getStats()).values())
    if (s.type === 'inbound-rtp' && s.kind === 'video') return s.framesDecoded || 0; return 0; })()"""


def test_a_player_restarts_ice_and_goes_on_playing(server, publish, chromium):
    publisher = publish("demo", "--video", "pattern", "--audio", "tone")
    chromium.open(server.http("/healthz"))
    played = chromium.evaluate(PLAY)
    assert played["status"] == 201, played
    # What a page may read of the response.
    assert played["etag"] and "a=sendonly" in played["sdp"]
    chromium.wait_for(f"{DECODED}.then((n) => n >= 30)", 60, "30 decoded pictures")
    trickled = "(async () => (await patch(fragment(peer.localDescription.sdp), %s)).status)()"
    assert chromium.evaluate(trickled % "null") == 428
    assert chromium.evaluate(trickled % "'\"other\"'") == 412
    assert chromium.evaluate(trickled % repr(played["etag"])) == 204

    before = chromium.evaluate(DECODED)
    renewed = chromium.evaluate(RESTART)
    assert renewed["status"] == 200, renewed
    assert renewed["type"] == "application/trickle-ice-sdpfrag"
    assert renewed["etag"] not in (None, played["etag"]) and renewed["candidates"] > 0
    assert f"a=ice-ufrag:{renewed['ufrag']}" not in played["sdp"]
    assert chromium.evaluate(trickled % repr(played["etag"])) == 412
    assert chromium.evaluate(trickled % repr(renewed["etag"])) == 204
    # The pair in use is one of the new credentials.
    chromium.wait_for(
        "(async () => { const all = await peer.getStats();"
        " for (const s of all.values()) if (s.type === 'transport' && s.selectedCandidatePairId)"
        "   return all.get(all.get(s.selectedCandidatePairId).localCandidateId).usernameFragment"
        "     === peer.localDescription.sdp.match(/a=ice-ufrag:(.*)/)[1].trim();"
        " return false; })()", 60, "a path of the new credentials")
    chromium.wait_for(f"{DECODED}.then((n) => n >= {before + 90})", 30, "pictures after the restart")

    assert chromium.evaluate("fetch(resource, {method: 'DELETE'}).then((r) => r.status)") == 200
    publisher.wait_for_text("A viewer left")
    assert publisher.interrupt() == 0
    assert publisher.figures()["subscribersTotal"] == 1
