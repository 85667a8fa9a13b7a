// What an application uses comes with one import: capture, pictures, sound and their basic values.
@_exported import EmisoraAudio
@_exported import EmisoraCapture
@_exported import EmisoraCore
@_exported import EmisoraProcessing
@_exported import EmisoraTURN
@_exported import EmisoraVideo
