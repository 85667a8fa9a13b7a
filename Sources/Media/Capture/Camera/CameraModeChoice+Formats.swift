extension CameraModeChoice {
    /// The formats that become pictures here, those that cost least last: the encoder takes NV12 and I420 as they are,
    /// packed 4:2:2 costs a conversion, and a JPEG half an encode. One piece of memory before several.
    private static let decodable: [FourCC] = [
        .mjpeg, .uyvy, .yu12Multiplanar, .yu12, .nv12Multiplanar, .nv12,
    ]

    /// The higher the cheaper; 0 for a format that is not decoded.
    static func rank(of fourcc: FourCC) -> Int {
        // Both packed orders cost the same.
        (decodable.firstIndex(of: fourcc == .yuyv ? .uyvy : fourcc) ?? -1) + 1
    }

    /// Why pictures in this format cannot be shown; `nil` where they can.
    static func obstacle(of fourcc: FourCC) -> String? {
        guard rank(of: fourcc) == 0 else { return nil }
        return "\(fourcc) (\(kind(of: fourcc))) is not decoded"
    }

    /// What kind of data it is, for people.
    private static func kind(of fourcc: FourCC) -> String {
        let name = fourcc.description
        if ["H264", "AVC1", "M264", "S264", "HEVC", "VP80", "VP90", "MPG4", "MPG2", "H263", "XVID", "AV1F"].contains(
            name)
        {
            return "compressed video"
        }
        if ["GREY", "Y10 ", "Y12 ", "Y14 ", "Y16 ", "Y16 -BE", "Y8I ", "Y12I", "Y10B", "Y10P", "Y04 ", "Y06 "].contains(
            name)
        {
            return "greyscale"
        }
        if ["Z16 ", "INZI", "INVZ", "CNF4", "W10 "].contains(name) { return "depth" }
        // Raw sensor data: all orders of red, green and blue under a filter, at 8 to 16 bits, plain, packed, compressed.
        let bayer = ["BA81", "GBRG", "GRBG", "RGGB", "BYR2"]
        let orders = ["BG", "GB", "GR", "BA", "RG", "pB", "pG", "pg", "pR", "aB", "aG", "ag", "aR", "bB", "bG"]
        let depths = ["10", "12", "14", "16", "AA", "CC", "EE", "A8"]
        if bayer.contains(name)
            || orders.contains(String(name.prefix(2))) && depths.contains(where: { name.hasSuffix($0) })
        {
            return "raw Bayer"
        }
        return "another pixel format"
    }
}
