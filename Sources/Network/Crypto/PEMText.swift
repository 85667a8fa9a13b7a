import CEmisoraOpenSSL

/// Text with keys and certificates between dashed lines (RFC 7468), by OpenSSL's memory BIOs.
enum PEMText {
    /// The first object of its kind; `nil` where there is none or it cannot be read.
    static func read(_ text: [UInt8], _ parse: (OpaquePointer) -> OpaquePointer?) -> OpaquePointer? {
        guard let count = Int32(exactly: text.count) else { return nil }
        return text.withUnsafeBytes { bytes in
            guard let bio = BIO_new_mem_buf(bytes.baseAddress, count) else { return nil }
            defer { BIO_free(bio) }
            defer { ERR_clear_error() }
            return parse(bio)
        }
    }

    /// What `write` puts into the BIO; `nil` where it fails.
    static func write(_ write: (OpaquePointer) -> Bool) -> [UInt8]? {
        guard let bio = BIO_new(BIO_s_mem()) else { return nil }
        defer { BIO_free(bio) }
        guard write(bio) else { return nil }
        var text = [UInt8](repeating: 0, count: emisora_bio_pending(bio))
        var count = 0
        guard BIO_read_ex(bio, &text, text.count, &count) == 1, count == text.count else { return nil }
        return text
    }
}
