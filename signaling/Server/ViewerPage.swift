/// `GET /ROOM`: the same page for every room; its script reads the room from the address.
enum ViewerPage {
    static let html = #"""
        <!doctype html>
        <html lang="en">
        <head>
        <meta charset="utf-8">
        <meta name="viewport" content="width=device-width, initial-scale=1">
        <title>Emisora</title>
        <link rel="icon" href="data:,">
        <link rel="stylesheet" href="/assets/style.css">
        <script src="/assets/viewer.js" defer></script>
        </head>
        <body>
        <header>
          <a class="brand" href="/">Emisora</a>
          <span id="room"></span>
          <span id="state" class="pill" role="status">connecting</span>
          <span id="name"></span>
          <span id="muted" class="pill" role="status" hidden></span>
          <nav id="streams" aria-label="Streams"></nav>
        </header>
        <main>
          <div id="stage">
            <video id="video" playsinline autoplay muted></video>
            <p id="message">Connecting to the server …</p>
            <button id="sound" type="button" hidden>Sound on</button>
          </div>
          <section id="figures" aria-label="Live figures">
            <dl>
              <div><dt>Frame rate</dt><dd id="fps">–</dd></div>
              <div><dt>Picture</dt><dd id="size">–</dd></div>
              <div><dt>Bitrate</dt><dd id="bitrate">–</dd></div>
              <div><dt>Packets lost</dt><dd id="lost">–</dd></div>
              <div><dt>Jitter</dt><dd id="jitter">–</dd></div>
              <div><dt>Round trip</dt><dd id="rtt">–</dd></div>
              <div><dt>Sound</dt><dd><meter id="level" min="0" max="1" value="0"></meter></dd></div>
              <div><dt>First picture</dt><dd id="first">–</dd></div>
            </dl>
            <figure>
              <canvas id="graph" width="640" height="120"></canvas>
              <figcaption><i class="bits"></i> bitrate <i class="frames"></i> frames a second, last minute</figcaption>
            </figure>
          </section>
        </main>
        </body>
        </html>

        """#
}
