import Emisora

/// The options for a room of a Janus, that `publish` and `watch` have in common.
struct JanusArguments {
    private var options = JanusOptions()
    private var apiSecretFile: String?

    static func options(_ change: @escaping ((inout JanusArguments) -> Void) -> Void) -> [Arguments.Option] {
        func text(
            _ name: String, _ values: String, _ help: String, _ path: WritableKeyPath<JanusOptions, String?>,
            isSecret: Bool = false
        ) -> Arguments.Option {
            .init(name: name, values: values, help: help, isSecret: isSecret) { value in
                change { $0.options[keyPath: path] = value }
                return (1...256).contains(value.utf8.count)
            }
        }
        return [
            text("pin", "PIN", "janus: the room's PIN", \.pin, isSecret: true),
            text("display", "NAME", "janus: the name that others see (the stream's)", \.display),
            text("publisher-id", "ID", "janus: the id of what is published (Janus makes one)", \.publisherID),
            text(
                "room-token", "TOKEN", "janus: what a room with a list of participants asks for", \.roomToken,
                isSecret: true),
            .init(name: "api-secret-file", values: "FILE", help: "janus: the api_secret, if Janus asks for it") {
                file in
                change { $0.apiSecretFile = file }
                return !file.isEmpty
            },
        ]
    }

    /// - Throws: `Arguments.Usage` where options do not fit the URL.
    func options(for url: String) throws -> JanusOptions {
        guard url.lowercased().hasPrefix("janus") else {
            guard options == JanusOptions(), apiSecretFile == nil else {
                throw Arguments.Usage(
                    description: "--pin, --display, --publisher-id, --room-token, --api-secret-file: they are for "
                        + "janus://HOST:PORT/ROOM alone")
            }
            return options
        }
        var options = options
        if let apiSecretFile {
            options.apiSecret = try NetworkArguments.secret(in: apiSecretFile, option: "api-secret-file")
        }
        return options
    }
}
