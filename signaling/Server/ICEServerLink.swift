import EmisoraSignalingProtocol

/// How an HTTP client is told of STUN and TURN servers (RFC 9725 §4.6): the values of `Link` headers.
enum ICEServerLink {
    static func links(_ server: ICEServerDescription) -> [String] {
        server.urls.map { url in
            var link = "<\(url)>; rel=\"ice-server\""
            if let username = server.username, let credential = server.credential {
                link += "; username=\(quoted(username)); credential=\(quoted(credential)); credential-type=\"password\""
            }
            return link
        }
    }

    /// RFC 9110 §5.6.4.
    private static func quoted(_ text: String) -> String {
        "\"" + text.map { $0 == "\"" || $0 == "\\" ? "\\\($0)" : "\($0)" }.joined() + "\""
    }
}
