// swift-tools-version: 6.2
import PackageDescription

// The house: targets stand on floors, imports only go down (ARCHITECTURE.md; checked by scripts/check-imports).
// Folder names drop the `Emisora` prefix that SwiftPM's package-wide namespace makes necessary.

/// Byte cursors are non-escapable types of our own, which needs this feature in the target that declares them.
let lifetimes: [SwiftSetting] = [.enableExperimentalFeature("Lifetimes")]

let package = Package(
    name: "Emisora",
    products: [
        .library(name: "Emisora", targets: ["Emisora"]),
        .library(name: "EmisoraFiles", targets: ["EmisoraFiles"]),
        .library(name: "EmisoraMicrophone", targets: ["EmisoraMicrophone"]),
        .library(name: "EmisoraScreen", targets: ["EmisoraScreen"]),
        .library(name: "EmisoraTesting", targets: ["EmisoraTesting"]),
        .executable(name: "emisora", targets: ["emisora-cli"]),
        .executable(name: "signaling-server", targets: ["signaling-server"]),
    ],
    targets: [
        // Floor 0: one shim per C library.
        .target(name: "CEmisoraCurl", path: "Sources/C/Curl", linkerSettings: [.linkedLibrary("curl")]),
        .target(name: "CEmisoraVPX", path: "Sources/C/VPX", linkerSettings: [.linkedLibrary("vpx")]),
        .target(name: "CEmisoraOpus", path: "Sources/C/Opus", linkerSettings: [.linkedLibrary("opus")]),
        .target(name: "CEmisoraSRTP", path: "Sources/C/SRTP", linkerSettings: [.linkedLibrary("srtp2")]),
        .target(
            name: "CEmisoraOpenSSL", path: "Sources/C/OpenSSL",
            linkerSettings: [.linkedLibrary("ssl"), .linkedLibrary("crypto")]),
        .target(name: "CEmisoraSCTP", path: "Sources/C/SCTP", linkerSettings: [.linkedLibrary("usrsctp")]),
        .target(name: "CEmisoraYUV", path: "Sources/C/YUV", linkerSettings: [.linkedLibrary("yuv")]),
        .target(
            name: "CEmisoraWebsockets", path: "Sources/C/Websockets",
            linkerSettings: [.linkedLibrary("websockets"), .linkedLibrary("crypto")]),
        .target(name: "CEmisoraRedis", path: "Sources/C/Redis", linkerSettings: [.linkedLibrary("hiredis")]),
        .target(name: "CEmisoraLinux", path: "Sources/C/Linux"),
        .target(name: "CEmisoraJPEG", path: "Sources/C/JPEG", linkerSettings: [.linkedLibrary("turbojpeg")]),
        .target(name: "CEmisoraV4L2", path: "Sources/C/V4L2", linkerSettings: [.linkedLibrary("v4l2")]),
        .target(
            name: "CEmisoraFFmpeg", path: "Sources/C/FFmpeg",
            linkerSettings: [
                .linkedLibrary("avformat"), .linkedLibrary("avcodec"), .linkedLibrary("swresample"),
                .linkedLibrary("swscale"), .linkedLibrary("avutil"),
            ]),
        .target(name: "CEmisoraALSA", path: "Sources/C/ALSA", linkerSettings: [.linkedLibrary("asound")]),
        .target(
            name: "CEmisoraXCB", path: "Sources/C/XCB",
            linkerSettings: ["xcb", "xcb-composite", "xcb-damage", "xcb-randr", "xcb-shm", "xcb-xfixes"].map {
                .linkedLibrary($0)
            }),

        // Floor 1
        .target(name: "EmisoraCore", path: "Sources/Core", swiftSettings: lifetimes),

        // Floor 2
        .target(
            name: "EmisoraRTP", dependencies: ["EmisoraCore"], path: "Sources/Network/RTP",
            swiftSettings: lifetimes),
        .target(name: "EmisoraSDP", dependencies: ["EmisoraCore"], path: "Sources/Network/SDP"),
        .target(
            name: "EmisoraSignalingProtocol", dependencies: ["EmisoraCore"],
            path: "Sources/Network/SignalingProtocol"),
        .target(name: "EmisoraOperations", path: "Sources/Operations"),
        .target(name: "EmisoraJanusProtocol", path: "Sources/Network/JanusProtocol"),
        .target(
            name: "EmisoraCrypto", dependencies: ["EmisoraCore", "CEmisoraOpenSSL"], path: "Sources/Network/Crypto"),
        .target(name: "EmisoraSRTP", dependencies: ["EmisoraCore", "CEmisoraSRTP"], path: "Sources/Network/SRTP"),

        // Floor 2½
        .target(
            name: "EmisoraSTUN", dependencies: ["EmisoraCore", "EmisoraCrypto"], path: "Sources/Network/STUN",
            swiftSettings: lifetimes),
        .target(
            name: "EmisoraDTLS", dependencies: ["EmisoraCore", "EmisoraCrypto", "CEmisoraOpenSSL"],
            path: "Sources/Network/DTLS"),
        .target(
            name: "EmisoraTLS", dependencies: ["EmisoraCore", "EmisoraCrypto", "CEmisoraOpenSSL"],
            path: "Sources/Network/TLS"),

        // Floor 3
        .target(
            name: "EmisoraICE", dependencies: ["EmisoraCore", "EmisoraCrypto", "EmisoraSTUN"],
            path: "Sources/Network/ICE"),
        .target(
            name: "EmisoraTURN", dependencies: ["EmisoraCore", "EmisoraCrypto", "EmisoraSTUN"],
            path: "Sources/Network/TURN"),
        .target(
            name: "EmisoraCongestionControl", dependencies: ["EmisoraCore", "EmisoraRTP"],
            path: "Sources/Network/CongestionControl"),
        .target(
            name: "EmisoraSCTP", dependencies: ["CEmisoraSCTP", "EmisoraCore"], path: "Sources/Network/SCTP"),

        // Floor 4
        .target(
            name: "EmisoraPeerEngine",
            dependencies: [
                "EmisoraCongestionControl", "EmisoraCore", "EmisoraCrypto", "EmisoraDTLS", "EmisoraICE", "EmisoraRTP",
                "EmisoraSCTP", "EmisoraSDP", "EmisoraSRTP", "EmisoraSTUN",
            ],
            path: "Sources/Network/PeerEngine"),

        // Floor 5
        .target(
            name: "EmisoraVideo", dependencies: ["EmisoraCore"], path: "Sources/Media/Video", swiftSettings: lifetimes),
        .target(name: "EmisoraAudio", dependencies: ["EmisoraCore"], path: "Sources/Media/Audio"),
        .target(
            name: "EmisoraCapture",
            dependencies: [
                "CEmisoraJPEG", "CEmisoraLinux", "CEmisoraV4L2", "CEmisoraYUV", "EmisoraAudio", "EmisoraCore",
                "EmisoraVideo",
            ],
            path: "Sources/Media/Capture"),
        .target(
            name: "EmisoraProcessing", dependencies: ["CEmisoraYUV", "EmisoraAudio", "EmisoraCore", "EmisoraVideo"],
            path: "Sources/Media/Processing"),
        .target(
            name: "EmisoraCodecs",
            dependencies: ["CEmisoraOpus", "CEmisoraVPX", "EmisoraAudio", "EmisoraCore", "EmisoraVideo"],
            path: "Sources/Media/Codecs"),

        // Floor 6
        .target(
            name: "EmisoraEventLoop", dependencies: ["CEmisoraLinux", "EmisoraCore"],
            path: "Sources/Network/EventLoop"),
        .target(
            name: "EmisoraSignalingClient",
            dependencies: ["EmisoraSignalingProtocol", "EmisoraWebsocketClient"],
            path: "Sources/Network/SignalingClient"),
        .target(
            name: "EmisoraWebsocketClient", dependencies: ["CEmisoraWebsockets"],
            path: "Sources/Network/WebsocketClient"),

        .target(name: "EmisoraHTTPClient", dependencies: ["CEmisoraCurl"], path: "Sources/Network/HTTPClient"),

        // Floor 7: the public product.
        .target(
            name: "Emisora",
            dependencies: [
                "EmisoraAudio", "EmisoraCapture", "EmisoraCodecs", "EmisoraCore", "EmisoraCrypto", "EmisoraDTLS",
                "EmisoraEventLoop", "EmisoraHTTPClient", "EmisoraICE", "EmisoraJanusProtocol", "EmisoraPeerEngine",
                "EmisoraProcessing", "EmisoraRTP", "EmisoraSCTP", "EmisoraSDP", "EmisoraSTUN", "EmisoraSignalingClient",
                "EmisoraSignalingProtocol", "EmisoraTLS", "EmisoraTURN", "EmisoraVideo", "EmisoraWebsocketClient",
            ],
            path: "Sources/Emisora"),

        // Floor 7, beside it: what needs more libraries is a product of its own.
        .target(
            name: "EmisoraFiles",
            dependencies: ["CEmisoraFFmpeg", "EmisoraAudio", "EmisoraCapture", "EmisoraCore", "EmisoraVideo"],
            path: "Sources/Files"),
        .target(
            name: "EmisoraMicrophone",
            dependencies: ["CEmisoraALSA", "EmisoraAudio", "EmisoraCapture", "EmisoraCore"],
            path: "Sources/Microphone"),
        .target(
            name: "EmisoraScreen", dependencies: ["CEmisoraXCB", "EmisoraCapture", "EmisoraCore", "EmisoraVideo"],
            path: "Sources/Screen"),
        .target(
            name: "EmisoraTesting", dependencies: ["EmisoraAudio", "EmisoraCapture", "EmisoraCore", "EmisoraVideo"],
            path: "Sources/Testing"),

        // Floor 8
        .target(
            name: "EmisoraSignalingServer",
            dependencies: [
                "CEmisoraRedis", "CEmisoraWebsockets", "EmisoraCore", "EmisoraCrypto", "EmisoraOperations",
                "EmisoraSignalingProtocol",
                "EmisoraTLS",
            ],
            path: "signaling/Server"),

        // Floor 9
        .executableTarget(
            name: "emisora-cli",
            dependencies: [
                "Emisora", "EmisoraFiles", "EmisoraMicrophone", "EmisoraOperations", "EmisoraScreen",
                "EmisoraSignalingServer",
            ],
            path: "Sources/emisora-cli"),
        .executableTarget(
            name: "signaling-server", dependencies: ["EmisoraSignalingServer"], path: "signaling/Executable"),

        // Samples: short programs, one idea each.
        .executableTarget(
            name: "BasicVideoCapturer", dependencies: ["Emisora"], path: "samples/BasicVideoCapturer"),
        .executableTarget(name: "TwoPeerLoopback", dependencies: ["Emisora"], path: "samples/TwoPeerLoopback"),
        .executableTarget(name: "CameraPublisher", dependencies: ["Emisora"], path: "samples/CameraPublisher"),
        .executableTarget(name: "CustomCapturer", dependencies: ["Emisora"], path: "samples/CustomCapturer"),
        .executableTarget(name: "MessageEcho", dependencies: ["Emisora"], path: "samples/MessageEcho"),
        .executableTarget(name: "PushFrames", dependencies: ["Emisora"], path: "samples/PushFrames"),
        .executableTarget(name: "WebRTCEchoes", dependencies: ["Emisora"], path: "samples/WebRTCEchoes"),
        .executableTarget(
            name: "ScreenPublisher", dependencies: ["Emisora", "EmisoraScreen"], path: "samples/ScreenPublisher"),

        // Tests: one folder per target.
        .target(
            name: "EmisoraSimulation",
            dependencies: ["EmisoraCore", "EmisoraCrypto", "EmisoraICE", "EmisoraPeerEngine", "EmisoraSTUN"],
            path: "Tests/Simulation"),
        .target(name: "EmisoraTestSupport", path: "Tests/Support"),
        .testTarget(
            name: "EmisoraPeerEngineTests",
            dependencies: [
                "EmisoraCongestionControl", "EmisoraCore", "EmisoraCrypto", "EmisoraDTLS", "EmisoraICE",
                "EmisoraPeerEngine", "EmisoraRTP", "EmisoraSDP", "EmisoraSTUN", "EmisoraSimulation",
            ],
            path: "Tests/PeerEngine"),
        .testTarget(
            name: "EmisoraTests",
            dependencies: [
                "Emisora", "EmisoraAudio", "EmisoraCodecs", "EmisoraCore", "EmisoraCrypto", "EmisoraEventLoop",
                "EmisoraHTTPClient", "EmisoraICE", "EmisoraJanusProtocol", "EmisoraPeerEngine", "EmisoraSDP",
                "EmisoraSTUN", "EmisoraSignalingClient", "EmisoraSignalingProtocol", "EmisoraSignalingServer",
                "EmisoraVideo",
                "EmisoraWebsocketClient",
            ],
            path: "Tests/Emisora"),
        .testTarget(name: "EmisoraHTTPClientTests", dependencies: ["EmisoraHTTPClient"], path: "Tests/HTTPClient"),
        .testTarget(name: "EmisoraCoreTests", dependencies: ["EmisoraCore"], path: "Tests/Core"),
        .testTarget(name: "EmisoraRTPTests", dependencies: ["EmisoraCore", "EmisoraRTP"], path: "Tests/RTP"),
        .testTarget(name: "EmisoraSDPTests", dependencies: ["EmisoraCore", "EmisoraSDP"], path: "Tests/SDP"),
        .testTarget(
            name: "EmisoraSignalingTests",
            dependencies: [
                "EmisoraCore", "EmisoraCrypto", "EmisoraOperations", "EmisoraSignalingClient",
                "EmisoraSignalingProtocol", "EmisoraSignalingServer", "EmisoraWebsocketClient",
            ],
            path: "Tests/Signaling"),
        .testTarget(
            name: "EmisoraCryptoTests",
            dependencies: [
                "CEmisoraOpenSSL", "EmisoraCore", "EmisoraCrypto", "EmisoraDTLS", "EmisoraRTP", "EmisoraSRTP",
            ],
            path: "Tests/Crypto"),
        .testTarget(
            name: "EmisoraICETests",
            dependencies: ["EmisoraCore", "EmisoraCrypto", "EmisoraICE", "EmisoraSTUN", "EmisoraSimulation"],
            path: "Tests/ICE"),
        .testTarget(
            name: "EmisoraOperationsTests", dependencies: ["EmisoraOperations"], path: "Tests/Operations"),
        .testTarget(
            name: "EmisoraSCTPTests",
            dependencies: ["EmisoraCore", "EmisoraEventLoop", "EmisoraSCTP", "EmisoraSimulation"],
            path: "Tests/SCTP"),
        .testTarget(name: "EmisoraTLSTests", dependencies: ["EmisoraCore", "EmisoraTLS"], path: "Tests/TLS"),
        .testTarget(
            name: "EmisoraTURNTests",
            dependencies: [
                "EmisoraCore", "EmisoraCrypto", "EmisoraICE", "EmisoraSTUN", "EmisoraSimulation", "EmisoraTURN",
                "EmisoraTestSupport",
            ],
            path: "Tests/TURN"),
        .testTarget(
            name: "EmisoraCongestionControlTests",
            dependencies: ["EmisoraCongestionControl", "EmisoraCore", "EmisoraRTP", "EmisoraSimulation"],
            path: "Tests/CongestionControl"),
        .testTarget(
            name: "EmisoraMediaTests",
            dependencies: [
                "CEmisoraJPEG", "EmisoraAudio", "EmisoraCapture", "EmisoraCore", "EmisoraTesting", "EmisoraVideo",
            ],
            path: "Tests/Media"),
        .testTarget(
            name: "EmisoraConformanceKitTests",
            dependencies: ["EmisoraAudio", "EmisoraCapture", "EmisoraCore", "EmisoraTesting", "EmisoraVideo"],
            path: "Tests/ConformanceKit"),
        .testTarget(
            name: "EmisoraFilesTests",
            dependencies: [
                "EmisoraAudio", "EmisoraCapture", "EmisoraCore", "EmisoraFiles", "EmisoraProcessing", "EmisoraTesting",
                "EmisoraVideo",
            ],
            path: "Tests/Files"),
        .testTarget(
            name: "EmisoraCodecsTests",
            dependencies: [
                "EmisoraAudio", "EmisoraCapture", "EmisoraCodecs", "EmisoraCore", "EmisoraProcessing", "EmisoraVideo",
            ],
            path: "Tests/Codecs"),
        .testTarget(
            name: "EmisoraCommandLineTests",
            dependencies: ["Emisora", "EmisoraOperations", "EmisoraSignalingServer", "emisora-cli"],
            path: "Tests/CommandLine"),
        .target(
            name: "CEmisoraClockedCard", path: "Tests/Microphone/ClockedCard",
            linkerSettings: [.linkedLibrary("asound"), .linkedLibrary("m")]),
        .testTarget(
            name: "EmisoraMicrophoneTests",
            dependencies: [
                "CEmisoraClockedCard", "EmisoraAudio", "EmisoraCapture", "EmisoraCore", "EmisoraMicrophone",
                "EmisoraTesting",
            ],
            path: "Tests/Microphone", exclude: ["ClockedCard"]),
        .testTarget(
            name: "EmisoraScreenTests",
            dependencies: [
                "CEmisoraXCB", "Emisora", "EmisoraProcessing", "EmisoraScreen", "EmisoraTestSupport", "EmisoraTesting",
            ],
            path: "Tests/Screen"),
        .target(
            name: "EmisoraFuzz",
            dependencies: [
                "EmisoraCore", "EmisoraCrypto", "EmisoraDTLS", "EmisoraICE", "EmisoraPeerEngine", "EmisoraRTP",
                "EmisoraSCTP", "EmisoraSDP", "EmisoraSTUN", "EmisoraSignalingProtocol", "EmisoraSimulation",
                "EmisoraTURN",
            ],
            path: "Tests/Fuzz/Targets", swiftSettings: lifetimes),
        .testTarget(
            name: "EmisoraFuzzTests", dependencies: ["EmisoraCore", "EmisoraFuzz", "EmisoraRTP"],
            path: "Tests/Fuzz/Tests"),
        .executableTarget(
            name: "emisora-bench", dependencies: ["CEmisoraOpus", "CEmisoraVPX", "Emisora"], path: "Tests/Benchmarks"),
        .executableTarget(
            name: "camera-probe", dependencies: ["Emisora", "EmisoraCapture", "EmisoraCore", "EmisoraVideo"],
            path: "Tests/Device/Probe"),
        .testTarget(
            name: "EmisoraEventLoopTests", dependencies: ["EmisoraCore", "EmisoraEventLoop"], path: "Tests/EventLoop"),
    ],
    swiftLanguageModes: [.v6],
    cLanguageStandard: .gnu11
)

// `scripts/fuzz`: needs the fuzzer's runtime, without which it cannot be linked.
if Context.environment["EMISORA_FUZZER"] != nil {
    package.products.append(.executable(name: "emisora-fuzz", targets: ["emisora-fuzz"]))
    package.targets.append(
        .executableTarget(name: "emisora-fuzz", dependencies: ["EmisoraFuzz"], path: "Tests/Fuzz/Fuzzer"))
}
