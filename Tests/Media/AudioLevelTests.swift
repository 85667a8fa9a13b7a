import EmisoraAudio
import Testing

@Suite struct AudioLevelTests {
    @Test func levelIsTheRootMeanSquareOfFullScale() {
        #expect(AudioSamples.int16([16_384, -16_384]).level == 0.5)
        #expect(AudioSamples.float32([0.5, -0.5]).level == 0.5)
        #expect(AudioSamples.int16([]).level == 0)
    }
}
