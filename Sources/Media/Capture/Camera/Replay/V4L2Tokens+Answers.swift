extension V4L2TokenWriter {
    mutating func put(_ answer: V4L2Answer) {
        switch answer {
        case .done: put(word: "ok")
        case .capability(let value):
            put(word: "capability")
            put(text: value.driver)
            put(text: value.card)
            put(text: value.busInfo)
            put(value.capabilities)
        case .formatDescription(let value):
            put(word: "description")
            put(value.pixelFormat, value.flags)
            put(text: value.text)
        case .frameSize(.discrete(let width, let height)):
            put(word: "size")
            put(width, height)
        case .frameSize(.stepwise(let width, let height, let isContinuous)):
            put(word: "sizes")
            put(width.minimum, width.maximum, width.step, height.minimum, height.maximum, height.step)
            put(isContinuous)
        case .frameInterval(.discrete(let value)):
            put(word: "seconds")
            put(value.numerator, value.denominator)
        case .frameInterval(.stepwise(let low, let high, let step, let isContinuous)):
            put(word: "range")
            put(low.numerator, low.denominator, high.numerator, high.denominator, step.numerator, step.denominator)
            put(isContinuous)
        case .format(let value):
            put(word: "format")
            put(value)
        case .interval(let value):
            put(word: "interval")
            put(value.numerator, value.denominator)
        case .count(let value):
            put(word: "count")
            put(value)
        case .buffer(let value):
            put(word: "buffer")
            put(value)
        case .event(let value):
            put(word: "event")
            put(value.kind, value.id, value.pending, value.changes)
        case .controlInfo(let value):
            put(word: "control")
            put(value.id, value.type, value.minimum, value.maximum, value.step, value.defaultValue)
            put(value.flags, value.elementSize, value.elements)
            put(text: value.name)
        case .menuItem(let value):
            put(word: "item")
            put(value.index, value.value)
            put(text: value.name)
        case .value(let value):
            put(word: "value")
            put(value)
        case .payload(let bytes):
            put(word: "payload")
            put(bytes: bytes)
        case .rectangle(let r):
            put(word: "rectangle")
            put(r.left, r.top, r.width, r.height)
        }
    }

    private mutating func put(_ b: V4L2Buffer) {
        put(b.index, b.flags, b.field, b.sequence, b.seconds, b.microseconds, b.planes.count)
        for index in 0..<b.planes.count {
            let plane = b.planes[index]
            put(plane.bytesUsed, plane.length, plane.dataOffset, plane.memoryOffset)
        }
    }
}

extension V4L2TokenReader {
    mutating func answer() throws(Problem) -> V4L2Answer {
        let name = try word()
        switch name {
        case "ok": return .done
        case "capability":
            return .capability(
                V4L2Capability(
                    driver: try text(), card: try text(), busInfo: try text(), capabilities: try number()))
        case "description":
            return .formatDescription(
                V4L2FormatDescription(pixelFormat: try number(), flags: try number(), text: try text()))
        case "size": return .frameSize(.discrete(width: try number(), height: try number()))
        case "sizes":
            return .frameSize(.stepwise(width: try steps(), height: try steps(), isContinuous: try flag()))
        case "seconds": return .frameInterval(.discrete(try fraction()))
        case "range":
            return .frameInterval(
                .stepwise(
                    minimum: try fraction(), maximum: try fraction(), step: try fraction(), isContinuous: try flag()))
        case "format": return .format(try format())
        case "interval": return .interval(try fraction())
        case "count": return .count(try number())
        case "buffer": return .buffer(try buffer())
        case "event":
            return .event(
                V4L2Event(kind: try number(), id: try number(), pending: try number(), changes: try number()))
        case "control":
            var info = V4L2ControlInfo(
                id: try number(), type: try number(), name: "", minimum: try number(), maximum: try number(),
                step: try number(), defaultValue: try number(), flags: try number(), elementSize: try number(),
                elements: try number())
            info.name = try text()
            return .controlInfo(info)
        case "item":
            let (index, value): (UInt32, Int64) = (try number(), try number())
            return .menuItem(V4L2MenuItem(index: index, name: try text(), value: value))
        case "value": return .value(try number())
        case "payload": return .payload(try bytes())
        case "rectangle": return .rectangle(try rectangle())
        default: throw .unknown(name)
        }
    }

    private mutating func fraction() throws(Problem) -> V4L2Fraction { V4L2Fraction(try number(), try number()) }

    private mutating func steps() throws(Problem) -> V4L2SizeSteps {
        V4L2SizeSteps(minimum: try number(), maximum: try number(), step: try number())
    }

    private mutating func buffer() throws(Problem) -> V4L2Buffer {
        let (index, flags, field, sequence): (UInt32, UInt32, UInt32, UInt32) = (
            try number(), try number(), try number(), try number()
        )
        let (seconds, microseconds): (Int64, Int64) = (try number(), try number())
        var planes = V4L2Planes(repeating: V4L2BufferPlane(), count: try number())
        for plane in 0..<planes.count {
            planes[plane] = V4L2BufferPlane(
                bytesUsed: try number(), length: try number(), dataOffset: try number(), memoryOffset: try number())
        }
        var buffer = V4L2Buffer(index: index, planes: planes)
        buffer.flags = flags
        buffer.field = field
        buffer.sequence = sequence
        buffer.seconds = seconds
        buffer.microseconds = microseconds
        return buffer
    }
}
