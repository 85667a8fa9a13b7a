import Emisora

/// What happens to a camera while it is published, in words. Losses and drops are in the figures already.
enum CameraNotes {
    @Sendable static func note(_ event: CameraEvent) {
        if let text = text(of: event) { Terminal.note(text) }
    }

    static func text(of event: CameraEvent) -> String? {
        switch event {
        case .modeChosen(let mode, let camera, let reason): "\(camera.card) (\(camera.path)): \(mode): \(reason)"
        case .interruptionBegan(.unplugged): "The camera was interrupted: unplugged. The stream goes on without it."
        case .interruptionBegan(.stalled): "The camera was interrupted: no pictures come. It is started anew."
        case .interruptionBegan(.sourceChanged): "The camera was interrupted: its input changed. It is opened anew."
        case .interruptionBegan(.failed(let error)): "The camera was interrupted: \(error). It is opened anew."
        case .interruptionEnded(let duration): "The camera is back after \(seconds(duration)) s."
        case .rateMissed(let negotiated, let measured):
            "The camera gives \(tenths(measured)) pictures a second; \(negotiated) were agreed. In the dark, exposure takes longer."
        case .framesLostByDriver, .framesDropped: nil
        }
    }

    private static func seconds(_ duration: Duration) -> String { tenths(duration / .seconds(1)) }

    private static func tenths(_ value: Double) -> String { "\((value * 10).rounded() / 10)" }
}
