extension V4L2TokenWriter {
    mutating func put(_ request: V4L2Request) {
        switch request {
        case .queryCapability: put(word: "querycap")
        case .enumerateFormat(let type, let index): put("enumfmt", type, index)
        case .enumerateFrameSize(let pixelFormat, let index):
            put(word: "enumsize")
            put(pixelFormat, index)
        case .enumerateFrameInterval(let pixelFormat, let width, let height, let index):
            put(word: "enuminterval")
            put(pixelFormat, width, height, index)
        case .getFormat(let type): put("getfmt", type)
        case .setFormat(let format):
            put(word: "setfmt")
            put(format)
        case .tryFormat(let format):
            put(word: "tryfmt")
            put(format)
        case .getInterval(let type): put("getparm", type)
        case .setInterval(let type, let value): put("setparm", type, value.numerator, value.denominator)
        case .requestBuffers(let type, let count): put("reqbufs", type, count)
        case .queryBuffer(let type, let index): put("querybuf", type, index)
        case .queueBuffer(let type, let index, let planeCount): put("qbuf", type, index, planeCount)
        case .dequeueBuffer(let type): put("dqbuf", type)
        case .streamOn(let type): put("streamon", type)
        case .streamOff(let type): put("streamoff", type)
        case .subscribeEvent(let kind, let id):
            put(word: "subscribe")
            put(kind, id)
        case .unsubscribeEvent(let kind, let id):
            put(word: "unsubscribe")
            put(kind, id)
        case .dequeueEvent: put(word: "dqevent")
        case .queryControl(let id):
            put(word: "queryctrl")
            put(id)
        case .queryMenu(let id, let index, let isInteger):
            put(word: "querymenu")
            put(id, index)
            put(isInteger)
        case .getControl(let id, let isWide):
            put(word: "getctrl")
            put(id)
            put(isWide)
        case .setControl(let id, let isWide, let value):
            put(word: "setctrl")
            put(id)
            put(isWide)
            put(value)
        case .getControlPayload(let id, let byteCount):
            put(word: "getpayload")
            put(id, byteCount)
        case .setControlPayload(let id, let bytes):
            put(word: "setpayload")
            put(id)
            put(bytes: bytes)
        case .getSelection(let type, let target): put("getsel", type, target)
        case .setSelection(let type, let target, let r):
            put("setsel", type, target)
            put(r.left, r.top, r.width, r.height)
        case .queryTimings: put(word: "querytimings")
        case .setTimings(let bytes):
            put(word: "settimings")
            put(bytes: bytes)
        case .getPriority: put(word: "getprio")
        case .setPriority(let priority):
            put(word: "setprio")
            put(priority)
        }
    }

    private mutating func put<each Number: FixedWidthInteger>(
        _ name: String, _ type: V4L2BufferType, _ numbers: repeat each Number
    ) {
        put(word: name)
        put(type.rawValue)
        put(repeat each numbers)
    }

    mutating func put(_ f: V4L2Format) {
        put(f.type.rawValue, f.width, f.height, f.pixelFormat, f.field, f.colorspace)
        put(f.ycbcrEncoding, f.quantization, f.transferFunction, f.planes.count)
        for plane in 0..<f.planes.count { put(f.planes[plane].bytesPerLine, f.planes[plane].sizeImage) }
    }
}

extension V4L2TokenReader {
    mutating func request() throws(Problem) -> V4L2Request {
        let name = try word()
        switch name {
        case "querycap": return .queryCapability
        case "enumfmt": return .enumerateFormat(try type(), index: try number())
        case "enumsize": return .enumerateFrameSize(pixelFormat: try number(), index: try number())
        case "enuminterval":
            return .enumerateFrameInterval(
                pixelFormat: try number(), width: try number(), height: try number(), index: try number())
        case "getfmt": return .getFormat(try type())
        case "setfmt": return .setFormat(try format())
        case "tryfmt": return .tryFormat(try format())
        case "getparm": return .getInterval(try type())
        case "setparm": return .setInterval(try type(), V4L2Fraction(try number(), try number()))
        case "reqbufs": return .requestBuffers(try type(), count: try number())
        case "querybuf": return .queryBuffer(try type(), index: try number())
        case "qbuf": return .queueBuffer(try type(), index: try number(), planeCount: try number())
        case "dqbuf": return .dequeueBuffer(try type())
        case "streamon": return .streamOn(try type())
        case "streamoff": return .streamOff(try type())
        case "subscribe": return .subscribeEvent(kind: try number(), id: try number())
        case "unsubscribe": return .unsubscribeEvent(kind: try number(), id: try number())
        case "dqevent": return .dequeueEvent
        case "queryctrl": return .queryControl(id: try number())
        case "querymenu": return .queryMenu(id: try number(), index: try number(), isInteger: try flag())
        case "getctrl": return .getControl(id: try number(), isWide: try flag())
        case "setctrl": return .setControl(id: try number(), isWide: try flag(), value: try number())
        case "getpayload": return .getControlPayload(id: try number(), byteCount: try number())
        case "setpayload": return .setControlPayload(id: try number(), try bytes())
        case "getsel": return .getSelection(try type(), target: try number())
        case "setsel": return .setSelection(try type(), target: try number(), try rectangle())
        case "querytimings": return .queryTimings
        case "settimings": return .setTimings(try bytes())
        case "getprio": return .getPriority
        case "setprio": return .setPriority(try number())
        default: throw .unknown(name)
        }
    }

    private mutating func type() throws(Problem) -> V4L2BufferType {
        let number: UInt32 = try number()
        guard let type = V4L2BufferType(rawValue: number) else { throw .unknown(String(number)) }
        return type
    }

    mutating func format() throws(Problem) -> V4L2Format {
        var format = V4L2Format(
            type: try type(), width: try number(), height: try number(), pixelFormat: try number())
        format.field = try number()
        format.colorspace = try number()
        format.ycbcrEncoding = try number()
        format.quantization = try number()
        format.transferFunction = try number()
        format.planes = V4L2Planes(repeating: V4L2PlaneFormat(), count: try number())
        for plane in 0..<format.planes.count {
            format.planes[plane] = V4L2PlaneFormat(bytesPerLine: try number(), sizeImage: try number())
        }
        return format
    }

    mutating func rectangle() throws(Problem) -> V4L2Rectangle {
        V4L2Rectangle(left: try number(), top: try number(), width: try number(), height: try number())
    }
}
