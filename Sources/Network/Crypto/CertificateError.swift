/// Why a file's certificate cannot be ours, in words for the person who named the file.
package enum CertificateError: Error, Hashable, Sendable, CustomStringConvertible {
    case noPrivateKey
    case noCertificate
    case keyOfAnother
    case unsuitableKey

    package var description: String {
        switch self {
        case .noPrivateKey: "It holds no private key in PEM without a password (-----BEGIN PRIVATE KEY-----)."
        case .noCertificate: "It holds no certificate in PEM (-----BEGIN CERTIFICATE-----)."
        case .keyOfAnother: "Its private key is not that of its certificate."
        case .unsuitableKey:
            "Its key is of a kind that peers refuse; use an elliptic curve (P-256) or RSA of 2048 bits."
        }
    }
}
