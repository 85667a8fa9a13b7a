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


def test_a_machine_that_got_nothing_is_no_witness():
    with pytest.raises(AssertionError, match="nothing can be judged"):
        Stalls([(0, 9.5)]).wait(0, 10)


def test_a_program_that_spins_makes_no_stalls(machine):
    # On a host with other work there are some anyway: as many with it as without.
    result = machine.run("""
        cd /out
        for cpu in 1 2; do taskset $cpu camera-probe stalls >stalls$cpu & done
        read -r began _ </proc/uptime
        sleep 2
        read -r spun _ </proc/uptime
        for cpu in 1 2; do taskset $cpu sh -c 'while :; do :; done' & done
        sleep 2
        read -r ended _ </proc/uptime
        echo "$began $spun $ended" """).checked()
    began, spun, ended = map(float, result.stdout.split())
    stalls = Stalls.of(result)
    idle, busy = stalls.within(began, spun) / (spun - began), stalls.within(spun, ended) / (ended - spun)
    assert busy <= idle + 0.3, (idle, busy)
