// swift-tools-version: 6.2
import PackageDescription

let package = Package(
    name: "Clock",
    dependencies: [.package(name: "Emisora", path: "EMISORA_PATH")],
    targets: [.executableTarget(name: "Clock", dependencies: [.product(name: "Emisora", package: "Emisora")])]
)
