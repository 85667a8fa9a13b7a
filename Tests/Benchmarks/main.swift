import Glibc

// Prints what the bare codecs cost on this machine, now: the floor against which the publisher's cost is judged.
// Figures from two runs cannot be compared; take the floor and what is measured against it in the same run.
let arguments = Array(CommandLine.arguments.dropFirst())
if arguments.first == "viewers" { exit(await Viewers.run(Array(arguments.dropFirst()))) }
exit(runFloor(arguments))
