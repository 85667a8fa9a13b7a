import Emisora

/// Reads text in the X server's fixed font out of a picture by comparing each cell with all characters.
struct Glyphs {
    static let width = 6
    static let height = 13
    static let ascent = 11
    static let alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZ abcdefghijklmnopqrstuvwxyz0123456789"

    private static let area = width * height
    private let characters = Array(alphabet)
    /// The levels of green of all characters, one after another.
    private let templates: [Int]

    /// - Parameter sheet: A picture of the alphabet, written in one line from the top left.
    init(sheet: Picture) {
        templates = (0..<characters.count).flatMap { Self.cell(sheet, x: Self.width * $0, y: 0) }
    }

    func read(_ picture: Picture, x: Int, y: Int, count: Int) -> String {
        guard x >= 0, y >= 0, x + count * Self.width <= picture.width, y + Self.height <= picture.height else {
            return ""
        }
        return String((0..<count).map { characters[nearest(Self.cell(picture, x: x + Self.width * $0, y: y))] })
    }

    private func nearest(_ cell: [Int]) -> Int {
        var best = (index: 0, distance: Int.max)
        templates.withUnsafeBufferPointer { templates in
            cell.withUnsafeBufferPointer { cell in
                for index in 0..<characters.count {
                    var distance = 0
                    for pixel in 0..<Self.area {
                        let difference = templates[index * Self.area + pixel] - cell[pixel]
                        distance += difference * difference
                    }
                    if distance < best.distance { best = (index, distance) }
                }
            }
        }
        return best.index
    }

    private static func cell(_ picture: Picture, x: Int, y: Int) -> [Int] {
        (0..<area).map { Int(picture[x + $0 % width, y + $0 / width] >> 8 & 0xFF) }
    }
}
