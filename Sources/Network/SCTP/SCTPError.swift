/// Why SCTP could not be set up.
package enum SCTPError: Error, Equatable, Sendable, CustomStringConvertible {
    /// usrsctp refused a call with that `errno`.
    case system(operation: String, code: Int32)

    package var description: String {
        switch self {
        case .system(let operation, let code): "\(operation) failed in usrsctp (errno \(code))."
        }
    }
}
