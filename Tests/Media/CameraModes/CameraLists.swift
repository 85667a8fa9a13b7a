/// What real cameras offer, as their owners posted it, in the driver's order; and what each is to answer to a wish.
///
/// A line of formats, then their sizes, each with its intervals after the colon in seconds per frame.
enum CameraLists {
    static let all = [
        creativeSync, elp4K, hdmiDongle, jetsonRaw, laptop, brio, c310, c920, raspberryPi, realSense, rockchip, stereo,
        odd31, gadget, vga, vivid,
    ]
    static let creativeSync = CameraList(
        "USB UVC webcam, Creative Live! Cam Sync 1080p class", driver: "uvcvideo", bus: "usb",
        """
        MJPG
            1920x1080 640x480 544x288 320x240 432x240 160x120 800x600 864x480 960x720
            1024x576 1280x720 : 1/30
        YUYV
            1920x1080 : 1/5
            640x480 544x288 320x240 432x240 160x120 : 1/30
            800x600 864x480 : 1/20
            960x720 : 2/25
            1024x576 : 1/15
            1280x720 : 1/10
        """,
        wishes: [
            .init(
                "1280x720@30", "MJPG 1280x720 1/30",
                "1280x720 as wished; 30 fps as wished; YUYV stops at 10 fps there"),
            .init(
                "640x480@30", "YUYV 640x480 1/30",
                "640x480 as wished; 30 fps as wished; YUYV comes before MJPG at equal size and rate"),
            .init(
                "960x720@25/2", "YUYV 960x720 2/25",
                "960x720 as wished; 12.5 fps as wished; MJPG has 30 fps there"),
            .init(
                "1920x1080@30", "MJPG 1920x1080 1/30",
                "1920x1080 as wished; 30 fps as wished; YUYV stops at 5 fps there"),
        ])

    static let elp4K = CameraList(
        "USB 2 board camera, 4K MJPG (ELP class)", driver: "uvcvideo", bus: "usb",
        """
        MJPG
            3840x2160 1920x1080 2592x1944 2048x1536 1600x1200 1280x960 1280x720 1024x768
            800x600 640x480 320x240 : 1/30 1/25 1/20 1/15 1/10 1/5
        YUYV
            3840x2160 : 1/1
            1920x1080 : 1/3
            2592x1944 : 1/1
            2048x1536 1600x1200 : 1/3
            1280x960 : 1/5
            1280x720 1024x768 : 1/10 1/5
            800x600 : 1/20 1/15 1/10 1/5
            640x480 320x240 : 1/30 1/25 1/20 1/15 1/10 1/5
        """,
        wishes: [
            .init(
                "3840x2160@30", "MJPG 3840x2160 1/30",
                "3840x2160 as wished; 30 fps as wished; YUYV stops at 1 fps there"),
            .init(
                "640x480@30", "YUYV 640x480 1/30",
                "640x480 as wished; 30 fps as wished; YUYV comes before MJPG at equal size and rate"),
            .init(
                "2592x1944@25", "MJPG 2592x1944 1/25",
                "2592x1944 as wished; 25 fps as wished; YUYV stops at 1 fps there"),
            .init(
                "1280x720@10", "YUYV 1280x720 1/10",
                "1280x720 as wished; 10 fps as wished; YUYV comes before MJPG at equal size and rate"),
        ])

    static let hdmiDongle = CameraList(
        "USB 2 HDMI capture dongle, MS2109 class", driver: "uvcvideo", bus: "usb",
        """
        MJPG
            1920x1080 1600x1200 1360x768 1280x1024 : 1/30 1/25 1/20 1/10 1/5
            1280x960 : 1/50 1/30 1/20 1/10 1/5
            1280x720 1024x768 800x600 720x576 720x480 640x480 : 1/60 1/50 1/30 1/20 1/10
        YUYV
            1920x1080 1600x1200 : 1/5
            1360x768 1280x1024 1280x960 : 1/8
            1280x720 1024x768 : 1/10
            800x600 : 1/20 1/10 1/5
            720x576 : 1/25 1/20 1/10 1/5
            720x480 640x480 : 1/30 1/20 1/10 1/5
        """,
        wishes: [
            .init(
                "1920x1080@30", "MJPG 1920x1080 1/30",
                "1920x1080 as wished; 30 fps as wished; YUYV stops at 5 fps there"),
            .init(
                "1280x720@60", "MJPG 1280x720 1/60",
                "1280x720 as wished; 60 fps as wished; YUYV stops at 10 fps there"),
            .init(
                "640x480@30", "YUYV 640x480 1/30",
                "640x480 as wished; 30 fps as wished; YUYV comes before MJPG at equal size and rate"),
            .init(
                "720x576@25", "YUYV 720x576 1/25",
                "720x576 as wished; 25 fps as wished; MJPG has 20 fps there"),
            .init(
                "1360x768@25", "MJPG 1360x768 1/25",
                "1360x768 as wished; 25 fps as wished; YUYV stops at 8 fps there"),
        ])

    static let jetsonRaw = CameraList(
        "Jetson CSI camera, raw Bayer only (IMX477)", driver: "tegra-video", bus: "csi",
        """
        RG10
            4032x3040 : 1/21
            3840x2160 : 1/30
            1920x1080 : 1/60
        """,
        wishes: [
            .init(
                "1920x1080@30", nil,
                "no decodable format: RG10 (raw Bayer) is not decoded"),
            .init(
                "", nil,
                "no decodable format: RG10 (raw Bayer) is not decoded"),
        ])

    static let laptop = CameraList(
        "built-in laptop camera, 720p", driver: "uvcvideo", bus: "usb",
        """
        MJPG
            1280x720 320x180 320x240 352x288 424x240 640x360 640x480 848x480 960x540 : 1/30
        YUYV
            1280x720 : 1/10
            320x180 320x240 352x288 424x240 640x360 640x480 : 1/30
            848x480 : 1/20
            960x540 : 1/15
        """,
        wishes: [
            .init(
                "1280x720@30", "MJPG 1280x720 1/30",
                "1280x720 as wished; 30 fps as wished; YUYV stops at 10 fps there"),
            .init(
                "640x480@30", "YUYV 640x480 1/30",
                "640x480 as wished; 30 fps as wished; YUYV comes before MJPG at equal size and rate"),
            .init(
                "848x480@30", "MJPG 848x480 1/30",
                "848x480 as wished; 30 fps as wished; YUYV stops at 20 fps there"),
            .init(
                "1920x1080@30", "MJPG 1280x720 1/30",
                "1920x1080 is not offered, all sizes are smaller: 1280x720 is the largest; 30 fps as wished; YUYV stops at 10 fps there"
            ),
        ])

    static let realSense = CameraList(
        "depth camera, colour node (D435 class)", driver: "uvcvideo", bus: "usb",
        """
        YUYV
            320x180 320x240 : 1/60 1/30 1/6
            424x240 640x360 640x480 848x480 960x540 : 1/60 1/30 1/15 1/6
            1280x720 1920x1080 : 1/30 1/15 1/6
        BYR2
            1920x1080 : 1/30
        """,
        wishes: [
            .init(
                "640x480@30", "YUYV 640x480 1/30",
                "640x480 as wished; 30 fps as wished; YUYV is the only decodable format there"),
            .init(
                "1920x1080@30", "YUYV 1920x1080 1/30",
                "1920x1080 as wished; 30 fps as wished; YUYV is the only decodable format there"),
            .init(
                "848x480@60", "YUYV 848x480 1/60",
                "848x480 as wished; 60 fps as wished; YUYV is the only decodable format there"),
            .init(
                "1280x720@15", "YUYV 1280x720 1/15",
                "1280x720 as wished; 15 fps as wished; YUYV is the only decodable format there"),
        ])

    static let stereo = CameraList(
        "USB stereo camera, both eyes side by side", driver: "uvcvideo", bus: "usb",
        """
        MJPG
            3200x1200 2560x720 : 1/60 1/30 1/25 1/20 1/15 1/10
            1600x600 1280x480 640x240 : 1/120 1/60 1/30 1/25 1/20 1/15 1/10
        YUYV
            3200x1200 2560x720 : 1/2
            1600x600 : 1/10
            1280x480 : 1/15 1/10
            640x240 : 1/60 1/30 1/25 1/20 1/15 1/10
        """,
        wishes: [
            .init(
                "2560x720@60", "MJPG 2560x720 1/60",
                "2560x720 as wished; 60 fps as wished; YUYV stops at 2 fps there"),
            .init(
                "640x240@60", "YUYV 640x240 1/60",
                "640x240 as wished; 60 fps as wished; YUYV comes before MJPG at equal size and rate"),
            .init(
                "1280x480@15", "YUYV 1280x480 1/15",
                "1280x480 as wished; 15 fps as wished; YUYV comes before MJPG at equal size and rate"),
            .init(
                "3200x1200@30", "MJPG 3200x1200 1/30",
                "3200x1200 as wished; 30 fps as wished; YUYV stops at 2 fps there"),
            .init(
                "1280x480@120", "MJPG 1280x480 1/120",
                "1280x480 as wished; 120 fps as wished; YUYV stops at 15 fps there"),
        ])

    static let odd31 = CameraList(
        "cheap USB UVC webcam with 31, 21, 13 and 9 fps", driver: "uvcvideo", bus: "usb",
        """
        MJPG
            1280x720 : 1/31
            1280x1024 1920x1080 320x240 640x480 800x600 1024x768 : 1/30
        YUYV
            1280x720 : 1/9
            1280x1024 : 1/6
            1920x1080 : 1/5
            320x240 640x480 : 1/30
            800x600 : 1/21
            1024x768 : 1/13
        """,
        wishes: [
            .init(
                "1280x720@30", "MJPG 1280x720 1/31",
                "1280x720 as wished; 30 fps is not offered: 31 fps is the nearest above; YUYV stops at 9 fps there"),
            .init(
                "640x480@30", "YUYV 640x480 1/30",
                "640x480 as wished; 30 fps as wished; YUYV comes before MJPG at equal size and rate"),
            .init(
                "1920x1080@30", "MJPG 1920x1080 1/30",
                "1920x1080 as wished; 30 fps as wished; YUYV stops at 5 fps there"),
            .init(
                "800x600@30", "MJPG 800x600 1/30",
                "800x600 as wished; 30 fps as wished; YUYV stops at 21 fps there"),
        ])

    static let gadget = CameraList(
        "microcontroller UVC camera with a stepwise interval", driver: "uvcvideo", bus: "usb",
        """
        YUYV
            320x240 : 1/25..1/1+1/25
        """,
        wishes: [
            .init(
                "320x240@30", "YUYV 320x240 1/25",
                "320x240 as wished; 30 fps is not reached: 25 fps is the best there"),
            .init(
                "640x480@30", "YUYV 320x240 1/25",
                "320x240 is the only size; 30 fps is not reached: 25 fps is the best there"),
            .init(
                "320x240@15", "YUYV 320x240 2/25",
                "320x240 as wished; 12.5 fps is the best not above 15 fps"),
            .init(
                "320x240@1", "YUYV 320x240 1/1",
                "320x240 as wished; 1 fps as wished"),
        ])

    static let vga = CameraList(
        "cheap VGA camera, YUYV only, 30 fps only", driver: "uvcvideo", bus: "usb",
        """
        YUYV
            640x480 352x288 320x240 176x144 160x120 : 1/30
        """,
        wishes: [
            .init(
                "640x480@30", "YUYV 640x480 1/30",
                "640x480 as wished; 30 fps as wished"),
            .init(
                "1280x720@30", "YUYV 640x480 1/30",
                "1280x720 is not offered, all sizes are smaller: 640x480 is the largest; 30 fps as wished"),
            .init(
                "320x240@15", "YUYV 320x240 1/30",
                "320x240 as wished; 15 fps is not offered: 30 fps is the nearest above"),
        ])
}
