import EmisoraAudio
import EmisoraCapture
import EmisoraCore
import EmisoraVideo

extension Watch {
    /// ``ConformanceCheck/format`` of pictures.
    ///
    /// - Parameter declared: The capturer's format while it captured, and after.
    func checkFormat(_ declared: [VideoFormat]) throws(Verdict) {
        for format in declared {
            do throws(VideoFrameError) {
                try format.validate()
            } catch {
                throw .failed("no frame can have the format that is declared: \(error)")
            }
        }
        var formats: [VideoFormat] = []
        for arrival in arrivals {
            guard case .picture(let format, let overlaps) = arrival.content else { continue }
            guard !overlaps else {
                throw .failed(
                    "planes of a picture of \(format.size) in \(format.pixelFormat) overlap in memory: planeOffsets is to "
                        + "say where each begins")
            }
            if !formats.contains(format) { formats.append(format) }
        }
        // Frames may differ and change; a declaration that none of them keeps is wrong.
        let isKept = formats.contains { format in
            declared.contains {
                $0.pixelFormat == format.pixelFormat && $0.size == format.size && $0.colorMatrix == format.colorMatrix
                    && $0.colorRange == format.colorRange
            }
        }
        guard isKept || formats.isEmpty else {
            let (said, came) = (declared[0], formats[0])
            throw .failed(
                "format says \(Self.text(said)), but frames are \(Self.text(came)): let format say what frames look like "
                    + "from the start on")
        }
    }

    /// ``ConformanceCheck/format`` of sound.
    func checkFormat(_ declared: AudioFormat) throws(Verdict) {
        do throws(AudioFrameError) {
            try declared.validate()
        } catch {
            throw .failed("no frame can have the format that is declared: \(error)")
        }
        for arrival in arrivals {
            guard case .sound(let format, _) = arrival.content, format != declared else { continue }
            throw .failed(
                "format says \(declared.sampleRate) Hz, \(declared.channels) channels, \(declared.sampleFormat), but a frame "
                    + "has \(format.sampleRate) Hz, \(format.channels) channels, \(format.sampleFormat)")
        }
    }

    private static func text(_ format: VideoFormat) -> String {
        "\(format.pixelFormat) \(format.size) \(format.colorMatrix) \(format.colorRange)"
    }

    /// ``ConformanceCheck/frameRate``. Frames that were reported as dropped or lost count as made.
    func checkRate(_ declared: FrameRate?, _ options: ConformanceOptions) throws(Verdict) -> String? {
        guard arrivals.count >= 2, span > .zero else {
            guard options.isSourceStatic || declared == nil else {
                throw .failed("\(arrivals.count) frames came in \(options.watchDuration.text)")
            }
            return nil
        }
        let measured = Double(accountedFor - 1) / span.inSeconds
        let text = "\((measured * 10).rounded() / 10) frames a second"
        guard let declared else { return "measured \(text); the format gives no rate" }
        let wanted = declared.framesPerSecond
        // One frame more or less at the ends; a machine that gave this process less time cannot give all frames.
        let slack = options.rateTolerance * wanted + 1 / span.inSeconds
        guard measured <= wanted + slack + machine.worstLateness.inSeconds * wanted / span.inSeconds else {
            throw .failed(
                "\(text) come where the format says \(declared): leave frames out, or let format say the rate")
        }
        guard options.isSourceStatic || measured >= (wanted - slack) * machine.share else {
            throw .failed(
                "\(text) come where the format says \(declared): compute each deadline from the start, report frames that "
                    + "were left out with didDrop(.captureLate), or let format say the rate")
        }
        return "measured \(text)"
    }
}
