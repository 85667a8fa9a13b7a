"""A viewer waits for its first picture no longer than the path's round trips make it; libwebrtc with itself, measured in the
same run, is printed beside it."""
import statistics
import time

from beat import Beat
from first_picture import ROUND_TRIPS, FirstPicture, line

#: In round trips and in seconds; on a machine that is overloaded by as much more as it fell behind.
SLOPE, INTERCEPT = 3.1, 0.060
#: Medians of so many calls for each pair and round trip, and of more while they do not suffice.
FEWEST, MOST = 3, 7
#: No further round is begun after that many seconds.
PATIENCE = 45


def test_the_first_picture_takes_at_most_3_1_round_trips_and_60_ms():
    run = FirstPicture()
    try:
        for pair in run.PAIRS:
            # Not judged: what is loaded or made once.
            run.measure(pair, 0.0)
        times = {pair: {trip: [] for trip in ROUND_TRIPS} for pair in run.PAIRS}
        start = time.monotonic()
        with Beat() as beat:
            for count in range(1, MOST + 1):
                for trip in ROUND_TRIPS:
                    for pair in run.PAIRS:
                        times[pair][trip].append(run.measure(pair, trip))
                lines = {
                    pair: line({trip: statistics.median(values) for trip, values in of_pair.items()})
                    for pair, of_pair in times.items()}
                is_enough = all(
                    intercept <= INTERCEPT and slope <= SLOPE
                    for pair, (intercept, slope) in lines.items() if pair in run.YARDSTICKS)
                if count >= FEWEST and (is_enough or time.monotonic() - start > PATIENCE):
                    break
        for pair, (intercept, slope) in lines.items():
            print(f"{pair}: {intercept * 1000:.0f} ms + {slope:.2f} round trips, medians of {count}")
        print(f"machine {beat.share:.2f}")
        for pair, yardstick in run.YARDSTICKS.items():
            intercept, slope = lines[pair]
            assert intercept <= INTERCEPT / beat.share, f"{pair}; {yardstick}: {lines[yardstick]}"
            assert slope <= SLOPE / beat.share, f"{pair}; {yardstick}: {lines[yardstick]}"
    finally:
        run.close()
