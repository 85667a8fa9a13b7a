class MachineError(Exception):
    """The machine itself failed: not what ran in it. The text says what to do, and ends with the machine's console."""


class RunTimeout(MachineError):
    """What ran in the machine did not end in time. Holds what it had written until then."""

    def __init__(self, message, stdout, stderr, console):
        super().__init__(message)
        self.stdout, self.stderr, self.console = stdout, stderr, console
