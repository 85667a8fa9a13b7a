// Messages beside pictures: whatever a viewer sends on a data channel comes back on it, until it says "close".
// Run it beside a server (`swift run signaling-server`): swift run MessageEcho ws://127.0.0.1:8080/echo
import Emisora
import Glibc

func echo(_ channel: DataChannel) async {
    for await message in channel.messages {
        if message == .text("close") { return channel.close() }
        do {
            // A viewer that takes nothing must not make everything wait here that it sends.
            await channel.bufferedAmountLow(threshold: 1_000_000)
            try channel.send(message)
        } catch {
            print("\(String(reflecting: channel.label)): \(error)")
        }
    }
}

let url = CommandLine.arguments.dropFirst().first ?? "ws://127.0.0.1:8080/echo"
do {
    let session = try await Session.connect(to: url)
    let publisher = Publisher(
        videoCapture: PatternCapture(width: 320, height: 240), options: .init(usesDataChannels: true))
    try await session.publish(publisher)
    print("Publishing to \(url)")
    Task {
        for await channel in publisher.dataChannels {
            Task {
                await echo(channel)
                // Quoted: a peer's text is not to steer the terminal.
                print("\(String(reflecting: channel.label)) of \(channel.connectionID ?? "nobody"): closed")
            }
        }
    }
    for await event in session.events { print(event) }
} catch {
    print(error)
    exit(1)
}
