import EmisoraVideo
import Glibc

/// How near two pictures are.
public enum PictureQuality {
    /// Peak signal-to-noise ratio of the luma in dB; infinite for equal pictures, `nil` where sizes or formats differ
    /// or have no luma plane.
    public static func psnrY(_ first: VideoFrame, _ second: VideoFrame) -> Double? {
        guard first.width == second.width, first.height == second.height, first.planeCount > 1, second.planeCount > 1
        else { return nil }
        var sum: UInt64 = 0
        first.withUnsafePlanes { a in
            second.withUnsafePlanes { b in
                for row in 0..<first.height {
                    let rowA = row * first.format.stride(ofPlane: 0)
                    let rowB = row * second.format.stride(ofPlane: 0)
                    var rowSum = 0
                    for column in 0..<first.width {
                        let difference = Int(a[0][rowA + column]) - Int(b[0][rowB + column])
                        rowSum += difference * difference
                    }
                    sum += UInt64(rowSum)
                }
            }
        }
        guard sum > 0 else { return .infinity }
        let mean = Double(sum) / Double(first.width * first.height)
        return 10 * log10(255 * 255 / mean)
    }
}
