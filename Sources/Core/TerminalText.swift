/// Text of others' on its way to a terminal, which must not take it for commands.
extension String {
    /// On one line: line ends and whatever else steers a terminal, or the direction of what follows, are spaces.
    package var terminalLine: String { filtered(keepsLines: false) }

    /// As ``terminalLine``, but of several lines.
    package var terminalLines: String { filtered(keepsLines: true) }

    private func filtered(keepsLines: Bool) -> String {
        String(
            UnicodeScalarView(
                unicodeScalars.map { $0.steersTerminals && !(keepsLines && $0 == "\n") ? " " : $0 }))
    }
}

extension Unicode.Scalar {
    /// Controls, as ESC and the one-byte CSI, line ends, and marks without a shape, which turn the direction of what is read.
    /// The two joiners are none of these: scripts and emoji need them.
    package var steersTerminals: Bool {
        switch properties.generalCategory {
        case .control, .lineSeparator, .paragraphSeparator: true
        case .format: self != "\u{200C}" && self != "\u{200D}"
        default: false
        }
    }
}
