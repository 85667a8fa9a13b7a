/// `GET /`: the rooms that are live now.
enum RoomListPage {
    /// Names come from the checked alphabet `[A-Za-z0-9_-]`: there is nothing to escape.
    ///
    /// - Parameter rooms: `nil` where the rooms are nobody's business who has no token.
    static func html(rooms: [(name: String, streams: [String], participants: Int)]?) -> String {
        let list: String
        if let rooms {
            list =
                rooms.isEmpty
                ? """
                <p class="empty">Nobody is here yet. <code>emisora publish ws://HOST:PORT/demo</code> opens the room
                <a href="/demo">demo</a>.</p>
                """
                : "<ul class=\"rooms\">\n" + rooms.map(item).joined(separator: "\n") + "\n</ul>"
        } else {
            list = "<p class=\"empty\">Rooms are not listed here. Open the address that you were given.</p>"
        }
        return """
            <!doctype html>
            <html lang="en">
            <head>
            <meta charset="utf-8">
            <meta name="viewport" content="width=device-width, initial-scale=1">
            <title>Emisora</title>
            <link rel="icon" href="data:,">
            <link rel="stylesheet" href="/assets/style.css">
            </head>
            <body class="list">
            <header><span class="brand">Emisora</span></header>
            <main>
            <h1>Live rooms</h1>
            \(list)
            </main>
            </body>
            </html>

            """
    }

    private static func item(_ room: (name: String, streams: [String], participants: Int)) -> String {
        let streams = room.streams.isEmpty ? "waiting for a publisher" : room.streams.joined(separator: ", ")
        let live = room.streams.isEmpty ? "" : " class=\"live\""
        return """
            <li\(live)><a href="/\(room.name)"><strong>\(room.name)</strong><span>\(streams)</span>\
            <em>\(room.participants) here</em></a></li>
            """
    }
}
