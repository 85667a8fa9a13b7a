"""What the judging of times rests on: stalls are taken off, and nothing else."""
import pytest

from stalls import Stalls


def test_a_stall_counts_once_however_many_processors_it_hit():
    stalls = Stalls([(3, 4), (1, 2), (1.5, 2.5), (3.2, 3.4)])
    assert stalls.within(0, 10) == pytest.approx(2.5)
    assert stalls.within(1.5, 3.5) == pytest.approx(1.5)
    assert stalls.within(2.5, 3) == 0


def test_a_stall_at_another_time_excuses_nothing():
    assert Stalls([(0, 1), (5, 9)]).wait(2, 4) == 2


def test_a_stall_excuses_its_own_length_only():
    assert Stalls([(2, 2.5)]).wait(1, 4) == pytest.approx(2.5)


def test_a_program_that_spins_makes_no_stalls(machine):
    # The machine is as busy with programs that anything comes before as with those that come before all others.
    result = machine.run("""
        cd /out
        for cpu in 1 2; do taskset $cpu camera-probe stalls >stalls$cpu & done
        for niceness in 19 -20; do
            spinning=
            for cpu in 1 2; do
                taskset $cpu nice -n $niceness sh -c 'while :; do :; done' &
                spinning="$spinning $!"
            done
            read -r began _ </proc/uptime
            sleep 3
            read -r ended _ </proc/uptime
            kill $spinning
            echo "$began $ended"
        done""").checked()
    stalls = Stalls.of(result)
    spans = [list(map(float, line.split())) for line in result.stdout.splitlines()]
    last, first = (stalls.within(*span) / (span[1] - span[0]) for span in spans)
    assert first <= last + 0.3
