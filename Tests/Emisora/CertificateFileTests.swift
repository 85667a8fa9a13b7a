import EmisoraCrypto
import Foundation
import Testing

@testable import Emisora

@Suite struct CertificateFileTests {
    private static let now: Int64 = 1_800_000_000

    private struct Folder {
        let path: String
        var file: String { path + "/identity.pem" }

        init() throws {
            path = NSTemporaryDirectory() + "certificate-" + UUID().uuidString
            try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: false)
        }

        func remove() { try? FileManager.default.removeItem(atPath: path) }
        var names: [String] { (try? FileManager.default.contentsOfDirectory(atPath: path)) ?? [] }
    }

    @Test func aFileIsMadeForItsOwnerAloneAndUsedFromThenOn() throws {
        let folder = try Folder()
        defer { folder.remove() }
        let made = try CertificateFile(path: folder.file).certificate(unixTime: Self.now)
        let mode = try FileManager.default.attributesOfItem(atPath: folder.file)[.posixPermissions] as? NSNumber
        #expect(mode?.intValue == 0o600)
        let again = try CertificateFile(path: folder.file).certificate(unixTime: Self.now + 86_400)
        #expect(again.fingerprint == made.fingerprint)
        #expect(folder.names == ["identity.pem"])
    }

    @Test func aCertificateIsReplacedADayBeforeItExpires() throws {
        let folder = try Folder()
        defer { folder.remove() }
        let file = CertificateFile(path: folder.file)
        let made = try file.certificate(unixTime: Self.now)
        #expect(try file.certificate(unixTime: Self.now + 29 * 86_400 - 1).fingerprint == made.fingerprint)
        let renewed = try file.certificate(unixTime: Self.now + 29 * 86_400)
        #expect(renewed.fingerprint != made.fingerprint)
        #expect(try file.certificate(unixTime: Self.now + 30 * 86_400).fingerprint == renewed.fingerprint)
        #expect(folder.names == ["identity.pem"])
    }

    @Test func aKeyThatOthersMayReadIsRefused() throws {
        let folder = try Folder()
        defer { folder.remove() }
        _ = try CertificateFile(path: folder.file).certificate(unixTime: Self.now)
        try FileManager.default.setAttributes([.posixPermissions: 0o640], ofItemAtPath: folder.file)
        let error = #expect(throws: SessionError.self) {
            try CertificateFile(path: folder.file).certificate(unixTime: Self.now)
        }
        #expect("\(try #require(error))".contains("chmod 600 \(folder.file)"))
    }

    @Test func whatIsNoCertificateIsNeverOverwritten() throws {
        let folder = try Folder()
        defer { folder.remove() }
        try "my notes\n".write(toFile: folder.file, atomically: true, encoding: .utf8)
        try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: folder.file)
        #expect(throws: SessionError.self) { try CertificateFile(path: folder.file).certificate(unixTime: Self.now) }
        #expect(try String(contentsOfFile: folder.file, encoding: .utf8) == "my notes\n")
        let nowhere = CertificateFile(path: folder.path + "/none/identity.pem")
        #expect(throws: SessionError.self) { try nowhere.certificate(unixTime: Self.now) }
    }

    @Test func sessionsThatBeginTogetherAgreeOnOneCertificate() async throws {
        let folder = try Folder()
        defer { folder.remove() }
        let path = folder.file
        let fingerprints = try await withThrowingTaskGroup(of: String.self) { group in
            for _ in 0..<16 {
                group.addTask { try CertificateFile(path: path).certificate(unixTime: Self.now).fingerprint.text }
            }
            return try await group.reduce(into: Set<String>()) { $0.insert($1) }
        }
        #expect(fingerprints.count == 1)
        #expect(folder.names == ["identity.pem"])
    }
}
