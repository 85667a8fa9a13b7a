import EmisoraCore

/// An RTCP packet that knows its own head and body, so that ``RTCPWriter`` can write it.
///
/// The writer asks for the length first and writes nothing when the packet does not fit.
package protocol RTCPMessage {
    var packetType: RTCPPacketType { get }
    /// The five bits of the head: a count or a feedback message's format.
    var format: UInt8 { get }
    /// Length of the body in 32-bit words, or why these values cannot be written.
    func bodyWordCount() throws(RTPError) -> Int
    /// Writes exactly that many words.
    @_lifetime(writer: copy writer)
    func writeBody(to writer: inout ByteWriter) throws(ByteError)
}
