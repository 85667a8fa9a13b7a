class MachineError(Exception):
    """The machine itself failed: not what ran in it. The text says what to do, and ends with the machine's console."""


class RunTimeout(MachineError):
    """What ran in the machine did not end in time. `result` is what it had written until then, without a status."""

    def __init__(self, message, result):
        super().__init__(message)
        self.result = result
