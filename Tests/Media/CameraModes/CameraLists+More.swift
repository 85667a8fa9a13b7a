extension CameraLists {
    static let brio = CameraList(
        "USB UVC webcam, Brio class (4K MJPG, NV12 for a few sizes)", driver: "uvcvideo", bus: "usb",
        """
        YUYV
            640x480 160x120 176x144 320x180 320x240 352x288 : 1/30 1/24 1/20 1/15 1/10 2/15 1/5
            340x340 : 1/30
            424x240 : 1/30 1/24 1/20 1/15 1/10 2/15 1/5
            440x440 : 1/30
            480x270 640x360 800x448 800x600 848x480 960x540 1024x576 1280x720 1600x896
            1920x1080 : 1/30 1/24 1/20 1/15 1/10 2/15 1/5
        MJPG
            640x480 : 1/120 1/90 1/60 1/30 1/24 1/20 1/15 1/10 2/15 1/5
            160x120 176x144 320x180 320x240 352x288 424x240 480x270 640x360 800x448 800x600
            848x480 960x540 1024x576 : 1/30 1/24 1/20 1/15 1/10 2/15 1/5
            1280x720 : 1/90 1/60 1/30 1/24 1/20 1/15 1/10 2/15 1/5
            1600x896 : 1/30 1/24 1/20 1/15 1/10 2/15 1/5
            1920x1080 : 1/60 1/30 1/24 1/20 1/15 1/10 2/15 1/5
            2560x1440 3840x2160 4096x2160 : 1/30 1/24 1/20 1/15 1/10 2/15 1/5
        NV12
            640x480 640x360 1280x720 1920x1080 : 1/30 1/24 1/20 1/15 1/10 2/15 1/5
        """,
        wishes: [
            .init(
                "1280x720@30", "NV12 1280x720 1/30",
                "1280x720 as wished; 30 fps as wished; NV12 comes before YUYV and MJPG at equal size and rate"),
            .init(
                "1920x1080@60", "MJPG 1920x1080 1/60",
                "1920x1080 as wished; 60 fps as wished; YUYV stops at 30 fps there, NV12 stops at 30 fps there"),
            .init(
                "800x600@30", "YUYV 800x600 1/30",
                "800x600 as wished; 30 fps as wished; YUYV comes before MJPG at equal size and rate"),
            .init(
                "640x480@90", "MJPG 640x480 1/90",
                "640x480 as wished; 90 fps as wished; YUYV stops at 30 fps there, NV12 stops at 30 fps there"),
            .init(
                "3840x2160@30", "MJPG 3840x2160 1/30",
                "3840x2160 as wished; 30 fps as wished; MJPG is the only decodable format there"),
        ])

    static let c310 = CameraList(
        "USB UVC webcam, C310/C270 class (720p, YUYV and MJPG)", driver: "uvcvideo", bus: "usb",
        """
        YUYV
            640x480 160x120 176x144 320x176 320x240 352x288 432x240 544x288 640x360 : 1/30 1/25 1/20 1/15 1/10 1/5
            752x416 : 1/25 1/20 1/15 1/10 1/5
            800x448 800x600 864x480 : 1/20 1/15 1/10 1/5
            960x544 : 1/15 1/10 1/5
            960x720 1024x576 1184x656 : 1/10 1/5
            1280x720 1280x960 : 2/15 1/5
        MJPG
            640x480 160x120 176x144 320x176 320x240 352x288 432x240 544x288 640x360 752x416
            800x448 800x600 864x480 960x544 960x720 1024x576 1184x656 1280x720 1280x960 : 1/30 1/25 1/20 1/15 1/10 1/5
        """,
        wishes: [
            .init(
                "1280x720@30", "MJPG 1280x720 1/30",
                "1280x720 as wished; 30 fps as wished; YUYV stops at 7.5 fps there"),
            .init(
                "640x480@30", "YUYV 640x480 1/30",
                "640x480 as wished; 30 fps as wished; YUYV comes before MJPG at equal size and rate"),
            .init(
                "1280x960@15/2", "YUYV 1280x960 2/15",
                "1280x960 as wished; 7.5 fps as wished; MJPG has 5 fps there"),
            .init(
                "800x600@20", "YUYV 800x600 1/20",
                "800x600 as wished; 20 fps as wished; YUYV comes before MJPG at equal size and rate"),
        ])

    static let c920 = CameraList(
        "USB UVC webcam, C920 class (H.264 beside YUYV and MJPG)", driver: "uvcvideo", bus: "usb",
        """
        YUYV
            640x480 160x90 160x120 176x144 320x180 320x240 352x288 432x240 640x360 800x448 : 1/30 1/24 1/20 1/15 1/10 2/15 1/5
            800x600 864x480 : 1/24 1/20 1/15 1/10 2/15 1/5
            960x720 1024x576 : 1/15 1/10 2/15 1/5
            1280x720 : 1/10 2/15 1/5
            1600x896 : 2/15 1/5
            1920x1080 : 1/5
            2304x1296 2304x1536 : 1/2
        H264
        MJPG
            640x480 160x90 160x120 176x144 320x180 320x240 352x288 432x240 640x360 800x448
            800x600 864x480 960x720 1024x576 1280x720 1600x896 1920x1080 : 1/30 1/24 1/20 1/15 1/10 2/15 1/5
        """,
        wishes: [
            .init(
                "1280x720@30", "MJPG 1280x720 1/30",
                "1280x720 as wished; 30 fps as wished; YUYV stops at 10 fps there"),
            .init(
                "640x480@30", "YUYV 640x480 1/30",
                "640x480 as wished; 30 fps as wished; YUYV comes before MJPG at equal size and rate"),
            .init(
                "800x600@30", "MJPG 800x600 1/30",
                "800x600 as wished; 30 fps as wished; YUYV stops at 24 fps there"),
            .init(
                "800x600@24", "YUYV 800x600 1/24",
                "800x600 as wished; 24 fps as wished; YUYV comes before MJPG at equal size and rate"),
            .init(
                "2304x1536@2", "YUYV 2304x1536 1/2",
                "2304x1536 as wished; 2 fps as wished; YUYV is the only decodable format there"),
        ])

    static let raspberryPi = CameraList(
        "Raspberry Pi legacy camera stack (bcm2835-v4l2), 5 MP sensor", driver: "bm2835 mmal", bus: "platform",
        """
        YU12
        YUYV
        RGB3
        JPEG
        H264
        MJPG
        YVYU
        VYUY
        UYVY
        NV12
        BGR3
        YV12
        NV21
        RX24
            32..2592+2x32..1944+2 : 1/90..1/1
        """,
        wishes: [
            .init(
                "1280x720@30", "NV12 1280x720 1/30",
                "1280x720 as wished; 30 fps as wished; NV12 comes before YU12, YUYV, MJPG and UYVY at equal size and rate"
            ),
            .init(
                "640x480@90", "NV12 640x480 1/90",
                "640x480 as wished; 90 fps as wished; NV12 comes before YU12, YUYV, MJPG and UYVY at equal size and rate"
            ),
            .init(
                "1920x1080@15", "NV12 1920x1080 1/15",
                "1920x1080 as wished; 15 fps as wished; NV12 comes before YU12, YUYV, MJPG and UYVY at equal size and rate"
            ),
        ])

    static let rockchip = CameraList(
        "Rockchip ISP main path with a 13 MP sensor", driver: "rkisp_v10", bus: "platform", multiplanar: true,
        """
        UYVY
        NV16
        NV61
        NV21
        NV12
        NM21
        NM12
            32..2112+8x32..1568+8 :
        """,
        wishes: [
            .init(
                "1920x1080@30", "NV12 1920x1080 -",
                "1920x1080 as wished; the driver lists no rates: left to it; NV12 comes before UYVY and NM12 at equal size and rate"
            ),
            .init(
                "640x480@30", "NV12 640x480 -",
                "640x480 as wished; the driver lists no rates: left to it; NV12 comes before UYVY and NM12 at equal size and rate"
            ),
            .init(
                "1280x720@30", "NV12 1280x720 -",
                "1280x720 as wished; the driver lists no rates: left to it; NV12 comes before UYVY and NM12 at equal size and rate"
            ),
        ])

    static let vivid = CameraList(
        "kernel test driver vivid, webcam input", driver: "vivid", bus: "platform", isPartial: true,
        """
        YUYV
        UYVY
        YU12
        NV12
            320x180 : 1/1 1/2 1/4 1/5 1/10 2/25 1/15 1/25 1/30 1/40 1/50 1/60
            640x360 : 1/1 1/2 1/4 1/5 1/10 2/25 1/15 1/25 1/30 1/40
            640x480 : 1/1 1/2 1/4 1/5 1/10 2/25 1/15 1/25
            1280x720 : 1/1 1/2 1/4 1/5 1/10 2/25
            1920x1080 : 1/1 1/2 1/4 1/5
            3840x2160 : 1/1 1/2
        """,
        wishes: [
            .init(
                "320x180@60", "NV12 320x180 1/60",
                "320x180 as wished; 60 fps as wished; NV12 comes before YUYV, UYVY and YU12 at equal size and rate"),
            .init(
                "640x480@25", "NV12 640x480 1/25",
                "640x480 as wished; 25 fps as wished; NV12 comes before YUYV, UYVY and YU12 at equal size and rate"),
            .init(
                "1280x720@25/2", "NV12 1280x720 2/25",
                "1280x720 as wished; 12.5 fps as wished; NV12 comes before YUYV, UYVY and YU12 at equal size and rate"),
            .init(
                "640x360@30", "NV12 640x360 1/30",
                "640x360 as wished; 30 fps as wished; NV12 comes before YUYV, UYVY and YU12 at equal size and rate"),
            .init(
                "1920x1080@5", "NV12 1920x1080 1/5",
                "1920x1080 as wished; 5 fps as wished; NV12 comes before YUYV, UYVY and YU12 at equal size and rate"),
        ])
}
