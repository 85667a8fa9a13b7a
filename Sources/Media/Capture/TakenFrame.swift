/// A frame that the encoder took from a consumer and owes a fate. It cannot be copied; each method ends it, so no
/// frame is counted twice, and one that is let go without a word counts as failed.
package struct TakenFrame<Frame: Sendable>: ~Copyable, Sendable {
    package let frame: Frame
    private let keeper: any FateKeeper
    private var isSettled = false

    init(_ frame: Frame, keeper: any FateKeeper) {
        self.frame = frame
        self.keeper = keeper
    }

    deinit {
        if !isSettled { keeper.settle(.dropped(.encoderFailed)) }
    }

    package consuming func encoded() {
        isSettled = true
        keeper.settle(.encoded)
    }

    package consuming func dropped(_ reason: DropReason) {
        isSettled = true
        keeper.settle(.dropped(reason))
    }
}

/// Who counts the fates of taken frames.
protocol FateKeeper: AnyObject, Sendable {
    func settle(_ fate: FrameFate)
}
