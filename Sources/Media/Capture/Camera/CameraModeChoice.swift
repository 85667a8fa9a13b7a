/// Which mode of a camera serves a wish best, and why.
public enum CameraModeChoice {
    /// The choice with its explanation.
    public struct Explained: Hashable, Sendable {
        /// `nil` where the camera has no mode whose pictures can be decoded here.
        public var chosen: CameraMode?
        /// Why that one, or why none, in one sentence.
        public var reason: String
        /// Every mode of the list, in the driver's order.
        public var candidates: [Candidate]
    }

    /// One mode of the list in the contest.
    public struct Candidate: Hashable, Sendable {
        public var mode: CameraMode
        /// The higher the better; 0 cannot be chosen.
        public var score: Int
        /// Why it won or lost.
        public var reason: String
        public var isChosen: Bool
    }

}
