import EmisoraCapture

extension CameraLists {
    /// Lists made for one rule each.
    static let cases = rates + sizes + formats + unwished + nonsense

    private static let rates = [
        CameraList(
            "broadcast rates beside whole ones",
            """
            YUYV
                720x480 : 1/30 1001/30000 1/25
            """,
            wishes: [
                .init("720x480@2997/100", "YUYV 720x480 1001/30000", "720x480 as wished; 29.97 fps as wished"),
                .init("720x480@30000/1001", "YUYV 720x480 1001/30000", "720x480 as wished; 29.97 fps as wished"),
                .init("720x480@30", "YUYV 720x480 1/30", "720x480 as wished; 30 fps as wished"),
                .init(
                    "720x480@60", "YUYV 720x480 1/30",
                    "720x480 as wished; 60 fps is not reached: 30 fps is the best there"),
            ]),
        CameraList(
            "broadcast rate alone",
            """
            NV12
                720x480 : 1/25 1001/30000
            """,
            wishes: [
                .init("720x480@2997/100", "NV12 720x480 1001/30000", "720x480 as wished; 29.97 fps as wished"),
                // Above the wish by less than a thousandth.
                .init(
                    "720x480@29955/1000", "NV12 720x480 1001/30000",
                    "720x480 as wished; 29.97 fps is the best not above 29.955 fps"),
                .init(
                    "720x480@2993/100", "NV12 720x480 1/25",
                    "720x480 as wished; 25 fps is the best not above 29.93 fps"),
                .init(
                    "720x480@30", "NV12 720x480 1001/30000",
                    "720x480 as wished; 29.97 fps is the best not above 30 fps"),
            ]),
        CameraList(
            "intervals in microseconds",
            """
            MJPG
                640x480 : 1/30
            NV12
                640x480 : 33334/1000000
            """,
            wishes: [
                .init(
                    "640x480@30", "NV12 640x480 33334/1000000",
                    "640x480 as wished; 29.999 fps as wished; NV12 comes before MJPG at equal size and rate")
            ]),
        CameraList(
            "rates in no order, the wish between them",
            """
            MJPG
                640x480 : 1/10 1/60 1/20 1/50
            """,
            wishes: [
                .init("640x480@25", "MJPG 640x480 1/20", "640x480 as wished; 20 fps is the best not above 25 fps"),
                .init(
                    "640x480@5", "MJPG 640x480 1/10",
                    "640x480 as wished; 5 fps is not offered: 10 fps is the nearest above"),
            ]),
        CameraList(
            "rates all above the wish in two formats",
            """
            NV12
                640x480 : 1/60
            YUYV
                640x480 : 1/30
            """,
            wishes: [
                .init(
                    "640x480@15", "YUYV 640x480 1/30",
                    "640x480 as wished; 15 fps is not offered: 30 fps is the nearest above; NV12 has 60 fps there")
            ]),
        CameraList(
            "a range of rates in steps of 5 ms",
            """
            UYVY
                640x480 : 1/50..1/1+1/200
            """,
            wishes: [
                .init("640x480@40", "UYVY 640x480 1/40", "640x480 as wished; 40 fps as wished"),
                .init(
                    "640x480@30", "UYVY 640x480 7/200", "640x480 as wished; 28.571 fps is the best not above 30 fps"),
                .init(
                    "640x480@1/2", "UYVY 640x480 1/1",
                    "640x480 as wished; 0.5 fps is not offered: 1 fps is the nearest above"),
            ]),
        CameraList(
            "a range of rates without steps",
            """
            NV12
                320x240 : 1/60..1/1
            """,
            wishes: [
                .init("320x240@2997/100", "NV12 320x240 100/2997", "320x240 as wished; 29.97 fps as wished"),
                .init(
                    "320x240@90", "NV12 320x240 1/60",
                    "320x240 as wished; 90 fps is not reached: 60 fps is the best there"),
            ]),
        CameraList(
            "a rate listed beside a format that lists none",
            """
            NV12
                640x480 :
            MJPG
                640x480 : 1/30
            """,
            wishes: [
                .init(
                    "640x480@30", "MJPG 640x480 1/30",
                    "640x480 as wished; 30 fps as wished; NV12 lists no rates there"),
                .init(
                    "640x480@60", "NV12 640x480 -",
                    "640x480 as wished; the driver lists no rates: left to it; MJPG stops at 30 fps there"),
            ]),
    ]

    private static let sizes = [
        CameraList(
            "only larger and smaller than the wish",
            """
            MJPG
                1920x1080 : 1/30
            YUYV
                640x480 : 1/30
            """,
            wishes: [
                .init(
                    "1280x720@30", "MJPG 1920x1080 1/30",
                    "1280x720 is not offered: 1920x1080 is the nearest; 30 fps as wished; "
                        + "MJPG is the only decodable format there")
            ]),
        CameraList(
            "larger only at a poor rate",
            """
            YUYV
                1920x1080 : 1/5
                640x480 : 1/30
            """,
            wishes: [
                .init(
                    "1280x720@30", "YUYV 640x480 1/30",
                    "1280x720 is not offered: 640x480 is the nearest with regard to its rate; 30 fps as wished")
            ]),
        CameraList(
            "the nearest is too slow",
            """
            YUYV
                1280x960 : 2/15
                1920x1080 : 1/30
            """,
            wishes: [
                .init(
                    "1280x720@30", "YUYV 1920x1080 1/30",
                    "1280x720 is not offered: 1920x1080 is the nearest with regard to its rate; "
                        + "30 fps as wished")
            ]),
        CameraList(
            "far larger than the wish",
            """
            MJPG
                3840x2160 240x180 : 1/30
            """,
            wishes: [
                .init(
                    "320x240@30", "MJPG 240x180 1/30",
                    "320x240 is not offered: 240x180 is the nearest; 30 fps as wished")
            ]),
        CameraList(
            "slightly slower before tiny",
            """
            YUYV
                160x120 : 1/30
                1280x960 : 1/25
            """,
            wishes: [
                .init(
                    "1280x720@30", "YUYV 1280x960 1/25",
                    "1280x720 is not offered: 1280x960 is the nearest; 30 fps is not reached: 25 fps is the best there")
            ]),
        CameraList(
            "slightly smaller before much larger",
            """
            MJPG
                640x480 960x720 1024x576 1280x720 1600x896 1920x1080 : 1/30
            """,
            wishes: [
                .init(
                    "1024x768@30", "MJPG 960x720 1/30",
                    "1024x768 is not offered: 960x720 is the nearest; 30 fps as wished"),
                .init(
                    "1900x1000@30", "MJPG 1920x1080 1/30",
                    "1900x1000 is not offered: 1920x1080 is the nearest; 30 fps as wished"),
                .init(
                    "720x1280@30", "MJPG 1920x1080 1/30",
                    "720x1280 is not offered: 1920x1080 is the nearest; 30 fps as wished"),
            ]),
        CameraList(
            "the kernel's test driver with an HDMI input", multiplanar: true,
            """
            NM12
            NV12
                16..16384+2x16..8640+2 : 1/60
            """,
            wishes: [
                .init(
                    "1280x720@30", "NV12 1280x720 1/60",
                    "1280x720 as wished; 30 fps is not offered: 60 fps is the nearest above; "
                        + "NV12 comes before NM12 at equal size and rate"),
                .init(
                    "1281x720@60", "NV12 1282x720 1/60",
                    "1281x720 is not offered: 1282x720 is the nearest; 60 fps as wished; "
                        + "NV12 comes before NM12 at equal size and rate"),
            ]),
        CameraList(
            "a grid of 16",
            """
            NV12
                32..1920+16x32..1088+16 : 1/30
            """,
            wishes: [
                .init(
                    "1920x1080@30", "NV12 1920x1088 1/30",
                    "1920x1080 is not offered: 1920x1088 is the nearest; 30 fps as wished"),
                .init("1280x720@30", "NV12 1280x720 1/30", "1280x720 as wished; 30 fps as wished"),
                .init(
                    "4096x2304@30", "NV12 1920x1088 1/30",
                    "1920x1088 is the only size; 30 fps as wished"),
                .init(
                    "16x16@30", "NV12 32x32 1/30",
                    "32x32 is the only size; 30 fps as wished"),
            ]),
        CameraList(
            "any size",
            """
            YU12
                1..4096x1..4096 : 1/60..1/1
            """,
            wishes: [
                .init("333x777@17", "YU12 333x777 1/17", "333x777 as wished; 17 fps as wished")
            ]),
        CameraList(
            "size of the source", current: .init(fourcc: .uyvy, width: 1920, height: 1080),
            """
            UYVY
            NV12
            """,
            wishes: [
                .init(
                    "1280x720@30", "NV12 1920x1080 -",
                    "1920x1080 is what the source gives; the driver lists no rates: left to it; "
                        + "NV12 comes before UYVY at equal size and rate")
            ]),
        CameraList(
            "no sizes listed",
            """
            YUYV
            """,
            wishes: [
                .init(
                    "640x480@30", "YUYV 640x480 -",
                    "the driver lists no sizes: 640x480 is asked for, it may answer another; "
                        + "the driver lists no rates: left to it")
            ]),
    ]

    private static let formats = [
        CameraList(
            "several planes of memory",
            """
            UYVY
            NM12
            YM12
                1280x720 : 1/30
            """,
            wishes: [
                .init(
                    "1280x720@30", "NM12 1280x720 1/30",
                    "1280x720 as wished; 30 fps as wished; NM12 comes before UYVY and YM12 at equal size and rate")
            ]),
        CameraList(
            "one piece of memory before several",
            """
            YM12
            NM12
            NV12
                640x480 : 1/30
            """,
            wishes: [
                .init(
                    "640x480@30", "NV12 640x480 1/30",
                    "640x480 as wished; 30 fps as wished; NV12 comes before YM12 and NM12 at equal size and rate")
            ]),
        CameraList(
            "one mode only",
            """
            MJPG
                352x288 : 1/15
            """,
            wishes: [
                .init(
                    "", "MJPG 352x288 1/15",
                    "352x288 is the only size; the usual 30 fps is not reached: 15 fps is the best there"),
                .init(
                    "1920x1080@60", "MJPG 352x288 1/15",
                    "352x288 is the only size; 60 fps is not reached: 15 fps is the best there"),
                .init(
                    "352x288@1", "MJPG 352x288 1/15",
                    "352x288 as wished; 1 fps is not offered: 15 fps is the nearest above"),
            ]),
        CameraList(
            "compressed video only",
            """
            H264
            HEVC
                1920x1080 : 1/30
            """,
            wishes: [
                .init(
                    "1920x1080@30", nil,
                    "no decodable format: H264 (compressed video) is not decoded; HEVC (compressed video) is not decoded"
                )
            ]),
        CameraList(
            "depth and infrared",
            """
            Z16 
            GREY
            Y16 
                640x480 : 1/30
            """,
            wishes: [
                .init(
                    "", nil,
                    "no decodable format: Z16  (depth) is not decoded; GREY (greyscale) is not decoded; "
                        + "Y16  (greyscale) is not decoded")
            ]),
        CameraList("nothing", "", wishes: [.init("640x480@30", nil, "no decodable format: the device lists none")]),
        CameraList(
            "the same, twice",
            """
            YUYV
            YUYV
                640x480 640x480 : 1/30 1/30
            """,
            wishes: [.init("640x480@30", "YUYV 640x480 1/30", "640x480 as wished; 30 fps as wished")]),
    ]

    private static let unwished = [
        CameraList(
            "sizes on both sides of what a call shows",
            """
            NV12
                640x480 1920x1080 : 1/30
            MJPG
                1280x720 1920x1080 : 1/60 1/30
            """,
            wishes: [
                .init(
                    "", "MJPG 1280x720 1/30",
                    "no size wished: 1280x720 is the largest up to 1280x720 that reaches 30 fps; 30 fps by default; "
                        + "MJPG is the only decodable format there"),
                .init(
                    "@60", "MJPG 1280x720 1/60",
                    "no size wished: 1280x720 is the largest up to 1280x720 that reaches 60 fps; 60 fps as wished; "
                        + "MJPG is the only decodable format there"),
                .init(
                    "640x480", "NV12 640x480 1/30",
                    "640x480 as wished; 30 fps by default; NV12 is the only decodable format there"),
            ]),
        CameraList(
            "rates that fall with size",
            """
            YUYV
                320x180 : 1/60 1/30
                640x360 : 1/40 1/30
                640x480 : 1/25
                1280x720 : 2/25
            """,
            wishes: [
                .init(
                    "", "YUYV 640x360 1/30",
                    "no size wished: 640x360 is the largest up to 1280x720 that reaches 30 fps; 30 fps by default"),
                .init(
                    "@120", "YUYV 320x180 1/60",
                    "no size wished: 320x180 is the largest up to 1280x720 that has the best rate; "
                        + "120 fps is not reached: 60 fps is the best there"),
                .init(
                    "1280x720@30", "YUYV 1280x720 2/25",
                    "1280x720 as wished; 30 fps is not reached: 12.5 fps is the best there"),
            ]),
        CameraList(
            "large sizes only",
            """
            MJPG
                3840x2160 1920x1080 : 1/30
            """,
            wishes: [
                .init(
                    "", "MJPG 1920x1080 1/30",
                    "no size wished: 1920x1080 is the smallest that reaches 30 fps; 30 fps by default")
            ]),
    ]

    private static let nonsense = [
        CameraList(
            "steps of zero",
            """
            YUYV
                640..640+0x480..480+0 : 1/30..1/30+0/0
            """,
            wishes: [.init("640x480@30", "YUYV 640x480 1/30", "640x480 as wished; 30 fps as wished")]),
        CameraList(
            "intervals that are no time",
            """
            YUYV
                640x480 : 0/0 1/0 0/30
                320x240 : 0/0 1/15
            """,
            wishes: [
                .init(
                    "640x480@30", "YUYV 640x480 -", "640x480 as wished; the driver lists no rates: left to it"),
                .init(
                    "320x240@30", "YUYV 320x240 1/15",
                    "320x240 as wished; 30 fps is not reached: 15 fps is the best there"),
            ]),
        CameraList(
            "ends exchanged",
            """
            NV12
                1280..64+2x720..64+2 : 1/1..1/60
            """,
            wishes: [
                .init("1280x720@30", "NV12 1280x720 1/30", "1280x720 as wished; 30 fps as wished")
            ]),
        CameraList(
            "numbers at their limits",
            """
            YUYV
                4294967295x4294967295 : 4294967295/1 1/4294967295
                0x480 : 1/30
                640x480 : 1/4294967295..4294967295/1+4294967291/4294967295
            """,
            wishes: [
                .init(
                    "640x480@30", "YUYV 640x480 1431655764/1431655765",
                    "640x480 as wished; 1 fps is the best not above 30 fps")
            ]),
    ]
}
