import Testing

@testable import EmisoraOperations

@Suite struct PrometheusTextTests {
    @Test("families are written with help and type, values of labels and helps with their escapes")
    func families() {
        var text = PrometheusText()
        text.family("a_total", .counter, "Back\\slash\nand \"quote\".", 3)
        text.family("b", .gauge, "B.", [.init(["x": "a\\b\"c\nd", "y": "ä"], 0.25), .init(["x": ""], -.infinity)])
        text.family("none", .gauge, "Nothing.", [])
        text.family("c_total", .counter, "C.", by: "code", ["z": 1, "a": 18_446_744_073_709_551_615])
        #expect(
            text.body == #"""
                # HELP a_total Back\\slash\nand "quote".
                # TYPE a_total counter
                a_total 3
                # HELP b B.
                # TYPE b gauge
                b{x="a\\b\"c\nd",y="ä"} 0.25
                b{x=""} -Inf
                # HELP c_total C.
                # TYPE c_total counter
                c_total{code="a"} 1.8446744073709552e+19
                c_total{code="z"} 1

                """#)
    }

    @Test("a histogram's buckets add up, and end with all there is")
    func histograms() {
        var histogram = MetricHistogram(bounds: [0.1, 1])
        for value in [0.05, 0.1, 0.5, 7, .infinity] { histogram.observe(value) }
        var text = PrometheusText()
        text.family("t_seconds", "T.", histogram)
        #expect(
            text.body.split(separator: "\n").dropFirst(2) == [
                #"t_seconds_bucket{le="0.1"} 2"#, #"t_seconds_bucket{le="1"} 3"#, #"t_seconds_bucket{le="+Inf"} 5"#,
                "t_seconds_sum +Inf", "t_seconds_count 5",
            ])
    }
}
