import EmisoraCore
import Glibc
import Testing

@testable import EmisoraCapture

/// The kernel's side of the seam, as far as it goes without a camera.
@Suite struct LinuxV4L2Tests {
    private func refusal(of path: String) -> CameraError? {
        do throws(CameraError) {
            _ = try CameraLocator(system: LinuxV4L2()).open(path)
            return nil
        } catch {
            return error
        }
    }

    @Test func whatIsNoCameraIsRefusedForWhatItIs() throws {
        #expect(refusal(of: "/dev/null") == .notACamera(path: "/dev/null"))
        #expect(refusal(of: "/proc/self/status") != nil)
        #expect(refusal(of: "/dev/video-none") == .notFound("/dev/video-none"))
        let path = "/tmp/emisora-no-camera-\(getpid())"
        close(open(path, O_CREAT | O_WRONLY, 0o600))
        defer { unlink(path) }
        #expect(refusal(of: path) == .notACamera(path: path))
    }

    @Test func theProcessThatHasADeviceIsNamed() async throws {
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        posix_spawn_file_actions_addopen(&actions, 0, "/dev/full", O_RDWR, 0)
        var child = pid_t()
        let words: [UnsafeMutablePointer<CChar>?] = [strdup("sleep"), strdup("60")]
        defer { words.forEach { free($0) } }
        try #require(posix_spawn(&child, "/bin/sleep", &actions, nil, words + [nil], nil) == 0)
        defer {
            kill(child, SIGKILL)
            waitpid(child, nil, 0)
        }
        let system = LinuxV4L2()
        #expect(await eventually { system.access(to: "/dev/full")?.holders.contains(child) ?? false })
        let access = try #require(system.access(to: "/dev/full"))
        #expect(access.isPermitted)
        #expect(access.group == "root")
        #expect(system.access(to: "/dev/video-none") == nil)
    }

    @Test func aWaitEndsWithAWakeUpAChangeOfNodesOrItsDeadline() throws {
        let folder = "/tmp/emisora-nodes-\(getpid())"
        mkdir(folder, 0o700)
        defer { rmdir(folder) }
        let poller = try LinuxV4L2Poller(folder: folder)
        let far = MonotonicClock.now + .seconds(60)
        poller.wake()
        poller.wake()
        #expect(poller.wait(for: nil, until: far) == .woken)
        // Two wake-ups before a wait are one.
        #expect(poller.wait(for: nil, until: MonotonicClock.now) == [])
        let deadline = MonotonicClock.now + .milliseconds(3)
        #expect(poller.wait(for: nil, until: deadline) == [])
        #expect(MonotonicClock.now >= deadline)
        let path = "\(folder)/video0"
        close(open(path, O_CREAT | O_WRONLY, 0o600))
        #expect(poller.wait(for: nil, until: far) == .nodesChanged)
        chmod(path, 0o660)
        #expect(poller.wait(for: nil, until: far) == .nodesChanged)
        unlink(path)
        #expect(poller.wait(for: nil, until: far) == .nodesChanged)
    }

    @Test func aWakeUpFromAnotherThreadEndsTheWait() throws {
        let poller = try LinuxV4L2Poller(folder: "/tmp")
        let thread = MediaThread()
        try thread.start { _ in poller.wake() }
        let far = MonotonicClock.now + .seconds(60)
        while !poller.wait(for: nil, until: far).contains(.woken) {}
        #expect(MonotonicClock.now < far)
        thread.stop()
    }
}
