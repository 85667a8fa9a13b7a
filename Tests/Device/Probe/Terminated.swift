import EmisoraCapture
import Glibc

/// SIGTERM, which `CameraProbe` has blocked, as something to wait for.
enum Terminated {
    static func wait() async {
        await withCheckedContinuation { continuation in
            let thread = MediaThread()
            do {
                try thread.start { _ in
                    var signals = sigset_t()
                    sigemptyset(&signals)
                    sigaddset(&signals, SIGTERM)
                    var number: Int32 = 0
                    while sigwait(&signals, &number) != 0 {}
                    continuation.resume()
                }
            } catch {
                CameraProbe.tell("camera-probe: \(error)")
                continuation.resume()
            }
        }
    }
}
